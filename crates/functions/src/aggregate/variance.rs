//! STD, VARIANCE and similar aggregates of many groups.
//!
//! Values are added one after the other as in MySQL, so that rounding gives the same last digits. Source:
//! manual 12.19.1 "Aggregate Function Descriptions"; Knuth, TAOCP 2, 4.2.2.

/// The number of each group's values, their mean, and the sum of the squared differences from it.
#[derive(Debug, Default)]
pub(super) struct Variances(Vec<Moments>);

#[derive(Debug, Default, Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Variances {
    pub fn resize(&mut self, groups: usize) {
        self.0.resize(groups, Moments::default());
    }

    pub fn size_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Moments>()
    }

    pub fn add(&mut self, group: usize, value: f64) {
        let Some(m) = self.0.get_mut(group) else { return };
        m.count += 1.0;
        if m.count == 1.0 {
            m.mean = value;
            return;
        }
        let difference = value - m.mean;
        m.mean += difference / m.count;
        m.squares += difference * (value - m.mean);
    }

    /// Adds the values of a group of `later`. Source: Chan, Golub and LeVeque 1979.
    pub fn append(&mut self, later: &Self, group: usize) {
        let (Some(m), Some(later)) = (self.0.get_mut(group), later.0.get(group)) else {
            return;
        };
        let count = m.count + later.count;
        if later.count == 0.0 {
            return;
        }
        let difference = later.mean - m.mean;
        m.squares += later.squares + difference * difference * m.count * later.count / count;
        m.mean += difference * later.count / count;
        m.count = count;
    }

    /// `sample`: the variance of a sample, whose divisor is smaller by one. `None` if the divisor is zero.
    /// `root`: the standard deviation.
    pub fn get(&self, group: usize, sample: bool, root: bool) -> Option<f64> {
        let m = self.0.get(group)?;
        let divisor = m.count - f64::from(u8::from(sample));
        if divisor <= 0.0 {
            return None;
        }
        let variance = m.squares / divisor;
        Some(if root { variance.sqrt() } else { variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Variances {
        let mut variances = Variances::default();
        variances.resize(1);
        values.iter().for_each(|v| variances.add(0, *v));
        variances
    }

    /// Answers of MySQL 8.0.33.
    #[test]
    fn last_digits_are_mysqls() {
        let v = of(&[0.1, 0.2, 0.7, 1e10]);
        assert_eq!(v.get(0, false, true), Some(4330127018.777856));
        assert_eq!(v.get(0, true, false), Some(2.4999999998333334e19));
        assert_eq!(of(&[5.0]).get(0, false, false), Some(0.0));
        assert_eq!(of(&[5.0]).get(0, true, false), None);
        assert_eq!(of(&[]).get(0, false, false), None);
    }
}
