//! `kill -9` in the middle of one long statement, at moments that are spread over the time it takes.

use std::time::Duration;

use crate::report::Report;
use crate::server::{Address, Program, Server};

/// A server whose row cache is compared with what is stored, with the tables that `set_up` creates.
pub fn started(
    program: &Program,
    set_up: impl FnOnce(&Address) -> Result<(), String>,
) -> Result<Server, String> {
    let mut server = Server::prepare(program.clone(), &[])?;
    server.compare_cached_reads();
    server.run()?;
    set_up(&server.address).map(|()| server)
}

/// Rounds of a statement that is killed.
pub struct Kills {
    /// One of them and all, as the report calls them.
    pub statement: &'static str,
    pub statements: &'static str,
    pub rounds: u32,
    pub set_up: fn(&Address) -> Result<(), String>,
    /// Runs the statement once and undoes it. The time it took.
    pub whole: fn(&Address) -> Result<Duration, String>,
    /// When a round kills it, from that time and the round's number.
    pub moment: fn(Duration, u32) -> Duration,
    /// Kills the server at a moment of the statement, restarts it, and checks what is there.
    pub one_round: fn(&mut Server, u32, Duration) -> Result<(), String>,
}

impl Kills {
    pub fn check(&self, program: &Program, report: &mut Report) {
        let statements = self.statements;
        let ready = started(program, self.set_up).and_then(|server| {
            let whole = (self.whole)(&server.address)?;
            Ok((server, whole))
        });
        let (mut server, whole) = match ready {
            Ok(ready) => ready,
            Err(error) => return report.fail(&format!("crash: {statements}, set up"), &error),
        };
        for round in 0..self.rounds {
            let name = format!(
                "crash: kill in {}, {} of {}",
                self.statement,
                round + 1,
                self.rounds
            );
            let moment = (self.moment)(whole, round);
            if let Err(error) = (self.one_round)(&mut server, round, moment) {
                return report.fail(&name, &format!("{error}\n{}", server.log_tail()));
            }
            report.pass(&name);
        }
        report.check(
            &format!("crash: what the row cache answered after {statements} is what is stored"),
            server.check_log(),
        );
    }
}
