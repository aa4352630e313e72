//! Requests to other nodes and their replies, sent through the store: no node opens a port for another one.
//!
//! A message is stored under a key of its receiver, with a version key that the receiver watches. The
//! receiver stores its reply as a message to the sender, and deletes the request in the same transaction. The
//! sender waits for a limited time and then deletes the requests without a reply. Nothing is locked: each
//! message has a key of its own, and a version is any value that was not there before. So a node that crashes
//! while it writes blocks no other. A node's unread messages are deleted with its record.
//!
//! The names that serde writes are those of the first release, so that nodes of different releases understand
//! each other.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Durability, Interrupt, Reader, Store};
use parking_lot::{Condvar, Mutex, RwLock};
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use crate::meta::record::{Record, decode, encode};
use crate::meta::{Meta, keys};

/// How often a sender that waits checks for an interrupt.
const INTERRUPT_CHECK: Duration = Duration::from_millis(50);
/// A longer message is not sent: a cluster takes values of up to 6 MiB.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// The user for whom a request is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requester {
    pub user: String,
    /// Whether the account may see and kill the connections of other users.
    pub administers: bool,
    /// Whether the account has SYSTEM_USER, without which it cannot kill the connections of accounts that have it.
    #[serde(default)]
    pub is_system_user: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// KILL of a connection of the receiver.
    Kill {
        #[serde(rename = "asker")]
        requester: Requester,
        connection: u64,
        query_only: bool,
    },
    /// The receiver's connections that the requester may see.
    Processes {
        #[serde(rename = "asker")]
        requester: Requester,
    },
    /// Accounts have been changed: the receiver is to read them.
    ReadAccounts,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The receiver uses the accounts as they were stored when it was asked.
    AccountsRead,
    Killed,
    /// No connection has the number.
    Unknown,
    /// The connection belongs to another user.
    Denied,
    Processes(Vec<ProcessRow>),
    /// The reply is larger than a message can be.
    TooLong,
}

/// A connection, as SHOW PROCESSLIST shows it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessRow {
    pub id: u64,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: String,
    /// Seconds in the current state.
    pub time_s: i64,
    pub state: Option<String>,
    /// The statement.
    pub info: Option<String>,
}

/// The server's answers to other nodes. It is called on the thread that follows the store, so it must not
/// block.
pub trait Responder: Send + Sync {
    fn answer(&self, request: &Request) -> Reply;
    /// The node has another number now: it was without a lease for so long that another node has got the old
    /// one ([`crate::node::Node::number`]).
    fn renumbered(&self, number: u32);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Message {
    to: i64,
    from: i64,
    /// A sender never uses a number twice. A reply has the number of its request.
    number: u64,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Content {
    #[serde(rename = "Question")]
    Request(Request),
    Reply(Reply),
}

impl Record for Message {}

impl Message {
    fn key(&self) -> Vec<u8> {
        keys::message(self.to, self.from, self.number)
    }
}

/// Stores messages to those receivers that exist.
fn send(meta: &mut Meta<'_>, messages: &[Message]) -> Result<()> {
    for message in messages {
        let version = keys::message_version(message.to);
        if meta.reader().get(&version)?.is_some() {
            meta.put(message.key(), message)?;
            meta.put_new_version(version)?;
        }
    }
    Ok(())
}

/// The messages from and to this node.
pub struct Messages {
    store: Store,
    /// This node's id.
    own: i64,
    responder: RwLock<Option<Arc<dyn Responder>>>,
    /// Requests that wait for replies, by number and receiver.
    waiting: Mutex<HashMap<(u64, i64), Option<Reply>>>,
    arrived: Condvar,
}

impl Messages {
    pub(crate) fn new(store: Store, own: i64) -> Self {
        Self {
            store,
            own,
            responder: RwLock::default(),
            waiting: Mutex::default(),
            arrived: Condvar::new(),
        }
    }

    pub(crate) fn set_responder(&self, responder: Arc<dyn Responder>) {
        *self.responder.write() = Some(responder);
    }

    pub(crate) fn renumbered(&self, number: u32) {
        if let Some(responder) = self.responder.read().clone() {
            responder.renumbered(number);
        }
    }

    /// Sends a request to nodes, by their ids, and waits at most `timeout` for the replies. Nodes that do not
    /// reply in time are not in the result.
    ///
    /// # Errors
    /// Those of the store, 1317 once `interrupt` is raised.
    pub fn request(
        &self,
        nodes: &[i64],
        request: &Request,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<Vec<(i64, Reply)>> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let mut txn = Meta::begin(&self.store)?;
        let number = txn.start_ts();
        let message = |to: i64| Message {
            to,
            from: self.own,
            number,
            content: Content::Request(request.clone()),
        };
        let messages: Vec<Message> = nodes.iter().copied().map(message).collect();
        send(&mut Meta::new(&mut txn), &messages)?;
        {
            let mut waiting = self.waiting.lock();
            waiting.extend(nodes.iter().map(|&node| ((number, node), None)));
        }
        let replies = match txn.commit(Durability::Os) {
            Ok(_) => self.wait_for_replies(number, nodes, timeout, interrupt),
            Err(error) => Err(error.into()),
        };
        let silent = self.forget(number, nodes);
        if !silent.is_empty() {
            self.delete_unanswered(silent.into_iter().map(message));
        }
        replies
    }

    fn wait_for_replies(
        &self,
        number: u64,
        nodes: &[i64],
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<Vec<(i64, Reply)>> {
        let end = Instant::now() + timeout;
        let mut waiting = self.waiting.lock();
        loop {
            let reply_of = |&node: &i64| Some((node, waiting.get(&(number, node))?.clone()?));
            let replies: Vec<(i64, Reply)> = nodes.iter().filter_map(reply_of).collect();
            let now = Instant::now();
            if replies.len() == nodes.len() || now >= end {
                return Ok(replies);
            }
            if interrupt.is_raised() {
                return Err(Error::new(
                    errno::ER_QUERY_INTERRUPTED,
                    "Query execution was interrupted",
                ));
            }
            let next_check = (now + INTERRUPT_CHECK).min(end);
            self.arrived.wait_until(&mut waiting, next_check);
        }
    }

    fn delete_unanswered(&self, messages: impl Iterator<Item = Message>) {
        let deleted = || -> Result<()> {
            let mut txn = Meta::begin(&self.store)?;
            for message in messages {
                txn.delete(message.key())?;
            }
            txn.commit(Durability::Os)?;
            Ok(())
        };
        if let Err(error) = deleted() {
            tracing::debug!(%error, "a request to another node stays in the store");
        }
    }

    /// Reads the messages to this node: answers requests, and gives replies to the threads that wait for
    /// them.
    pub(crate) fn receive(&self) -> Result<()> {
        let mut found: Vec<(Vec<u8>, Option<Message>)> = Vec::new();
        self.store
            .latest()
            .scan(&keys::messages(self.own), false, &mut |key, value| {
                let message = decode(value, "message").inspect_err(|error| {
                    // Perhaps from a later release. Its sender gets no reply, but the messages after it are
                    // dealt with.
                    tracing::warn!(%error, "a message of another node is discarded");
                });
                found.push((key.to_vec(), message.ok()));
                ControlFlow::Continue(())
            })?;
        if found.is_empty() {
            return Ok(());
        }
        let replies: Vec<Message> = found
            .iter()
            .filter_map(|(_, message)| self.process(message.as_ref()?))
            .collect();
        let mut txn = Meta::begin(&self.store)?;
        for (key, _) in found {
            txn.delete(key)?;
        }
        send(&mut Meta::new(&mut txn), &replies)?;
        txn.commit(Durability::Os)?;
        Ok(())
    }

    /// Deals with one message; returns the reply to a request.
    fn process(&self, message: &Message) -> Option<Message> {
        let request = match &message.content {
            Content::Request(request) => request,
            Content::Reply(reply) => {
                self.deliver(message.number, message.from, reply.clone());
                return None;
            }
        };
        let responder = self.responder.read().clone()?;
        let reply = |reply| Message {
            to: message.from,
            from: self.own,
            number: message.number,
            content: Content::Reply(reply),
        };
        let answer = reply(responder.answer(request));
        let fits = encode(&answer).is_ok_and(|bytes| bytes.len() <= MESSAGE_BYTES_MAX);
        Some(if fits { answer } else { reply(Reply::TooLong) })
    }

    fn deliver(&self, number: u64, from: i64, reply: Reply) {
        // No entry: the sender no longer waits.
        if let Some(entry) = self.waiting.lock().get_mut(&(number, from)) {
            *entry = Some(reply);
            self.arrived.notify_all();
        }
    }

    /// Ends a wait; returns the nodes that have not replied.
    fn forget(&self, number: u64, nodes: &[i64]) -> Vec<i64> {
        let mut waiting = self.waiting.lock();
        let is_silent = |node: &&i64| matches!(waiting.remove(&(number, **node)), Some(None));
        nodes.iter().filter(is_silent).copied().collect()
    }
}

#[cfg(test)]
mod tests;
