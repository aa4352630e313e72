//! `profiling`: how long the last statements of a session have taken, for SHOW PROFILES.

use std::collections::VecDeque;
use std::time::Duration;

/// How many characters of a statement SHOW PROFILES shows.
const TEXT_CHARS_MAX: usize = 300;

/// How the statements begin that are no profiles themselves.
const LISTING: &str = "SHOW PROFILE";

/// A statement that has ended.
pub struct Profile {
    pub id: u64,
    pub took: Duration,
    pub text: String,
}

/// The last statements that ran while `profiling` was on.
#[derive(Default)]
pub struct Profiles {
    last_id: u64,
    profiles: VecDeque<Profile>,
    /// The statement that runs has switched `profiling` on, and is none of those.
    pub skips_running: bool,
}

impl Profiles {
    /// Records a statement that has ended. `most`: `profiling_history_size`.
    pub fn note(&mut self, text: &str, took: Duration, most: usize) {
        let start = text.trim_start().get(..LISTING.len());
        let is_listing = start.is_some_and(|start| start.eq_ignore_ascii_case(LISTING));
        if !std::mem::take(&mut self.skips_running) && !is_listing {
            self.add(text, took);
            self.limit(most);
        }
    }

    fn add(&mut self, text: &str, took: Duration) {
        self.last_id += 1;
        let text = text.chars().take(TEXT_CHARS_MAX).collect();
        let id = self.last_id;
        self.profiles.push_back(Profile { id, took, text });
    }

    /// Removes the oldest of more than `profiling_history_size`.
    fn limit(&mut self, most: usize) {
        while self.profiles.len() > most {
            self.profiles.pop_front();
        }
    }

    /// The last ones, the oldest first.
    pub fn last(&self, most: usize) -> impl Iterator<Item = &Profile> {
        self.profiles
            .iter()
            .skip(self.profiles.len().saturating_sub(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_numbers_go_on() {
        let mut profiles = Profiles::default();
        for text in ["a", "b", "show profiles", "c"] {
            profiles.note(text, Duration::from_millis(3), 2);
        }
        let listed: Vec<_> = profiles.last(9).map(|one| (one.id, one.text.as_str())).collect();
        assert_eq!(listed, [(2, "b"), (3, "c")]);
        assert_eq!(profiles.last(1).map(|one| one.id).collect::<Vec<_>>(), [3]);
    }
}
