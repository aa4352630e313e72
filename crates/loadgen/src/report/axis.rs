//! Positions of values on a chart, and round numbers for its labels.

/// The vertical axis of a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Axis {
    /// From 0 up to a round number.
    Linear { max: f64 },
    /// Between two values; equal ratios have equal heights.
    Log { min: f64, max: f64 },
}

impl Axis {
    pub(super) fn linear(values: impl Iterator<Item = f64>) -> Self {
        let max = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let step = step(max);
        Self::Linear {
            max: if max > 0.0 {
                (max / step).ceil() * step
            } else {
                1.0
            },
        }
    }

    /// Values that are not above 0 have no position on it.
    pub(super) fn log(values: impl Iterator<Item = f64>) -> Self {
        let (mut min, mut max) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|v| v.is_finite() && *v > 0.0) {
            min = min.min(value);
            max = max.max(value);
        }
        if max <= 0.0 {
            return Self::Log { min: 0.1, max: 10.0 };
        }
        Self::Log {
            min: below(min),
            max: above(max),
        }
    }

    /// The position of a value: 0 at the bottom, 1 at the top.
    pub(super) fn place(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear { max } if value.is_finite() => Some((value / max).clamp(0.0, 1.0)),
            Self::Log { min, max } if value.is_finite() && value > 0.0 => {
                Some(((value / min).ln() / (max / min).ln()).clamp(0.0, 1.0))
            }
            _ => None,
        }
    }

    pub(super) fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { max } => {
                let step = step(max);
                let count = (max / step).round() as usize;
                (0..=count).map(|i| i as f64 * step).collect()
            }
            Self::Log { min, max } => {
                let all = ladder(min, max);
                // Many powers need no labels in between.
                let powers: Vec<f64> = all.iter().copied().filter(|v| is_power(*v)).collect();
                if all.len() > 8 && powers.len() >= 2 {
                    powers
                } else {
                    all
                }
            }
        }
    }
}

/// A round step that divides `max` into about five.
fn step(max: f64) -> f64 {
    if !(max.is_finite() && max > 0.0) {
        return 1.0;
    }
    let rough = max / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|f| f * power >= rough);
    factor.unwrap_or(10.0) * power
}

/// 1, 2 and 5 times the powers of ten within bounds.
fn ladder(min: f64, max: f64) -> Vec<f64> {
    let (low, high) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    (low..=high)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)))
        .filter(|v| *v >= min * 0.999 && *v <= max * 1.001)
        .collect()
}

fn is_power(value: f64) -> bool {
    (value.log10() - value.log10().round()).abs() < 1e-9
}

fn below(value: f64) -> f64 {
    ladder(value / 20.0, value).pop().unwrap_or(value)
}

fn above(value: f64) -> f64 {
    let next = ladder(value, value * 20.0).into_iter().next().unwrap_or(value);
    // Never the same as `below`, since such an axis would have no height.
    if next <= value { value * 2.0 } else { next }
}

/// A short form for people: 12.3k, 0.45.
pub(super) fn short(value: f64) -> String {
    let magnitude = value.abs();
    let (scaled, suffix) = match magnitude {
        m if m >= 1e6 => (value / 1e6, "M"),
        m if m >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        m if m == 0.0 || m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        m if m >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{scaled:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    text + suffix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_end_at_round_numbers() {
        let axis = Axis::linear([3.0, 46_100.0].into_iter());
        assert_eq!(axis, Axis::Linear { max: 50_000.0 });
        assert_eq!(
            axis.ticks(),
            [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0]
        );
        assert_eq!(axis.place(25_000.0), Some(0.5));
        assert_eq!(axis.place(f64::NAN), None);
        assert_eq!(Axis::linear(std::iter::empty()).ticks().len(), 6);
    }

    #[test]
    fn logarithmic_axes_hold_their_values() {
        let axis = Axis::log([0.3, 0.0, 80.0].into_iter());
        assert_eq!(axis.place(0.0), None);
        let (low, high) = (axis.place(0.3).unwrap(), axis.place(80.0).unwrap());
        assert!(low > 0.0 && low < high && high < 1.0, "{low} {high} {axis:?}");
        assert!(axis.ticks().len() >= 2);
        // One value only, and a round one.
        let axis = Axis::log([1.0].into_iter());
        assert!(axis.place(1.0).unwrap().is_finite());
        assert!(Axis::log(std::iter::empty()).ticks().len() >= 2);
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> = [0.0, 0.0451, 1.5, 12.34, 250.0, 9999.0, 12_345.0, 2e6]
            .into_iter()
            .map(short)
            .collect();
        assert_eq!(shown, ["0", "0.045", "1.5", "12.3", "250", "9999", "12.3k", "2M"]);
    }
}
