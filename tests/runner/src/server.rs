//! Servers under test: one that already runs, or one started here, which can be killed and restarted.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mysql::{Conn, Opts, OptsBuilder};
use tempfile::TempDir;

/// A server that needs longer to start has failed, also with recovery after a kill.
const START_MAX: Duration = Duration::from_secs(180);

/// The environment variable that makes StemDB check the promises about its writes.
pub const CHECK_PROMISES: &str = "STEMDB_CHECK_PROMISES";

/// A server's address, for clients.
#[derive(Debug, Clone)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub socket: Option<PathBuf>,
    /// `None` where it is not known, and on MySQL.
    pub status_port: Option<u16>,
    /// Of the server, where this program has started it.
    pub process: Option<u32>,
    /// False on MySQL: checks of StemDB's own features are skipped.
    pub stemdb: bool,
    /// Whether a row may be larger than the 6 MiB that a cluster accepts.
    pub large_rows: bool,
}

impl Address {
    /// Options for root without a password, over TCP.
    pub fn opts(&self) -> Opts {
        self.builder().into()
    }

    pub fn builder(&self) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some(self.host.clone()))
            .tcp_port(self.port)
            .user(Some("root"))
            .prefer_socket(false)
            .tcp_connect_timeout(Some(Duration::from_secs(60)))
            .read_timeout(Some(Duration::from_secs(600)))
    }

    pub fn connect(&self) -> Result<Conn, mysql::Error> {
        Conn::new(self.opts())
    }

    /// A connection to an existing database.
    pub fn connect_to(&self, database: &str) -> Result<Conn, mysql::Error> {
        Conn::new(self.builder().db_name(Some(database)))
    }
}

/// The program to start.
#[derive(Debug, Clone)]
pub enum Program {
    /// The `stemdb` binary, and its store; `None`: RocksDB in the server's own directory.
    StemDb { binary: PathBuf, store: Option<String> },
    /// The base directory of a MySQL installation.
    Mysqld(PathBuf),
    /// MariaDB's server, with `mariadb-install-db` on the path.
    Mariadbd(PathBuf),
}

impl Program {
    fn is_on_cluster(&self) -> bool {
        match self {
            Self::StemDb { store, .. } => store.as_ref().is_some_and(|store| store.starts_with("tikv:")),
            Self::Mysqld(_) | Self::Mariadbd(_) => false,
        }
    }
}

/// A server in a directory of its own. Dropping it kills the server and removes the directory.
pub struct Server {
    program: Program,
    directory: TempDir,
    pub address: Address,
    child: Option<Child>,
    /// More arguments of its command line.
    arguments: Vec<String>,
    /// Environment variables, in addition to this process's own.
    environment: Vec<(String, String)>,
    /// The network interface it listens on.
    interface: String,
    /// The password of root, to check whether the server responds.
    pub root_password: Option<String>,
}

impl Server {
    /// Starts on new data and waits until the server responds.
    pub fn start(program: Program, arguments: &[&str]) -> Result<Self, String> {
        let mut server = Self::prepare(program, arguments)?;
        server.run()?;
        Ok(server)
    }

    /// All preparations for the start.
    pub fn prepare(program: Program, arguments: &[&str]) -> Result<Self, String> {
        let directory = tempfile::Builder::new()
            .prefix("stemdb-test-")
            .tempdir()
            .map_err(|e| format!("no directory for data: {e}"))?;
        let address = Address {
            host: "127.0.0.1".to_string(),
            port: free_port()?,
            socket: Some(directory.path().join("sql.sock")),
            status_port: match program {
                Program::StemDb { .. } => Some(free_port()?),
                _ => None,
            },
            process: None,
            stemdb: matches!(program, Program::StemDb { .. }),
            large_rows: !program.is_on_cluster(),
        };
        Ok(Self {
            program,
            address,
            directory,
            child: None,
            arguments: arguments.iter().map(|a| a.to_string()).collect(),
            environment: Vec::new(),
            interface: "127.0.0.1".to_string(),
            root_password: None,
        })
    }

    /// From the next start on, each read from the row cache is compared with the store. If they differ, the
    /// server panics, and [`Server::check_log`] reports that.
    pub fn compare_cached_reads(&mut self) {
        self.set_environment("STEMDB_COMPARE_CACHED_READS", "1");
    }

    /// Fails if the log reports a wrong value in the row cache.
    pub fn check_log(&self) -> Result<(), String> {
        let text = fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let complaint = text.lines().find(|line| line.contains("the row cache has"));
        complaint.map_or(Ok(()), |line| Err(line.to_string()))
    }

    /// Adds arguments for the next start.
    pub fn add_arguments(&mut self, arguments: &[&str]) {
        self.arguments.extend(arguments.iter().map(|a| a.to_string()));
    }

    /// Sets an environment variable for the next start.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_string(), value.to_string()));
    }

    /// Sets the interface for the next start.
    pub fn listen(&mut self, interface: &str) {
        self.interface = interface.to_string();
    }

    /// Starts on the existing data, and waits until the server responds. Returns how long that took.
    pub fn run(&mut self) -> Result<Duration, String> {
        self.initialize()?;
        let start = Instant::now();
        let child = self.command()?.spawn();
        let child = child.map_err(|e| format!("cannot start the server: {e}"))?;
        self.address.process = Some(child.id());
        self.child = Some(child);
        loop {
            if let Some(status) = self.exited()? {
                return Err(format!(
                    "the server ended at its start ({status}):\n{}",
                    self.log_tail()
                ));
            }
            // Logs in, because an open port alone does not show that the server works.
            let opts = self.address.builder().pass(self.root_password.clone());
            match Conn::new(opts) {
                Ok(_) => return Ok(start.elapsed()),
                Err(e) if start.elapsed() > START_MAX => {
                    self.kill();
                    return Err(format!(
                        "no answer within {START_MAX:?} ({e}):\n{}",
                        self.log_tail()
                    ));
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// The command line, with output going to the log.
    pub fn command(&self) -> Result<Command, String> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .and_then(|log| Ok((log.try_clone()?, log)))
            .map_err(|e| format!("no log: {e}"))?;
        let socket = self.path("sql.sock");
        let mut command = match &self.program {
            Program::StemDb { binary, store } => {
                let own = || format!("rocksdb:{}", self.data().display());
                let mut command = Command::new(binary);
                command
                    .arg("serve")
                    .args(["--store", &store.clone().unwrap_or_else(own)])
                    .args(["--listen", &format!("{}:{}", self.interface, self.address.port)])
                    .args(["--status", &format!("127.0.0.1:{}", self.status_port())])
                    .arg("--socket")
                    .arg(socket);
                command
            }
            Program::Mysqld(base) => {
                let mut command = self.mysqld(base);
                command.arg("--mysqlx=0");
                self.peer(command, &socket)
            }
            Program::Mariadbd(program) => self.peer(Command::new(program), &socket),
        };
        command
            .args(&self.arguments)
            // Each commit checks the promises about its writes.
            .env(CHECK_PROMISES, "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.0)
            .stderr(log.1);
        Ok(command)
    }

    fn mysqld(&self, base: &Path) -> Command {
        let mut command = Command::new(base.join("bin/mysqld"));
        command
            .arg("--no-defaults")
            .arg(format!("--basedir={}", base.display()));
        command
    }

    /// What MySQL's and MariaDB's server have in common. Neither reads `--no-defaults` anywhere but first.
    fn peer(&self, mut command: Command, socket: &Path) -> Command {
        if let Program::Mariadbd(_) = self.program {
            command.arg("--no-defaults");
        }
        command
            .args(["--user=root", "--innodb-buffer-pool-size=128M", "--skip-log-bin"])
            .arg(format!("--datadir={}", self.data().display()))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--port={}", self.address.port))
            .arg(format!("--socket={}", socket.display()));
        command
    }

    /// Makes the data directory of a server that does not make its own.
    fn initialize(&self) -> Result<(), String> {
        let mut command = match &self.program {
            _ if self.data().exists() => return Ok(()),
            Program::StemDb { .. } => return Ok(()),
            Program::Mysqld(base) => {
                let mut command = self.mysqld(base);
                command.arg("--initialize-insecure");
                command
            }
            Program::Mariadbd(_) => {
                let mut command = Command::new("mariadb-install-db");
                command.args([
                    "--no-defaults",
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                ]);
                command
            }
        };
        command
            .arg("--user=root")
            .arg(format!("--datadir={}", self.data().display()));
        let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// `kill -9`: the server cannot write anything more.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGTERM.
    pub fn terminate(&self) -> Result<(), String> {
        self.signal("TERM")
    }

    /// Sends a signal: `STOP`, `CONT` ...
    pub fn signal(&self, name: &str) -> Result<(), String> {
        let child = self.child.as_ref().ok_or("the server does not run")?;
        let status = Command::new("kill")
            .args(["-s", name, &child.id().to_string()])
            .status()
            .map_err(|e| e.to_string())?;
        status.success().then_some(()).ok_or("kill failed".to_string())
    }

    /// The exit status after the end, waiting at most `patience`.
    pub fn wait(&mut self, patience: Duration) -> Result<ExitStatus, String> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(status) = self.exited()? {
                self.child = None;
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(format!("still running after {patience:?}:\n{}", self.log_tail()))
    }

    fn exited(&mut self) -> Result<Option<ExitStatus>, String> {
        match &mut self.child {
            Some(child) => child.try_wait().map_err(|e| e.to_string()),
            None => Err("the server does not run".to_string()),
        }
    }

    /// Whether the process is running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.exited(), Ok(None))
    }

    /// The process's current memory.
    pub fn resident_bytes(&self) -> Result<u64, String> {
        self.memory_of("VmRSS:")
    }

    /// The largest memory of the process so far.
    pub fn peak_bytes(&self) -> Result<u64, String> {
        self.memory_of("VmHWM:")
    }

    /// A value of `/proc/PID/status`.
    fn memory_of(&self, name: &str) -> Result<u64, String> {
        let child = self.child.as_ref().ok_or("the server does not run")?;
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).map_err(|e| e.to_string())?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.map(|kb| kb * 1024).ok_or_else(|| format!("no {name}"))
    }

    /// How many files and sockets the process has open.
    pub fn open_files(&self) -> Result<usize, String> {
        let child = self.child.as_ref().ok_or("the server does not run")?;
        let open = fs::read_dir(format!("/proc/{}/fd", child.id())).map_err(|e| e.to_string())?;
        Ok(open.count())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn log(&self) -> PathBuf {
        self.path("log")
    }

    /// The end of its log, for the report of a failure.
    pub fn log_tail(&self) -> String {
        let text = fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// 0 for MySQL, which has none.
    pub fn status_port(&self) -> u16 {
        self.address.status_port.unwrap_or_default()
    }

    /// `GET path` on the status port: status code and body.
    pub fn get(&self, path: &str) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.status_port()))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        io::Write::write_all(
            &mut stream,
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let code = answer.split(' ').nth(1).and_then(|c| c.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((code, body.to_string()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port without a listener. If another program takes it first, the server's start fails and so does the
/// test.
pub fn free_port() -> Result<u16, String> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| format!("no free port: {e}"))
}
