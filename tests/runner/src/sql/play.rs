//! Runs one script over its connections and returns each block's result.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use super::answer;
use super::connection::Connection;
use super::script::{Action, Block, Login, MAIN, Options, Script};

/// A statement counts as waiting if it has no result this long after the server has started it.
const WAITING: Duration = Duration::from_millis(250);

/// The packet limit of an account that the script logs in to.
const PACKET_MAX: usize = 16 << 20;

/// The server notices within this time that a client has gone.
const NOTICED_MAX: Duration = Duration::from_secs(60);

/// How often to check whether the server has started the statement.
const ARRIVAL_LOOK: Duration = Duration::from_millis(5);

/// Which executor runs SELECTs; the results must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Route {
    /// The planner's choice; also every server that is not StemDB.
    Planner,
    Transactional,
    Analytical,
}

impl Route {
    /// The statement that selects it.
    pub fn setup(self) -> Option<&'static str> {
        match self {
            Self::Planner => None,
            Self::Transactional => Some("SET stemdb_route = 'transactional'"),
            Self::Analytical => Some("SET stemdb_route = 'analytical', stemdb_bulk_load_bytes = 0"),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner's choice",
            Self::Transactional => "transactional",
            Self::Analytical => "analytical",
        }
    }
}

/// The servers of a script's connections.
pub struct Servers {
    /// The connection without a name.
    pub main: Opts,
    /// For connections with names: another node of the same cluster, or the same server.
    pub named: Opts,
}

impl Servers {
    pub fn one(opts: &Opts) -> Self {
        Self {
            main: opts.clone(),
            named: opts.clone(),
        }
    }
}

/// The results of a script's blocks, in their order. The script has the database `database` to itself.
pub fn play(
    script: &Script,
    servers: &Servers,
    database: &str,
    route: Route,
) -> Result<Vec<Vec<String>>, mysql::Error> {
    let mut admin = Conn::new(servers.main.clone())?;
    admin.query_drop(format!("DROP DATABASE IF EXISTS `{database}`"))?;
    admin.query_drop(format!("CREATE DATABASE `{database}`"))?;
    let mut stage = Stage {
        admin,
        watcher: Conn::new(servers.named.clone())?,
        main: within(&servers.main, database),
        named: within(&servers.named, database),
        setup: ["SET NAMES utf8mb4"]
            .into_iter()
            .chain(route.setup())
            .map(str::to_string)
            .collect(),
        connections: BTreeMap::new(),
        logins: BTreeMap::new(),
        refused: BTreeSet::new(),
    };
    let mut answers = Vec::new();
    for block in script.blocks() {
        answers.push(stage.answer(block)?);
    }
    let Stage {
        mut admin,
        connections,
        ..
    } = stage;
    drop(connections);
    admin.query_drop(format!("DROP DATABASE `{database}`"))?;
    Ok(answers)
}

fn within(opts: &Opts, database: &str) -> Opts {
    OptsBuilder::from_opts(opts.clone())
        .db_name(Some(database))
        .into()
}

struct Stage {
    admin: Conn,
    /// A connection that observes the named connections' server.
    watcher: Conn,
    main: Opts,
    named: Opts,
    setup: Vec<String>,
    connections: BTreeMap<String, Connection>,
    /// The accounts that connections log in to.
    logins: BTreeMap<String, Login>,
    /// Connections whose last login was refused. Their statements must not run as the script's own account.
    refused: BTreeSet<String>,
}

impl Stage {
    fn answer(&mut self, block: &Block) -> Result<Vec<String>, mysql::Error> {
        match &block.action {
            Action::Run { connection, sql } if !block.options.needs.is_empty() => {
                self.with_and_without(connection, sql, &block.options)
            }
            Action::Run { connection, .. } if self.refused.contains(connection) => {
                Ok(vec!["script error: the login was refused".to_string()])
            }
            Action::Run { connection, sql } => {
                let sql = self.with_ids(sql)?;
                let connection = self.connection(connection)?;
                if connection.busy {
                    return Ok(vec!["script error: still waiting".to_string()]);
                }
                connection.send(&sql, &block.options);
                Ok(connection.collect())
            }
            Action::Send {
                connection: name,
                sql,
            } => {
                let sql = self.with_ids(sql)?;
                let connection = self.connection(name)?;
                connection.send(&sql, &block.options);
                self.answer_or_waiting(name)
            }
            Action::Collect { connection } => {
                let connection = self.connection(connection)?;
                if !connection.busy {
                    return Ok(vec!["script error: nothing was sent".to_string()]);
                }
                Ok(connection.collect())
            }
            Action::Close { connection } => {
                self.close(connection)?;
                Ok(vec!["closed".to_string()])
            }
            Action::Login { connection, login } => {
                // The previous connection with this name ends first.
                self.close(connection)?;
                self.refused.remove(connection);
                self.logins.insert(connection.clone(), login.clone());
                let opened = Connection::open(self.account(login), &self.setup);
                let answer = match opened {
                    Ok(opened) => {
                        self.connections.insert(connection.clone(), opened);
                        "connected".to_string()
                    }
                    Err(error) => {
                        self.refused.insert(connection.clone());
                        answer::error(&error, block.options.code_only)
                    }
                };
                Ok(vec![answer])
            }
        }
    }

    /// Runs a statement without any of the privileges that it needs, without each of them, and with all. Each
    /// time on a new connection, because MySQL checks some privileges when a connection starts.
    fn with_and_without(
        &mut self,
        connection: &str,
        sql: &str,
        options: &Options,
    ) -> Result<Vec<String>, mysql::Error> {
        let Some(login) = self.logins.get(connection).cloned() else {
            return Ok(vec![
                "script error: .needs is for connections that log in".to_string(),
            ]);
        };
        self.connections.remove(connection);
        let needs = &options.needs;
        let mut cases = vec![("nothing".to_string(), Vec::new())];
        if needs.len() > 1 {
            cases.extend(needs.iter().map(|one| {
                let others = needs.iter().filter(|other| *other != one).collect();
                (format!("without {one}"), others)
            }));
        }
        cases.push(("all".to_string(), needs.iter().collect()));
        let mut lines = Vec::new();
        for (case, granted) in cases {
            let user = &login.user;
            self.admin
                .query_drop(format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {user}"))?;
            for privileges in granted {
                let (privileges, option) = match privileges.strip_suffix(" WITH GRANT OPTION") {
                    Some(privileges) => (privileges, " WITH GRANT OPTION"),
                    None => (privileges.as_str(), ""),
                };
                let grant = format!("GRANT {privileges} TO {user}{option}");
                if let Err(error) = self.admin.query_drop(&grant) {
                    lines.push(format!(
                        "{case}: {grant}: {}",
                        answer::error(&error, options.code_only)
                    ));
                }
            }
            let mut opened = Connection::open(self.account(&login), &self.setup)?;
            opened.send(sql, options);
            lines.extend(opened.collect().iter().map(|line| format!("{case}: {line}")));
        }
        Ok(lines)
    }

    fn account(&self, login: &Login) -> Opts {
        OptsBuilder::from_opts(self.named.clone())
            .user(Some(&login.user))
            .pass(Some(&login.password))
            .db_name(login.database.as_ref())
            // The client must send no queries of its own: an account with an expired password may not run
            // them.
            .max_allowed_packet(Some(PACKET_MAX))
            .prefer_socket(false)
            .additional_capabilities(CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS)
            .into()
    }

    /// Waits until the last statement has a result, or until the server has worked on it for a while. On a
    /// busy machine it may take long to start, and the script's next step may rely on it.
    fn answer_or_waiting(&mut self, name: &str) -> Result<Vec<String>, mysql::Error> {
        loop {
            let connection = self.connection(name)?;
            if let Some(answer) = connection.poll(ARRIVAL_LOOK) {
                return Ok(answer);
            }
            let id = connection.id;
            let watcher = match name == MAIN {
                true => &mut self.admin,
                false => &mut self.watcher,
            };
            if is_at_work(watcher, id)? {
                let waiting = || vec!["waiting".to_string()];
                return Ok(self.connection(name)?.poll(WAITING).unwrap_or_else(waiting));
            }
        }
    }

    /// Closes a connection, and waits until the server has noticed.
    fn close(&mut self, name: &str) -> Result<(), mysql::Error> {
        let Some(closed) = self.connections.remove(name) else {
            return Ok(());
        };
        let id = closed.id;
        let may_be_waiting = closed.busy;
        drop(closed);
        let since = Instant::now();
        while !may_be_waiting && is_listed(&mut self.admin, id)? && since.elapsed() < NOTICED_MAX {
            thread::sleep(ARRIVAL_LOOK);
        }
        Ok(())
    }

    fn connection(&mut self, name: &str) -> Result<&mut Connection, mysql::Error> {
        if !self.connections.contains_key(name) {
            let opts = if name == MAIN { &self.main } else { &self.named };
            let new = Connection::open(opts.clone(), &self.setup)?;
            self.connections.insert(name.to_string(), new);
        }
        self.connections
            .get_mut(name)
            .ok_or_else(mysql::Error::server_disconnected)
    }

    /// `{id:b}` is the connection id of `b`, for KILL.
    fn with_ids(&mut self, sql: &str) -> Result<String, mysql::Error> {
        let Some((before, rest)) = sql.split_once("{id:") else {
            return Ok(sql.to_string());
        };
        let (name, after) = rest.split_once('}').unwrap_or((MAIN, rest));
        let id = self.connection(name)?.id;
        Ok(format!("{before}{id}{after}"))
    }
}

fn is_listed(admin: &mut Conn, id: u32) -> Result<bool, mysql::Error> {
    let processes: Vec<mysql::Row> = admin.query("SHOW PROCESSLIST")?;
    Ok(processes
        .iter()
        .any(|process| process.get::<u32, _>("Id") == Some(id)))
}

/// Whether the server is running a statement of the connection.
fn is_at_work(admin: &mut Conn, id: u32) -> Result<bool, mysql::Error> {
    let processes: Vec<mysql::Row> = admin.query("SHOW PROCESSLIST")?;
    Ok(processes.iter().any(|process| {
        process.get::<u32, _>("Id") == Some(id)
            && process.get::<String, _>("Command").as_deref() != Some("Sleep")
    }))
}
