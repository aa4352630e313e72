//! The CPU time and memory of a process on this host, from `/proc`.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// `/proc` counts CPU time in hundredths of a second on every architecture of Rust's Linux targets.
const TICK: Duration = Duration::from_millis(10);
const LISTENING: &str = "0A";

/// A process of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
}

/// The resources a process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub user: Duration,
    pub system: Duration,
    pub resident_bytes: u64,
}

impl Process {
    pub fn own() -> Self {
        Self {
            pid: std::process::id(),
        }
    }

    /// The process that listens on a TCP port, if this user may see it.
    pub fn listening_on(port: u16) -> Option<Self> {
        let sockets = ["/proc/net/tcp", "/proc/net/tcp6"]
            .into_iter()
            .find_map(|table| {
                let text = fs::read_to_string(table).ok()?;
                text.lines().find_map(|line| tcp_listener(line, port))
            })?;
        Self::holding(&sockets)
    }

    /// The process that listens on a Unix socket.
    pub fn listening_at(path: &str) -> Option<Self> {
        let text = fs::read_to_string("/proc/net/unix").ok()?;
        text.lines()
            .filter_map(|line| unix_socket(line, path))
            .find_map(|inode| Self::holding(&inode))
    }

    fn holding(inode: &str) -> Option<Self> {
        let wanted = format!("socket:[{inode}]");
        fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let holds = fs::read_dir(entry.path().join("fd"))
                .ok()?
                .flatten()
                .any(|file| fs::read_link(file.path()).is_ok_and(|link| link == Path::new(&wanted)));
            holds.then_some(Self { pid })
        })
    }

    /// `None` if the process has ended.
    pub fn usage(self) -> Option<Usage> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        let (user, system) = cpu_ticks(&stat)?;
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        Some(Usage {
            user: TICK * user,
            system: TICK * system,
            resident_bytes: resident_bytes(&status)?,
        })
    }
}

/// The inode of a listening socket on `port`, if this line of `/proc/net/tcp` describes one.
fn tcp_listener(line: &str, port: u16) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
    let is_it = u16::from_str_radix(local_port, 16) == Ok(port) && *fields.get(3)? == LISTENING;
    is_it.then(|| fields.get(9).map(|inode| (*inode).to_owned()))?
}

fn unix_socket(line: &str, path: &str) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    (*fields.get(7)? == path).then(|| fields.get(6).map(|inode| (*inode).to_owned()))?
}

/// User and system time. The name in front of them may contain spaces and parentheses.
fn cpu_ticks(stat: &str) -> Option<(u32, u32)> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    Some((fields.get(11)?.parse().ok()?, fields.get(12)?.parse().ok()?))
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn finds_who_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(Process::listening_on(port), Some(Process::own()));
        drop(listener);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        assert_eq!(
            Process::listening_at(path.to_str().unwrap()),
            Some(Process::own())
        );
        assert_eq!(Process::listening_at("/no/such.sock"), None);
    }

    #[test]
    fn own_usage_is_there() {
        let usage = Process::own().usage().unwrap();
        assert!(usage.resident_bytes > 100_000);
        assert_eq!(Process { pid: u32::MAX }.usage(), None);
    }

    #[test]
    fn a_name_with_parentheses() {
        let stat = "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 700 30 0 0 20 0 1";
        assert_eq!(cpu_ticks(stat), Some((700, 30)));
        assert_eq!(cpu_ticks("42 (a"), None);
        assert_eq!(
            resident_bytes("VmPeak: 1 kB\nVmRSS:\t    2048 kB\n"),
            Some(2_097_152)
        );
    }
}
