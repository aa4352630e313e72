//! Debian's HAProxy in front of the servers, with health checks on their status ports.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::{Address, Server, free_port};

const START_MAX: Duration = Duration::from_secs(30);

/// HAProxy's view of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Up,
    Down,
}

/// Stopped when dropped.
pub struct Proxy {
    pub address: Address,
    directory: TempDir,
    process: Child,
}

impl Proxy {
    pub fn can_run() -> bool {
        program().is_some()
    }

    /// Starts HAProxy, and waits until it has seen all servers.
    pub fn start(servers: &[Server]) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        let port = free_port()?;
        let file = directory.path().join("haproxy.cfg");
        let socket = directory.path().join("stats");
        fs::write(&file, configuration(port, &socket.display().to_string(), servers))
            .map_err(|e| e.to_string())?;
        let process = Command::new(program().ok_or("haproxy is not installed")?)
            .args(["-db", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("haproxy: {e}"))?;
        let proxy = Self {
            address: Address {
                host: "127.0.0.1".to_owned(),
                port,
                socket: None,
                status_port: None,
                process: None,
                stemdb: true,
                large_rows: false,
            },
            directory,
            process,
        };
        for index in 0..servers.len() {
            proxy.wait_for(index, State::Up, START_MAX)?;
        }
        Ok(proxy)
    }

    /// Waits until HAProxy sees a server in this state.
    pub fn wait_for(&self, index: usize, state: State, patience: Duration) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let seen = self.state(index);
            match seen {
                Ok(seen) if seen == state => return Ok(()),
                _ if start.elapsed() < patience => thread::sleep(Duration::from_millis(20)),
                seen => return Err(format!("HAProxy sees server {index} {seen:?}, not {state:?}")),
            }
        }
    }

    fn state(&self, index: usize) -> Result<State, String> {
        let mut stream =
            UnixStream::connect(self.directory.path().join("stats")).map_err(|e| e.to_string())?;
        stream.write_all(b"show stat\n").map_err(|e| e.to_string())?;
        let mut table = String::new();
        stream.read_to_string(&mut table).map_err(|e| e.to_string())?;
        let mut lines = table.lines();
        let heading: Vec<&str> = lines
            .next()
            .unwrap_or_default()
            .trim_start_matches("# ")
            .split(',')
            .collect();
        let column = |name: &str| heading.iter().position(|title| *title == name);
        let (Some(server), Some(status)) = (column("svname"), column("status")) else {
            return Err(format!("no table of servers: {table}"));
        };
        let name = name(index);
        let status = lines
            .map(|line| line.split(',').collect::<Vec<_>>())
            .find_map(|fields| {
                (fields.get(server) == Some(&name.as_str()))
                    .then(|| fields.get(status).copied().unwrap_or_default())
            });
        match status {
            Some(status) if status.starts_with("UP") => Ok(State::Up),
            Some(_) => Ok(State::Down),
            None => Err(format!("no server {name}: {table}")),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The directory of administrators' programs may be missing from the PATH.
fn program() -> Option<&'static str> {
    let runs = |program: &&str| Command::new(program).arg("-v").output().is_ok();
    ["haproxy", "/usr/sbin/haproxy"]
        .into_iter()
        .find(|program| runs(program))
}

fn name(index: usize) -> String {
    format!("sql-{}", index + 1)
}

fn configuration(port: u16, socket: &str, servers: &[Server]) -> String {
    let mut text = format!(
        "global\n    stats socket {socket} level operator\n\
         defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 5m\n    timeout server 5m\n    timeout check 5s\n    \
         retries 3\n    option redispatch 1\n\
         frontend sql\n    bind 127.0.0.1:{port}\n    default_backend nodes\n\
         backend nodes\n    balance leastconn\n    option httpchk GET /status\n    http-check expect status 200\n"
    );
    for (index, server) in servers.iter().enumerate() {
        text.push_str(&format!(
            "    server {} 127.0.0.1:{} check port {} inter 100ms fall 1 rise 1\n",
            name(index),
            server.address.port,
            server.status_port()
        ));
    }
    text
}
