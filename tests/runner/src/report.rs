//! What passed, failed and was skipped: one line each, and the summary that ends a run.

use std::process::ExitCode;

#[derive(Debug, Default)]
pub struct Report {
    passed: usize,
    failed: Vec<String>,
    skipped: usize,
    verbose: bool,
}

impl Report {
    /// `verbose`: passed checks get a line too.
    pub fn new(verbose: bool) -> Self {
        Self {
            verbose,
            ..Self::default()
        }
    }

    pub fn pass(&mut self, name: &str) {
        self.passed += 1;
        if self.verbose {
            println!("ok    {name}");
        }
    }

    /// `why` may have several lines.
    pub fn fail(&mut self, name: &str, why: &str) {
        self.failed.push(name.to_string());
        println!("FAIL  {name}");
        for line in why.lines() {
            println!("      {line}");
        }
    }

    pub fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        println!("skip  {name}: {why}");
    }

    /// A check by its result.
    pub fn check(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.pass(name),
            Err(why) => self.fail(name, &why),
        }
    }

    /// Prints the line that `scripts/test` adds up, and gives the exit code.
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
