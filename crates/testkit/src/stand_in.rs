//! Runs the TiKV stand-in (`tests/tikv-stand-in`). It is built once per test program. Each [`StandIn`] is a
//! process of its own, which ends when the value is dropped.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The message where [`StandIn::can_run`] returns false.
pub const NEEDS: &str = "the TiKV stand-in needs Go 1.24, which is not installed";

/// The path of a stand-in that has already been built.
const BUILT: &str = "STEMDB_TIKV_STAND_IN";

/// The program, built next to the running one if it is out of date.
fn program() -> Result<&'static Path, String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| match std::env::var_os(BUILT) {
        Some(path) => Ok(path.into()),
        None => build(),
    });
    program.as_deref().map_err(Clone::clone)
}

fn build() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tikv-stand-in");
    let shared = std::env::current_exe()
        .map_err(|error| error.to_string())?
        .with_file_name("tikv-stand-in");
    // Other test programs may build at the same time. Each builds a file of its own, and the last one is
    // used.
    let out = shared.with_file_name(format!("tikv-stand-in-{}", std::process::id()));
    let built = Command::new("sh")
        .arg(source.join("build.sh"))
        .arg(&out)
        .output()
        .map_err(|error| format!("the stand-in: {error}"))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        return Err(format!("the stand-in does not build: {said}"));
    }
    std::fs::rename(&out, &shared).map_err(|error| format!("{}: {error}", shared.display()))?;
    Ok(shared)
}

/// Whether Go 1.24 or newer is installed ("go version go1.24.3 linux/amd64").
fn has_go() -> bool {
    let output = Command::new("go").arg("version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let text = text.unwrap_or_default();
    let minor = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix("go1."))
        .and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= 24)
}

/// A cluster for one test.
#[derive(Debug)]
pub struct StandIn {
    process: Child,
    /// PD's addresses, separated by commas.
    pub pd: String,
    control: String,
}

impl StandIn {
    /// Whether it is built already or can be built.
    pub fn can_run() -> bool {
        std::env::var_os(BUILT).is_some() || has_go()
    }

    /// Starts it with more arguments on its command line; `-help` lists them.
    ///
    /// # Errors
    /// A text: it does not build or does not start.
    pub fn start(arguments: &[&str]) -> Result<Self, String> {
        let mut process = Command::new(program()?)
            .arg("-watch-stdin")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the stand-in: {error}"))?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(|error| error.to_string())?;
        }
        let named = |name: &str| {
            let found = line.split_whitespace().find_map(|word| word.strip_prefix(name));
            found
                .map(|address| address.replace("http://", ""))
                .ok_or_else(|| format!("the stand-in tells no {name} in '{line}'"))
        };
        Ok(Self {
            pd: named("pd=")?,
            control: named("control=")?,
            process,
        })
    }

    /// `tikv://...`, for the option `--store`.
    pub fn url(&self) -> String {
        format!("tikv://{}", self.pd)
    }

    /// Sends a command to the control port, as in "/split?key=m", and returns the response.
    ///
    /// # Errors
    /// A text: there is no response, or the command is refused.
    pub fn control(&self, path: &str) -> Result<String, String> {
        let request = format!("GET {path} HTTP/1.0\r\nHost: stand-in\r\n\r\n");
        // On a busy machine a connection may be reset before it is accepted.
        let answer = (0..10).find_map(|_| ask(&self.control, &request).ok());
        let answer = answer.ok_or_else(|| format!("no answer to {path}"))?;
        match answer.split_once("\r\n\r\n") {
            Some((head, body)) if head.contains(" 200 ") => Ok(body.to_owned()),
            _ => Err(format!("{path}: {answer}")),
        }
    }

    /// How often each request was received since the last reset.
    ///
    /// # Errors
    /// As [`StandIn::control`].
    pub fn counters(&self) -> Result<Vec<(String, u64)>, String> {
        let text = self.control("/counters")?;
        let pair = |line: &str| {
            let (name, count) = line.trim().trim_end_matches(',').split_once(':')?;
            Some((name.trim_matches('"').to_owned(), count.trim().parse().ok()?))
        };
        Ok(text.lines().filter_map(pair).collect())
    }

    /// How often a request was received since the last reset.
    ///
    /// # Errors
    /// As [`StandIn::control`].
    pub fn count(&self, call: &str) -> Result<u64, String> {
        let counters = self.counters()?;
        Ok(counters
            .iter()
            .find(|(name, _)| name == call)
            .map_or(0, |(_, count)| *count))
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn ask(address: &str, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
