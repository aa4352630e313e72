//! Services between nodes that share a store: SET GLOBAL, KILL, and the list of connections.
//!
//! A server that does not share its store uses none of them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use cluster::message::{ProcessRow, Reply, Request, Requester, Responder};
use cluster::node::NodeRecord;
use cluster::settings::GlobalValue;
use functions::EvalContext;
use kv::Interrupt;
use types::{Error, Result, Value, Warning, errno};

use crate::errors;
use crate::process::node_of;
use crate::shared::Shared;
use crate::variables::Definition;
use crate::variables::values::Change;

/// How long another node may take to reply. A healthy node is many times faster.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// How many bytes of a statement are sent to other nodes.
const STATEMENT_BYTES_MAX: usize = 1 << 10;

/// This server as seen by other nodes. The reference does not keep it alive.
struct ThisNode(Weak<Shared>);

impl Responder for ThisNode {
    fn answer(&self, request: &Request) -> Reply {
        match self.0.upgrade() {
            Some(shared) => shared.answer(request),
            None => Reply::Unknown,
        }
    }

    fn renumbered(&self, number: u32) {
        let Some(shared) = self.0.upgrade() else { return };
        // Another node may have assigned these ids to its connections by now. Changes that these connections
        // made since then cannot have been committed.
        for process in shared.processes.all() {
            if node_of(process.id) != u64::from(number) {
                process.kill();
            }
        }
    }
}

impl Shared {
    /// Applies what SET PERSIST has stored, unless the configuration says otherwise.
    pub(crate) fn take_over_persisted(&self) {
        if !self.variables.boolean("persisted_globals_load") {
            return;
        }
        let persisted = match self.engine.cluster.settings().persisted() {
            Ok(persisted) => persisted,
            Err(error) => {
                tracing::warn!(%error, "persisted variables are as configured until the next start");
                return;
            }
        };
        for record in persisted {
            // Another version may have stored what this one does not have.
            let Some(definition) = crate::variables::lookup(&record.name) else {
                continue;
            };
            match self.variables.persisted(definition, record.value.as_deref()) {
                Ok(changes) => self.take_over_globals(&changes),
                Err(error) => {
                    tracing::warn!(%error, variable = record.name, "a persisted variable is not applied");
                    continue;
                }
            }
            let change = Change {
                at_us: record.at_us,
                user: record.user,
                host: record.host,
                is_persisted: true,
            };
            self.variables.note_change(definition, change);
        }
    }

    /// Joins the messages between nodes.
    pub(crate) fn join_other_nodes(self: &Arc<Self>) {
        if self.engine.cluster.node().is_none() {
            return;
        }
        if let Err(error) = self.take_over_stored_globals() {
            tracing::warn!(%error, "global variables are as configured until the store answers");
        }
        let shared = Arc::downgrade(self);
        self.engine
            .cluster
            .watch_settings(move || match shared.upgrade() {
                Some(shared) => shared.take_over_stored_globals(),
                None => Ok(()),
            });
        self.engine
            .cluster
            .answer_requests(Arc::new(ThisNode(Arc::downgrade(self))));
    }

    /// A number for a new connection.
    pub fn next_connection_id(&self) -> u64 {
        let node = self.engine.cluster.node();
        self.processes.next_id(node.map(|node| node.number))
    }

    /// SET GLOBAL on all nodes: on this one at once, on others shortly after. Returns the warnings if
    /// the value was adjusted.
    pub(crate) fn set_global(
        &self,
        definition: &'static Definition,
        value: Option<Value>,
    ) -> Result<Vec<Warning>> {
        let (changes, warnings) = self.variables.changes(definition, value)?;
        if self.engine.cluster.node().is_some() && !definition.canonical().is_of_node() {
            self.engine.cluster.settings().store(&changes)?;
            self.take_over_stored_globals()?;
        } else {
            self.take_over_globals(&changes);
        }
        Ok(warnings)
    }

    fn take_over_stored_globals(&self) -> Result<()> {
        let _turn = self.globals_turn.lock();
        self.take_over_globals(&self.engine.cluster.settings().read()?);
        Ok(())
    }

    fn take_over_globals(&self, values: &[GlobalValue]) {
        self.variables.take_over(values);
        self.globals_changed();
    }

    /// Replies to another node.
    fn answer(&self, request: &Request) -> Reply {
        match request {
            Request::Kill {
                requester,
                connection,
                query_only,
            } => match self.processes.find(*connection) {
                None => Reply::Unknown,
                Some(process) if !process.may_be_killed_by(requester) => Reply::Denied,
                Some(process) if *query_only => {
                    process.kill_query();
                    Reply::Killed
                }
                Some(process) => {
                    process.kill();
                    Reply::Killed
                }
            },
            Request::Processes { requester } => {
                Reply::Processes(self.process_rows(requester, STATEMENT_BYTES_MAX))
            }
            Request::ReadAccounts => match self.catalog.accounts.reload() {
                Ok(()) => Reply::AccountsRead,
                Err(_) => Reply::Unknown,
            },
        }
    }

    /// The connections of this server that a requester may see, with at most `text_max` bytes of each
    /// statement.
    pub(crate) fn process_rows(&self, requester: &Requester, text_max: usize) -> Vec<ProcessRow> {
        let beginning = |text: Arc<str>| text[..text.floor_char_boundary(text_max)].to_owned();
        let mut rows = Vec::new();
        for process in self.processes.all() {
            let activity = process.activity();
            if !requester.administers && activity.user != requester.user {
                continue;
            }
            rows.push(ProcessRow {
                id: process.id,
                user: activity.user,
                host: activity.host,
                database: activity.database.as_deref().map(str::to_owned),
                command: activity.command.to_owned(),
                time_s: i64::try_from(activity.since.elapsed().as_secs()).unwrap_or(i64::MAX),
                state: Some(process.state()),
                info: activity.statement.map(beginning),
            });
        }
        rows
    }

    /// The address that clients reach this server at, by its configuration.
    fn address(&self) -> String {
        let text = |name: &str| {
            let value = crate::variables::lookup(name).and_then(|d| self.variables.get(d));
            value.map(|value| value.to_string()).unwrap_or_default()
        };
        format!("{}:{}", text("bind_address"), text("port"))
    }
}

impl Shared {
    /// KILL of a connection of another server.
    pub(crate) fn kill_elsewhere(
        &self,
        requester: Requester,
        id: u64,
        query_only: bool,
        interrupt: &Arc<Interrupt>,
    ) -> Result<()> {
        let cluster = &self.engine.cluster;
        let Some(own) = cluster.node() else {
            return Err(errors::unknown_thread(id));
        };
        let nodes = cluster.live_nodes()?;
        let target = nodes
            .iter()
            .find(|node| node.id != own.id && u64::from(node.number) == node_of(id))
            .ok_or_else(|| errors::unknown_thread(id))?;
        let request = Request::Kill {
            requester,
            connection: id,
            query_only,
        };
        let replies = cluster.request(&[target.id], &request, REPLY_TIMEOUT, interrupt)?;
        match replies.into_iter().next() {
            Some((_, Reply::Killed)) => Ok(()),
            Some((_, Reply::Denied)) => Err(errors::not_owner(id)),
            Some(_) => Err(errors::unknown_thread(id)),
            None => Err(Error::new(
                errno::ER_UNKNOWN_ERROR,
                format!(
                    "{}: it is unknown whether the connection was killed; check information_schema.cluster_processlist",
                    no_reply(&target.address)
                ),
            )),
        }
    }

    /// Waits until all nodes use the accounts as changed by a statement. A node that does not reply gives a
    /// warning. It reads the accounts as soon as it reaches the store again.
    pub(crate) fn accounts_changed(&self, interrupt: &Arc<Interrupt>) -> Result<Vec<Warning>> {
        let cluster = &self.engine.cluster;
        let Some(own) = cluster.node() else {
            return Ok(Vec::new());
        };
        let mut others = cluster.live_nodes()?;
        others.retain(|node| node.id != own.id);
        let ids: Vec<i64> = others.iter().map(|node| node.id).collect();
        let replies = cluster.request(&ids, &Request::ReadAccounts, REPLY_TIMEOUT, interrupt)?;
        let has_read = |node: &NodeRecord| replies.contains(&(node.id, Reply::AccountsRead));
        let silent = others.iter().filter(|node| !has_read(node));
        let warning = |node: &NodeRecord| Warning::warning(errno::ER_UNKNOWN_ERROR, no_reply(&node.address));
        Ok(silent.map(warning).collect())
    }

    /// The connections of all nodes that a requester may see, with their nodes' addresses. For a node that
    /// does not reply there is a warning instead.
    pub(crate) fn cluster_processes(
        &self,
        requester: Requester,
        interrupt: &Arc<Interrupt>,
        eval: &EvalContext,
    ) -> Result<Vec<(String, ProcessRow)>> {
        let cluster = &self.engine.cluster;
        let own_rows = self.process_rows(&requester, usize::MAX);
        let Some(own) = cluster.node() else {
            let address = self.address();
            return Ok(own_rows.into_iter().map(|row| (address.clone(), row)).collect());
        };
        let nodes = cluster.live_nodes()?;
        let others: Vec<i64> = nodes
            .iter()
            .map(|node| node.id)
            .filter(|id| *id != own.id)
            .collect();
        let request = Request::Processes { requester };
        let replies = cluster.request(&others, &request, REPLY_TIMEOUT, interrupt)?;
        let mut replies: HashMap<i64, Reply> = replies.into_iter().collect();
        replies.insert(own.id, Reply::Processes(own_rows));
        let mut rows = Vec::new();
        for NodeRecord { id, address, .. } in nodes {
            let message = match replies.remove(&id) {
                Some(Reply::Processes(found)) => {
                    rows.extend(found.into_iter().map(|row| (address.clone(), row)));
                    continue;
                }
                Some(_) => format!("Node {address} has more connections than fit one message"),
                None => no_reply(&address),
            };
            let warning = Warning::warning(errno::ER_UNKNOWN_ERROR, message);
            eval.warnings.push(warning);
        }
        Ok(rows)
    }
}

fn no_reply(address: &str) -> String {
    format!(
        "Node {address} has not answered within {} seconds",
        REPLY_TIMEOUT.as_secs()
    )
}
