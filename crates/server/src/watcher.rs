//! Watches busy connections: interrupts statements whose client has vanished, and cuts logins that take too
//! long and connections that do not end after they were hung up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::{PollFd, PollFlags, poll};

use crate::connections::{Control, LOGIN};
use crate::shared::Shared;
use crate::stop::Stop;

/// How often connections are checked, so also the age at which a running statement is first checked: the more there are,
/// the longer that takes.
const TICK_MIN: Duration = Duration::from_millis(100);
const TICK_MAX: Duration = Duration::from_secs(1);
const TICK_OF_CONNECTION: Duration = Duration::from_micros(100);
/// The time that a connection has to end after it was hung up.
const GRACE: Duration = Duration::from_secs(5);

/// Watches until the server stops.
pub fn watch(shared: &Arc<Shared>, stop: &Stop) {
    // By connection id: the command that ran at the last check, whether the connection was hung up, and
    // since when.
    let mut seen: HashMap<u64, Seen> = HashMap::new();
    let mut pause = TICK_MIN;
    while !stop.wait(pause) {
        let now = Instant::now();
        let connect_timeout = shared.sessions.settings().connect_timeout;
        let mut now_seen = HashMap::new();
        let mut long_running = Vec::new();
        let connections = shared.connections.list();
        let tick = tick(connections.len());
        for control in connections {
            let state = Seen {
                running: control.running(),
                hung_up: control.is_hung_up(),
                since: now,
            };
            if state.running.is_none() && !state.hung_up {
                continue;
            }
            let state = match seen.get(&control.id) {
                Some(before) if before.same_as(&state) => *before,
                _ => state,
            };
            let age = now - state.since;
            if state.hung_up && age >= GRACE {
                control.cut();
            } else if state.running == Some(LOGIN) && age > connect_timeout + TICK_MAX {
                tracing::info!("connection {}: logging in takes too long", control.id);
                control.cut();
            } else if state.since != now {
                long_running.push(control.clone());
            }
            now_seen.insert(control.id, state);
        }
        seen = now_seen;
        pause = interrupt_orphans(&long_running, tick);
    }
}

fn tick(connections: usize) -> Duration {
    let all = TICK_OF_CONNECTION.saturating_mul(u32::try_from(connections).unwrap_or(u32::MAX));
    all.clamp(TICK_MIN, TICK_MAX)
}

#[derive(Clone, Copy)]
struct Seen {
    running: Option<u64>,
    hung_up: bool,
    since: Instant,
}

impl Seen {
    fn same_as(&self, other: &Self) -> bool {
        self.running == other.running && self.hung_up == other.hung_up
    }
}

/// Waits for `tick` until a client closes its side, and interrupts its command. Returns how long to pause before the next
/// look: a socket that is closed does not wait.
fn interrupt_orphans(running: &[Arc<Control>], tick: Duration) -> Duration {
    let flags = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut fds: Vec<PollFd<'_>> = running
        .iter()
        .map(|control| PollFd::new(&**control.socket(), flags))
        .collect();
    let patience = Timespec::try_from(tick).ok();
    if fds.is_empty() || patience.is_none() {
        return tick;
    }
    match poll(&mut fds, patience.as_ref()) {
        Ok(0) => return Duration::ZERO,
        Ok(_) => {}
        Err(_) => return tick,
    }
    for (control, fd) in running.iter().zip(&fds) {
        if fd.revents().intersects(flags) {
            tracing::debug!("connection {}: the client has vanished", control.id);
            control.interrupt();
        }
    }
    tick
}
