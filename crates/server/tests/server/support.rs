//! A server over fake sessions that understand a few words:
//!
//! | text | reply |
//! |---|---|
//! | `ECHO text` | the text |
//! | `LENGTH text` | the text's length |
//! | `REPEAT n` | `n` times `x` |
//! | `WHO` | user, account, host, compression, TLS version |
//! | `SLEEP` | waits to be interrupted, then error 1317 |
//! | `BEGIN`, `COMMIT` | opens and closes a transaction |
//! | `KILL id` | hangs up that connection |
//! | `TIMEOUT s` | `wait_timeout` of so many seconds |
//! | `PANIC` | panics |
//! | `PATIENCE s` | `net_write_timeout` of so many seconds |
//! | `FAILED` | the errors that [`Session::pending_reply_failed`] was called with |
//! | `DEFER name [bytes]` | OK with the name as its text, made longer; pending until [`Fake::complete`] |
//! | `EARLY outcome` | the same, completed before the session detaches; the outcome is `well` or an error |
//! | `DETACHED outcome` | the same, completed after the session has detached and before the reply is whole; `panic`: with a panic |
//! | `LAST name` | as `DEFER`, and the session closes the connection |
//! | `DEFECT name`, `CRASH name` | panics instead of detaching, and after it |
//!
//! The reply to a prepared statement is its parameters.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use mysql::{Conn, OptsBuilder};
use server::{
    Account, Figures, Limits, Server, ServerConfig, ServerHandle, Session, Sessions, Settings, StartError,
    TlsRequirement,
};
use types::{Error, SqlType, Value};
use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, Plugin};
use wire::command::{BoundType, LongData, ParameterContext};
use wire::prepare_ok::PrepareOk;
use wire::row::{Format, RowEncoder};
use wire::status;
use wire::writer::Writer;
use wire::{ClientInfo, ColumnDefinition, Command, Flow, HangUp, PacketSink, PendingReply};

pub fn account(user: &str, host: &str, plugin: &str, password: &str) -> Account {
    let auth_string = Plugin::named(plugin)
        .unwrap()
        .stored(password.as_bytes())
        .unwrap();
    Account {
        user: user.to_owned(),
        host: host.to_owned(),
        plugin: plugin.to_owned(),
        auth_string,
        locked: false,
        tls: TlsRequirement::None,
        administrator: user == "root",
        second_auth_string: String::new(),
        tracking: None,
        expired: false,
    }
}

pub struct Fake {
    pub accounts: Mutex<Vec<Account>>,
    pub settings: Mutex<Settings>,
    pub sessions: Mutex<HashMap<u64, Arc<dyn HangUp>>>,
    pub interrupted: AtomicBool,
    pub connections: AtomicU64,
    /// Pending replies, from when they have been submitted.
    pub pending: Mutex<HashMap<String, Arc<dyn PendingReply>>>,
    /// How often a reply was completed after its session had detached.
    pub detached: AtomicU64,
}

impl Fake {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            accounts: Mutex::new(vec![
                account("root", "localhost", CACHING_SHA2_PASSWORD, ""),
                account("sha2", "%", CACHING_SHA2_PASSWORD, "secret"),
                account("native", "%", MYSQL_NATIVE_PASSWORD, "secret"),
                Account {
                    locked: true,
                    ..account("locked", "%", MYSQL_NATIVE_PASSWORD, "secret")
                },
                Account {
                    tls: TlsRequirement::Tls,
                    ..account("tls", "%", MYSQL_NATIVE_PASSWORD, "secret")
                },
                account("far", "192.0.2.%", MYSQL_NATIVE_PASSWORD, "secret"),
            ]),
            settings: Mutex::new(Settings::default()),
            sessions: Mutex::new(HashMap::new()),
            interrupted: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            pending: Mutex::new(HashMap::new()),
            detached: AtomicU64::new(0),
        })
    }

    pub fn is_pending(&self, name: &str) -> bool {
        self.pending.lock().unwrap().contains_key(name)
    }

    /// Completes a pending reply.
    pub fn complete(&self, name: &str, outcome: types::Result<()>) {
        let reply = self.pending.lock().unwrap().remove(name);
        reply.unwrap().complete(outcome, &mut || {
            self.detached.fetch_add(1, Ordering::SeqCst);
        });
    }

    /// The same, with a callback that panics; the caller survives that.
    pub fn complete_with_panic(&self, name: &str) {
        let reply = self.pending.lock().unwrap().remove(name).unwrap();
        let release = || reply.complete(Ok(()), &mut || panic!("on purpose"));
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(release));
    }
}

/// The error of a reply that fails.
pub fn disk_full() -> Error {
    Error::new(1021, "Disk full")
}

/// [`Sessions`] needs an owned handle of itself to give to sessions.
pub struct Shared(pub Arc<Fake>);

impl Sessions for Shared {
    fn accounts(&self, user: &str) -> Vec<Account> {
        let accounts = self.0.accounts.lock().unwrap();
        accounts
            .iter()
            .filter(|a| a.user == user || a.user.is_empty())
            .cloned()
            .collect()
    }

    fn accounts_without_password(&self) -> Vec<String> {
        let accounts = self.0.accounts.lock().unwrap();
        accounts
            .iter()
            .filter(|a| a.auth_string.is_empty())
            .map(Account::quoted)
            .collect()
    }

    fn settings(&self) -> Settings {
        self.0.settings.lock().unwrap().clone()
    }

    fn next_connection_id(&self) -> u64 {
        self.0.connections.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn open(
        &self,
        connection_id: u64,
        client: ClientInfo,
        hang_up: Arc<dyn HangUp>,
    ) -> types::Result<Box<dyn Session>> {
        check_database(&client)?;
        self.0.sessions.lock().unwrap().insert(connection_id, hang_up);
        Ok(Box::new(FakeSession {
            fake: self.0.clone(),
            id: connection_id,
            client,
            in_transaction: false,
            wait_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            failed_commits: Vec::new(),
            submitting: Mutex::new(None),
            interrupt: Arc::new(AtomicBool::new(false)),
            statements: Vec::new(),
        }))
    }
}

fn check_database(client: &ClientInfo) -> types::Result<()> {
    match &client.database {
        Some(name) if name == "missing" => Err(Error::new(1049, "Unknown database 'missing'")),
        _ => Ok(()),
    }
}

struct Prepared {
    parameters: usize,
    bound: Vec<BoundType>,
    long_data: LongData,
}

struct FakeSession {
    fake: Arc<Fake>,
    id: u64,
    client: ClientInfo,
    in_transaction: bool,
    wait_timeout: Duration,
    write_timeout: Duration,
    failed_commits: Vec<String>,
    /// The reply that is about to be submitted.
    submitting: Mutex<Option<(String, Arc<dyn PendingReply>)>>,
    interrupt: Arc<AtomicBool>,
    statements: Vec<Prepared>,
}

impl Drop for FakeSession {
    fn drop(&mut self) {
        self.fake.sessions.lock().unwrap().remove(&self.id);
    }
}

impl Session for FakeSession {
    fn handle(&mut self, command: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        let command = match Command::decode(command, self.client.capabilities) {
            Ok(command) => command,
            Err(error) => return self.error(&error, out),
        };
        match command {
            Command::Quit => Ok(Flow::Close),
            Command::Query(query) => {
                let text = String::from_utf8_lossy(query.text).into_owned();
                self.query(&text, out)
            }
            Command::StmtPrepare(text) => self.prepare(text, out),
            Command::StmtExecute(execute) => self.execute(execute, out),
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => {
                let slots = &mut self.statements[statement_id as usize].long_data;
                slots.resize(slots.len().max(usize::from(parameter) + 1), None);
                slots[usize::from(parameter)]
                    .get_or_insert_with(Vec::new)
                    .extend_from_slice(data);
                Ok(Flow::Continue)
            }
            Command::StmtClose(_) => Ok(Flow::Continue),
            _ => self.ok(out),
        }
    }

    fn pending_reply_failed(&mut self, error: &Error) {
        self.failed_commits.push(error.message.clone());
    }

    fn change_user(&mut self, client: ClientInfo) -> types::Result<()> {
        check_database(&client)?;
        self.client = client;
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync> {
        let interrupt = self.interrupt.clone();
        Arc::new(move || interrupt.store(true, Ordering::SeqCst))
    }

    /// Called after every command, when its reply has been sent or submitted.
    fn limits(&self) -> Limits {
        let left = self.submitting.lock().unwrap().take();
        self.fake.pending.lock().unwrap().extend(left);
        Limits {
            wait_timeout: self.wait_timeout,
            net_write_timeout: self.write_timeout,
            ..Limits::default()
        }
    }
}

impl FakeSession {
    fn query(&mut self, text: &str, out: &mut dyn PacketSink) -> io::Result<Flow> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let answer = match word {
            "ECHO" => rest.to_owned(),
            "LENGTH" => rest.len().to_string(),
            "REPEAT" => "x".repeat(rest.parse().unwrap()),
            "WHO" => format!(
                "{} {} {} {} {}",
                self.client.user,
                self.client.account,
                self.client.host,
                self.client.compression.unwrap_or("plain"),
                self.client
                    .tls
                    .as_ref()
                    .map_or("clear", |tls| tls.version.as_str()),
            ),
            "SLEEP" => return self.sleep(out),
            "BEGIN" | "COMMIT" => {
                self.in_transaction = word == "BEGIN";
                return self.ok(out);
            }
            "KILL" => {
                let target = self
                    .fake
                    .sessions
                    .lock()
                    .unwrap()
                    .get(&rest.parse().unwrap())
                    .cloned();
                target.unwrap().hang_up();
                return self.ok(out);
            }
            "TIMEOUT" => {
                self.wait_timeout = Duration::from_secs(rest.parse().unwrap());
                return self.ok(out);
            }
            "PATIENCE" => {
                self.write_timeout = Duration::from_secs(rest.parse().unwrap());
                return self.ok(out);
            }
            "FAILED" => self.failed_commits.join(", "),
            "DEFER" | "EARLY" | "DETACHED" | "LAST" | "DEFECT" | "CRASH" => {
                return self.deferred(word, rest, out);
            }
            "PANIC" => {
                let _ = out.send_with(&mut |out| {
                    out.push(1);
                    panic!("on purpose");
                });
                return self.ok(out);
            }
            _ => return self.error(&Error::new(1064, format!("no such word: {word}")), out),
        };
        let types = [SqlType::varchar(answer.len() as u32, types::Collation::DEFAULT)];
        self.result(&types, &[Value::String(answer)], Format::Text, out)
    }

    /// A pending reply, if the connection can have one.
    fn deferred(&mut self, word: &str, rest: &str, out: &mut dyn PacketSink) -> io::Result<Flow> {
        let (name, bytes) = rest.split_once(' ').unwrap_or((rest, "0"));
        let Some(reply) = out.defer_reply() else {
            return self.ok_saying("not deferred", out);
        };
        let announce = || {
            let reply = (name.to_owned(), reply.clone());
            self.fake.pending.lock().unwrap().extend([reply]);
        };
        // Another thread learns the outcome.
        let complete = || {
            announce();
            if name == "panic" {
                return self.fake.complete_with_panic(name);
            }
            let outcome = if name == "well" { Ok(()) } else { Err(disk_full()) };
            std::thread::scope(|scope| scope.spawn(|| self.fake.complete(name, outcome)).join().unwrap());
        };
        assert!(word != "DEFECT", "on purpose");
        if word == "EARLY" {
            complete();
        }
        match reply.detach() {
            Some(Err(error)) => return self.error(&error, out),
            Some(Ok(())) => assert_eq!(word, "EARLY"),
            None if word == "DETACHED" => complete(),
            None if word == "CRASH" => {
                announce();
                panic!("on purpose");
            }
            None => *self.submitting.lock().unwrap() = Some((name.to_owned(), reply)),
        }
        self.ok_saying(&format!("{name}{}", "x".repeat(bytes.parse().unwrap())), out)?;
        Ok(if word == "LAST" {
            Flow::Close
        } else {
            Flow::Continue
        })
    }

    fn sleep(&mut self, out: &mut dyn PacketSink) -> io::Result<Flow> {
        while !self.interrupt.swap(false, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.fake.interrupted.store(true, Ordering::SeqCst);
        self.error(&Error::new(1317, "Query execution was interrupted"), out)
    }

    fn prepare(&mut self, text: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        let parameters = text.iter().filter(|b| **b == b'?').count();
        let statement_id = self.statements.len() as u32;
        self.statements.push(Prepared {
            parameters,
            bound: Vec::new(),
            long_data: Vec::new(),
        });
        let count = parameters as u16;
        let ok = PrepareOk {
            statement_id,
            columns: count,
            parameters: count,
            warnings: 0,
        };
        out.send_with(&mut |out| ok.encode(out))?;
        let types = vec![SqlType::varchar(10, types::Collation::DEFAULT); parameters];
        self.definitions(&types, out)?;
        self.definitions(&types, out)?;
        Ok(Flow::Continue)
    }

    fn execute(
        &mut self,
        execute: wire::command::StmtExecute<'_>,
        out: &mut dyn PacketSink,
    ) -> io::Result<Flow> {
        let context = ParameterContext {
            capabilities: self.client.capabilities,
            ..ParameterContext::default()
        };
        let prepared = &mut self.statements[execute.statement_id as usize];
        let execution = execute.parameters(
            prepared.parameters,
            &mut prepared.bound,
            &mut prepared.long_data,
            &context,
        );
        match execution {
            Ok(execution) => self.result(&execution.types, &execution.values, Format::Binary, out),
            Err(error) => self.error(&error, out),
        }
    }

    fn definitions(&self, types: &[SqlType], out: &mut dyn PacketSink) -> io::Result<()> {
        for ty in types {
            let definition = ColumnDefinition::of_expression("c", ty, true, Some(types::Collation::DEFAULT));
            out.send_with(&mut |out| definition.encode(wire::charset::Transcoder::of_names(None), out))?;
        }
        if self.client.capabilities & wire::capability::DEPRECATE_EOF == 0 && !types.is_empty() {
            out.send_with(&mut |out| wire::eof::Eof::default().encode(out))?;
        }
        Ok(())
    }

    fn result(
        &self,
        types: &[SqlType],
        row: &[Value],
        format: Format,
        out: &mut dyn PacketSink,
    ) -> io::Result<Flow> {
        out.send_with(&mut |out| out.put_lenenc_int(types.len() as u64))?;
        self.definitions(types, out)?;
        let encoder = RowEncoder::new(format, types, None);
        out.send_with(&mut |out| encoder.values(row, out))?;
        let end = wire::ok::Ok {
            status: status::AUTOCOMMIT,
            ..Default::default()
        };
        out.send_with(&mut |out| end.encode_result_end(self.client.capabilities, out))?;
        Ok(Flow::Continue)
    }

    fn ok(&self, out: &mut dyn PacketSink) -> io::Result<Flow> {
        self.ok_saying("", out)
    }

    fn ok_saying(&self, info: &str, out: &mut dyn PacketSink) -> io::Result<Flow> {
        let ok = wire::ok::Ok {
            status: status::AUTOCOMMIT,
            info,
            ..Default::default()
        };
        out.send_with(&mut |out| ok.encode(self.client.capabilities, out))?;
        Ok(Flow::Continue)
    }

    fn error(&self, error: &Error, out: &mut dyn PacketSink) -> io::Result<Flow> {
        out.send_with(&mut |out| wire::err::encode(error, self.client.capabilities, None, out))?;
        Ok(Flow::Continue)
    }
}

/// A key that is created faster than the server's own, and only once.
fn rsa_key() -> &'static str {
    use rsa::pkcs8::{EncodePrivateKey, LineEnding};

    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| {
        let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 1024).unwrap();
        key.to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
    })
}

/// A running server, on a free port.
pub struct TestServer {
    pub figures: Figures,
    pub fake: Arc<Fake>,
    pub handle: ServerHandle,
    pub directory: tempfile::TempDir,
}

impl TestServer {
    pub fn start() -> Self {
        Self::start_with(|_| {}).unwrap()
    }

    pub fn start_with(change: impl FnOnce(&mut ServerConfig)) -> Result<Self, StartError> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("private_key.pem"), rsa_key()).unwrap();
        let mut config = ServerConfig {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            socket: Some(directory.path().join("stemdb.sock")),
            status: Some("127.0.0.1:0".parse().unwrap()),
            data_directory: Some(directory.path().to_owned()),
            ..ServerConfig::default()
        };
        change(&mut config);
        let fake = Fake::new();
        let sessions = Arc::new(Shared(fake.clone()));
        let figures = Figures::default();
        let handle = Server::start(config, sessions, figures.clone())?;
        Ok(Self {
            fake,
            figures,
            handle,
            directory,
        })
    }

    pub fn port(&self) -> u16 {
        self.handle.addresses()[0].port()
    }

    pub fn options(&self, user: &str, password: &str) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port())
            .user(Some(user))
            .pass(Some(password))
            .prefer_socket(false)
            .max_allowed_packet(Some(64 * 1024 * 1024))
    }

    pub fn connect(&self, user: &str, password: &str) -> mysql::Result<Conn> {
        Conn::new(self.options(user, password))
    }

    pub fn root(&self) -> Conn {
        self.connect("root", "").unwrap()
    }

    pub fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.fake.settings.lock().unwrap());
    }
}

/// The number and the message of a server's error.
pub fn mysql_error<T>(result: mysql::Result<T>) -> (u16, String) {
    match result {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.message),
        Err(error) => panic!("not an error of the server's: {error}"),
        Ok(_) => panic!("no error"),
    }
}

/// Waits until a condition holds; fails the test after a minute.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came to be that {what}");
}
