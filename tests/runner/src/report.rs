//! Reports what passed, failed and was skipped: one line each, and a summary at the end of a run.

use std::process::ExitCode;

#[derive(Debug, Default)]
pub struct Report {
    passed: usize,
    failed: Vec<String>,
    skipped: usize,
    verbose: bool,
    /// Where the checks run. It is printed before their names, unless it is empty.
    place: &'static str,
}

impl Report {
    /// `verbose`: also prints a line for passed checks.
    pub fn new(verbose: bool) -> Self {
        Self {
            verbose,
            ..Self::default()
        }
    }

    /// Sets where the next checks run.
    pub fn set_place(&mut self, place: &'static str) {
        self.place = place;
    }

    fn full_name(&self, name: &str) -> String {
        match self.place {
            "" => name.to_string(),
            place => format!("{place}: {name}"),
        }
    }

    pub fn pass(&mut self, name: &str) {
        self.passed += 1;
        if self.verbose {
            println!("ok    {}", self.full_name(name));
        }
    }

    /// `why` may have several lines.
    pub fn fail(&mut self, name: &str, why: &str) {
        let name = self.full_name(name);
        println!("FAIL  {name}");
        self.failed.push(name);
        for line in why.lines() {
            println!("      {line}");
        }
    }

    pub fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        println!("skip  {}: {why}", self.full_name(name));
    }

    /// Prints a measurement, if passed checks are printed.
    pub fn note(&self, what: &str) {
        if self.verbose {
            println!("      {}", self.full_name(what));
        }
    }

    /// Counts a check by its result.
    pub fn check(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.pass(name),
            Err(why) => self.fail(name, &why),
        }
    }

    /// Prints the line that `scripts/test.sh` adds up, and returns the exit code.
    pub fn finish(&self) -> ExitCode {
        for name in &self.failed {
            println!("failed: {name}");
        }
        println!(
            "{} passed, {} failed, {} skipped",
            self.passed,
            self.failed.len(),
            self.skipped
        );
        if self.failed.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
