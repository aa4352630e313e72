//! STD, VARIANCE and their like of many groups.
//!
//! Values are taken in one after the other as MySQL does it, so that rounding gives the same last digits; parts that were
//! computed apart are joined by Chan's formula. Source: manual 12.19.1 "Aggregate Function Descriptions"; Knuth, TAOCP 2,
//! 4.2.2.

/// Number, mean and sum of squared differences from it, of each group's values.
#[derive(Debug, Default)]
pub(super) struct Variances(Vec<Moments>);

#[derive(Debug, Default, Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

/// Bytes of a group's state.
const STATE_BYTES: usize = 24;

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

    /// `sample`: of a sample, divided by one less; `None` where that is nothing. `root`: the standard deviation.
    pub fn get(&self, group: usize, sample: bool, root: bool) -> Option<f64> {
        let m = self.0.get(group)?;
        let divisor = m.count - f64::from(u8::from(sample));
        if divisor <= 0.0 {
            return None;
        }
        let variance = m.squares / divisor;
        Some(if root { variance.sqrt() } else { variance })
    }

    pub fn write_state(&self, group: usize, out: &mut Vec<u8>) {
        let m = self.0.get(group).copied().unwrap_or_default();
        for number in [m.count, m.mean, m.squares] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Joins a state with the group's. `None`: the bytes are not one.
    pub fn merge(&mut self, group: usize, state: &[u8]) -> Option<()> {
        let state: &[u8; STATE_BYTES] = state.try_into().ok()?;
        let number =
            |at: usize| -> Option<f64> { Some(f64::from_le_bytes(state.get(at..at + 8)?.try_into().ok()?)) };
        let other = Moments {
            count: number(0)?,
            mean: number(8)?,
            squares: number(16)?,
        };
        let m = self.0.get_mut(group)?;
        if m.count == 0.0 {
            *m = other;
        } else if other.count > 0.0 {
            let count = m.count + other.count;
            let difference = other.mean - m.mean;
            m.squares += other.squares + difference * difference * m.count * other.count / count;
            m.mean += difference * other.count / count;
            m.count = count;
        }
        Some(())
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

    #[test]
    fn parts_join() {
        let (mut a, b) = (of(&[1.0, 2.0]), of(&[3.0, 4.0, 10.0]));
        let mut state = Vec::new();
        b.write_state(0, &mut state);
        a.merge(0, &state).unwrap();
        assert_eq!(a.get(0, false, false), Some(10.0));
        state.clear();
        of(&[]).write_state(0, &mut state);
        a.merge(0, &state).unwrap();
        assert_eq!(a.get(0, true, false), Some(12.5));
        assert_eq!(a.merge(0, b"short"), None);
    }
}
