//! `profiling`: the last statements of a session with the stages that they went through, for SHOW PROFILES, SHOW PROFILE
//! and `information_schema.PROFILING`.
//!
//! A stage begins where [`Profiles::stage`] is called, and ends with the next one. Its name is that of MySQL's stage for
//! the same work. Only the session's own thread is measured, so what other threads do for an analytical query is in the
//! durations and not in the counters.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scheduling::usage::ThreadUsage;

/// How many characters of a statement SHOW PROFILES shows.
const TEXT_CHARS_MAX: usize = 300;

/// How many stages of a statement are kept: one with many subqueries goes through the same ones again and again.
const STAGES_MAX: usize = 100;

/// How the statements begin that are no profiles themselves.
const LISTING: &str = "SHOW PROFILE";

/// MySQL's names of stages.
pub mod stage {
    pub const STARTING: &str = "starting";
    pub const OPENING_TABLES: &str = "Opening tables";
    pub const OPTIMIZING: &str = "optimizing";
    pub const SYSTEM_LOCK: &str = "System lock";
    pub const EXECUTING: &str = "executing";
    pub const UPDATE: &str = "update";
    pub const UPDATING: &str = "updating";
    pub const COMMIT: &str = "waiting for handler commit";
    pub const QUERY_END: &str = "query end";
}

/// A statement that has ended.
#[derive(Debug)]
pub struct Profile {
    pub id: u64,
    pub took: Duration,
    pub text: String,
    pub stages: Vec<Stage>,
}

/// One stage of a statement.
#[derive(Debug)]
pub struct Stage {
    pub state: &'static str,
    pub took: Duration,
    pub used: ThreadUsage,
}

/// The last statements that ran while `profiling` was on.
#[derive(Default)]
pub struct Profiles(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    last_id: u64,
    profiles: VecDeque<Arc<Profile>>,
    /// The statement that runs has switched `profiling` on, and is none of those.
    skips_running: bool,
    /// The beginnings of the stages of the statement that runs.
    running: Vec<Mark>,
}

/// Where a stage begins.
struct Mark {
    state: &'static str,
    at: Instant,
    used: ThreadUsage,
}

impl Mark {
    fn new(state: &'static str, at: Instant) -> Self {
        Self {
            state,
            at,
            used: ThreadUsage::now(),
        }
    }
}

impl Profiles {
    /// A statement begins. `started`: when its text arrived.
    pub fn begin(&self, started: Instant) {
        self.0.lock().running = vec![Mark::new(stage::STARTING, started)];
    }

    /// The running statement goes on to another stage.
    pub fn stage(&self, state: &'static str) {
        let mut inner = self.0.lock();
        let is_new = inner.running.last().is_some_and(|mark| mark.state != state);
        if is_new && inner.running.len() < STAGES_MAX {
            inner.running.push(Mark::new(state, Instant::now()));
        }
    }

    /// The statement that runs has switched `profiling` on.
    pub fn skip_running(&self) {
        self.0.lock().skips_running = true;
    }

    /// Records a statement that has ended. `most`: `profiling_history_size`.
    pub fn end(&self, text: &str, (started, ended): (Instant, Instant), most: usize) {
        let mut inner = self.0.lock();
        let end = Mark::new(stage::QUERY_END, ended);
        let stages = stages(&std::mem::take(&mut inner.running), &end);
        let start = text.trim_start().get(..LISTING.len());
        let is_listing = start.is_some_and(|start| start.eq_ignore_ascii_case(LISTING));
        if std::mem::take(&mut inner.skips_running) || is_listing {
            return;
        }
        inner.last_id += 1;
        let profile = Profile {
            id: inner.last_id,
            took: ended.saturating_duration_since(started),
            text: text.chars().take(TEXT_CHARS_MAX).collect(),
            stages,
        };
        inner.profiles.push_back(Arc::new(profile));
        while inner.profiles.len() > most {
            inner.profiles.pop_front();
        }
    }

    /// The last ones, the oldest first.
    pub fn last(&self, most: usize) -> Vec<Arc<Profile>> {
        let inner = self.0.lock();
        let skipped = inner.profiles.len().saturating_sub(most);
        inner.profiles.iter().skip(skipped).cloned().collect()
    }

    /// The one of a number, or the last one.
    pub fn find(&self, id: Option<u64>) -> Option<Arc<Profile>> {
        let inner = self.0.lock();
        let mut all = inner.profiles.iter();
        let found = match id {
            Some(id) => all.find(|profile| profile.id == id),
            None => all.next_back(),
        };
        found.cloned()
    }
}

fn stages(running: &[Mark], end: &Mark) -> Vec<Stage> {
    let next = running.iter().skip(1).chain([end]);
    let stage = |(mark, next): (&Mark, &Mark)| Stage {
        state: mark.state,
        took: next.at.saturating_duration_since(mark.at),
        used: next.used.since(&mark.used),
    };
    running.iter().zip(next).map(stage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_numbers_go_on() {
        let profiles = Profiles::default();
        let now = Instant::now();
        for text in ["a", "b", "show profiles", "c"] {
            profiles.begin(now);
            profiles.end(text, (now, now + Duration::from_millis(3)), 2);
        }
        let listed = profiles.last(9);
        let listed: Vec<_> = listed.iter().map(|one| (one.id, one.text.as_str())).collect();
        assert_eq!(listed, [(2, "b"), (3, "c")]);
        assert_eq!(profiles.last(1)[0].id, 3);
        assert!(profiles.find(Some(1)).is_none());
        assert_eq!(profiles.find(None).map(|one| one.id), Some(3));
    }

    #[test]
    fn stages_add_up_to_the_statement() {
        let profiles = Profiles::default();
        let started = Instant::now();
        profiles.stage(stage::EXECUTING);
        profiles.begin(started);
        for state in [stage::OPENING_TABLES, stage::EXECUTING, stage::EXECUTING] {
            profiles.stage(state);
        }
        let ended = Instant::now();
        profiles.end("select 1", (started, ended), 15);
        let profile = profiles.find(None).expect("the statement");
        let states: Vec<_> = profile.stages.iter().map(|stage| stage.state).collect();
        assert_eq!(states, [stage::STARTING, stage::OPENING_TABLES, stage::EXECUTING]);
        let sum: Duration = profile.stages.iter().map(|stage| stage.took).sum();
        assert_eq!(sum, ended - started);
        assert_eq!(profile.took, sum);
    }
}
