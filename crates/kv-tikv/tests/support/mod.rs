//! Starts the stand-in (`tests/tikv-stand-in`) for one test: built once, a process of its own each time, gone with it.

// Each test file uses a part.
#![allow(dead_code, clippy::unwrap_used)]

use kv::{Limits, Store};
use kv_tests::Subject;
use kv_tikv::TikvOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The program, built if it is not up to date. `STEMDB_TIKV_STAND_IN` names one that is there already.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(path) = std::env::var_os("STEMDB_TIKV_STAND_IN") {
            return path.into();
        }
        if !has_go() {
            // As the clients whose toolchain is missing (tests/runner): one line, and no failure.
            eprintln!("skipped: tests on the TiKV stand-in need Go 1.24, which is not installed");
            std::process::exit(0);
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tikv-stand-in");
        let out =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tikv-stand-in-{}", std::process::id()));
        let built = Command::new("sh")
            .arg(source.join("build.sh"))
            .arg(&out)
            .status()
            .unwrap();
        assert!(built.success(), "the stand-in does not build");
        // Other test programs may build at the same time: each builds its own and the last one stays.
        let shared = out.with_file_name("tikv-stand-in");
        std::fs::rename(&out, &shared).unwrap();
        shared
    })
}

/// Whether there is a Go of 1.24 or newer ("go version go1.24.3 linux/amd64").
fn has_go() -> bool {
    let output = Command::new("go").arg("version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let minor = text.unwrap_or_default();
    let minor = minor
        .split_whitespace()
        .find_map(|word| word.strip_prefix("go1."))
        .and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= 24)
}

fn ask(address: &str, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A cluster of one's own.
pub struct StandIn {
    process: Child,
    pub pd: String,
    control: String,
}

impl StandIn {
    pub fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(program())
            .arg("-watch-stdin")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let named = |name: &str| {
            let found = line.split_whitespace().find_map(|word| word.strip_prefix(name));
            found
                .unwrap_or_else(|| panic!("no {name} in '{line}'"))
                .to_owned()
        };
        Self {
            pd: named("pd=").trim_start_matches("http://").to_owned(),
            control: named("control=").trim_start_matches("http://").to_owned(),
            process,
        }
    }

    /// Tells the control port something, as in "/split?key=m".
    pub fn tell(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.0\r\nHost: stand-in\r\n\r\n");
        // On a busy machine a connection may be reset before it is served.
        let answer = (0..10).find_map(|_| ask(&self.control, &request).ok());
        let answer = answer.unwrap_or_else(|| panic!("no answer to {path}"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{path}: {answer}");
        body.to_owned()
    }

    /// How often a call was made.
    pub fn count(&self, call: &str) -> u64 {
        let counters = self.tell("/counters");
        counters
            .lines()
            .find_map(|line| line.trim().strip_prefix(&format!("\"{call}\":")))
            .map_or(0, |number| number.trim().trim_end_matches(',').parse().unwrap())
    }

    pub fn options(&self) -> TikvOptions {
        TikvOptions {
            background: false,
            operation_timeout: Duration::from_secs(20),
            request_timeout: Duration::from_secs(2),
            ..TikvOptions::new(vec![self.pd.clone()])
        }
    }

    pub fn open(&self) -> Store {
        kv_tikv::open(self.options()).unwrap()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// For the conformance suite: three stores, and regions that begin among the suite's keys.
pub struct Cluster(StandIn);

impl Cluster {
    pub fn start() -> Self {
        let stand_in = StandIn::start(&["-stores", "3", "-split", "account3,b,k2,k5,k500,table,w2"]);
        stand_in.tell("/split?hexkey=000000");
        Self(stand_in)
    }
}

impl Subject for Cluster {
    fn open(&self, limits: Limits) -> Store {
        kv_tikv::open(TikvOptions {
            limits,
            ..self.0.options()
        })
        .unwrap()
    }

    fn is_persistent(&self) -> bool {
        true
    }
}
