//! Whether the server's threads stand still: a statement that has ended for its client may go on computing.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::server::Address;

/// Once the process has used less than a tenth of a processor for so long, it stands still.
const WINDOW: Duration = Duration::from_millis(500);
const TICKS_OF_STILLNESS: u64 = 5;
/// What other work of the server may take until then: flushes, statistics.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the server stands still. A server that this program has not started is not looked at.
pub fn wait(address: &Address) -> Result<(), String> {
    let Some(process) = address.process else {
        return Ok(());
    };
    let start = Instant::now();
    let mut before = processor_time(process)?;
    loop {
        thread::sleep(WINDOW);
        let now = processor_time(process)?;
        let used = now.saturating_sub(before);
        if used < TICKS_OF_STILLNESS {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(format!(
                "it still uses {used} hundredths of a second in {WINDOW:?}"
            ));
        }
        before = now;
    }
}

/// What all threads of a process have used so far, in clock ticks, which are hundredths of a second.
fn processor_time(process: u32) -> Result<u64, String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).map_err(|error| error.to_string())?;
    // The name, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(')').ok_or("no name in the process's state")?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .map(|field| field.parse::<u64>().map_err(|error| format!("{field}: {error}")))
        .sum()
}
