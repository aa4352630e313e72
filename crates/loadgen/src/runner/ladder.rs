//! The numbers of threads of a run.

use std::str::FromStr;

/// The end of a ladder, even if throughput still grows.
const THREADS_MAX: usize = 4096;
/// A smaller ratio does not count as growth.
const GROWTH_MIN: f64 = 1.03;

/// The value of `--threads`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Threads {
    /// One after the other.
    List(Vec<usize>),
    /// 1, 2, 4 and so on, until a number of threads brings no more throughput than the best before.
    Ladder,
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "ladder" {
            return Ok(Self::Ladder);
        }
        text.split(',')
            .map(|part| match part.trim().parse() {
                Ok(threads) if (1..=THREADS_MAX).contains(&threads) => Ok(threads),
                _ => Err(format!(
                    "threads are numbers from 1 to {THREADS_MAX} with commas between, or `ladder`; not {text}"
                )),
            })
            .collect::<Result<_, _>>()
            .map(Self::List)
    }
}

impl Threads {
    /// The next number of threads after these throughputs; `None` at the end.
    pub fn next(&self, throughputs: &[f64]) -> Option<usize> {
        match self {
            Self::List(list) => list.get(throughputs.len()).copied(),
            Self::Ladder => {
                if let Some((last, before)) = throughputs.split_last() {
                    let best = before.iter().copied().fold(0.0, f64::max);
                    if !before.is_empty() && *last < best * GROWTH_MIN {
                        return None;
                    }
                }
                let threads = 1usize.checked_shl(u32::try_from(throughputs.len()).ok()?)?;
                (threads <= THREADS_MAX).then_some(threads)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_gone_through_once() {
        let threads: Threads = "1,8, 64".parse().unwrap();
        assert_eq!(threads.next(&[]), Some(1));
        assert_eq!(threads.next(&[5.0, 4.0]), Some(64));
        assert_eq!(threads.next(&[5.0, 4.0, 3.0]), None);
    }

    #[test]
    fn a_ladder_doubles_until_throughput_stops_growing() {
        let ladder: Threads = "ladder".parse().unwrap();
        assert_eq!(ladder.next(&[]), Some(1));
        assert_eq!(ladder.next(&[100.0]), Some(2));
        assert_eq!(ladder.next(&[100.0, 190.0]), Some(4));
        assert_eq!(ladder.next(&[100.0, 190.0, 194.0]), None);
        assert_eq!(ladder.next(&[100.0, 190.0, 150.0]), None);
        let growing: Vec<f64> = (0..13).map(|i| f64::from(1 << i)).collect();
        assert_eq!(ladder.next(&growing[..12]), Some(4096));
        assert_eq!(ladder.next(&growing), None);
    }

    #[test]
    fn what_is_no_number_of_threads() {
        for text in ["", "0", "1,,2", "many", "5000", "-1"] {
            assert!(text.parse::<Threads>().is_err(), "{text}");
        }
    }
}
