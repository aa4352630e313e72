//! What nodes ask of each other, through the store: no node opens a port for another one.
//!
//! A letter is put under its receiver's keys, whose version the receiver watches; it answers with a letter of its own and
//! throws the question away in the same transaction. Who asks waits for a limited time, and then takes back what was not
//! answered. Nothing is locked: letters have keys of their own, and a version is whatever was not there before, so a node
//! that is killed while it writes is in nobody's way. What it has not read goes with its record in the store.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Durability, Interrupt, Reader};
use parking_lot::{Condvar, Mutex, RwLock};
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use crate::Catalog;
use crate::information_schema::ProcessRow;
use crate::meta::record::{decode, encode};
use crate::meta::{Meta, keys};

/// How often a waiting asker looks at its interrupt.
const GLANCE: Duration = Duration::from_millis(50);
/// A longer letter is not sent: a cluster takes values of 6 MiB.
const LETTER_BYTES_MAX: usize = 4 << 20;

/// Who asks, with what rights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asker {
    pub user: String,
    /// Whether the account may see and kill the connections of others.
    pub administers: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// KILL of a connection of the receiver's.
    Kill {
        asker: Asker,
        connection: u64,
        query_only: bool,
    },
    /// The receiver's connections, as far as the asker may see them.
    Processes { asker: Asker },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Killed,
    /// No connection has the number.
    Unknown,
    /// It is another user's.
    Denied,
    Processes(Vec<ProcessRow>),
    /// There is an answer, and it is longer than a letter can be.
    TooLong,
}

/// The server as the other nodes meet it. Called by the thread that follows the store, which has other things to do.
pub trait Neighbour: Send + Sync {
    fn answer(&self, question: &Question) -> Reply;
    /// The node was without a lease for so long that another has got its number ([`crate::nodes::Node::number`]).
    fn renumbered(&self, number: u32);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub to: i64,
    pub from: i64,
    /// Never used twice by one sender.
    pub number: u64,
    content: Content,
}

impl Letter {
    pub(crate) fn key(&self) -> Vec<u8> {
        keys::letter(self.to, self.from, self.number)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Content {
    Question(Question),
    /// To the question of the same number.
    Reply(Reply),
}

/// This node's part of it.
#[derive(Default)]
pub(crate) struct Mailbox {
    neighbour: RwLock<Option<Arc<dyn Neighbour>>>,
    /// Questions that somebody here waits for, by number and by the node that was asked.
    waiting: Mutex<HashMap<(u64, i64), Option<Reply>>>,
    arrived: Condvar,
}

impl Catalog {
    /// Has `neighbour` answer the questions of other nodes from here on, where there can be any.
    pub fn answer_other_nodes(&self, neighbour: Arc<dyn Neighbour>) {
        let Some(node) = self.node() else { return };
        *self.mailbox.neighbour.write() = Some(neighbour);
        let own = node.id;
        self.watch(keys::mail_version(own), move |catalog, _| catalog.read_mail(own));
    }

    /// Asks other nodes, by their ids, and waits for what they say; nothing from those that say nothing in time.
    ///
    /// # Errors
    /// Those of the store, 1317 once `interrupt` is raised.
    pub fn ask_nodes(
        &self,
        nodes: &[i64],
        question: &Question,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> Result<Vec<(i64, Reply)>> {
        let (Some(own), false) = (self.node(), nodes.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut txn = Meta::begin(self.store())?;
        let number = txn.start_ts();
        let letter = |to: i64| Letter {
            to,
            from: own.id,
            number,
            content: Content::Question(question.clone()),
        };
        let letters: Vec<Letter> = nodes.iter().copied().map(letter).collect();
        Meta::new(&mut txn).put_letters(&letters)?;
        {
            let mut waiting = self.mailbox.waiting.lock();
            waiting.extend(nodes.iter().map(|&node| ((number, node), None)));
        }
        let sent = txn.commit(Durability::Os);
        let replies = match sent {
            Ok(_) => self.wait_for_replies(number, nodes, patience, interrupt),
            Err(error) => Err(error.into()),
        };
        let silent = self.mailbox.forget(number, nodes);
        if !silent.is_empty() {
            self.take_back(silent.into_iter().map(letter));
        }
        replies
    }

    fn wait_for_replies(
        &self,
        number: u64,
        nodes: &[i64],
        patience: Duration,
        interrupt: &Interrupt,
    ) -> Result<Vec<(i64, Reply)>> {
        let end = Instant::now() + patience;
        let mut waiting = self.mailbox.waiting.lock();
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
            let glance = (now + GLANCE).min(end);
            self.mailbox.arrived.wait_until(&mut waiting, glance);
        }
    }

    /// Throws away questions that nobody has answered in time.
    fn take_back(&self, letters: impl Iterator<Item = Letter>) {
        let taken = || -> Result<()> {
            let mut txn = Meta::begin(self.store())?;
            for letter in letters {
                txn.delete(letter.key())?;
            }
            txn.commit(Durability::Os)?;
            Ok(())
        };
        if let Err(error) = taken() {
            tracing::debug!(%error, "a question to another node stays in the store");
        }
    }

    /// Reads what has come for this node: answers questions, hands replies to who waits for them.
    fn read_mail(&self, own: i64) -> Result<()> {
        let mut found: Vec<(Vec<u8>, Option<Letter>)> = Vec::new();
        self.store()
            .latest()
            .scan(&keys::mail(own), false, &mut |key, value| {
                let letter = decode(value, "letter").inspect_err(|error| {
                    // Of a later version of this program, maybe. Its sender waits in vain, but nobody behind it does.
                    tracing::warn!(%error, "a letter of another node is thrown away");
                });
                found.push((key.to_vec(), letter.ok()));
                ControlFlow::Continue(())
            })?;
        if found.is_empty() {
            return Ok(());
        }
        let replies: Vec<Letter> = found
            .iter()
            .filter_map(|(_, letter)| self.take(own, letter.as_ref()?))
            .collect();
        let mut txn = Meta::begin(self.store())?;
        for (key, _) in found {
            txn.delete(key)?;
        }
        Meta::new(&mut txn).put_letters(&replies)?;
        txn.commit(Durability::Os)?;
        Ok(())
    }

    /// Deals with a letter; the reply to it.
    fn take(&self, own: i64, letter: &Letter) -> Option<Letter> {
        let question = match &letter.content {
            Content::Question(question) => question,
            Content::Reply(reply) => {
                self.mailbox.deliver(letter.number, letter.from, reply.clone());
                return None;
            }
        };
        let neighbour = self.mailbox.neighbour.read().clone()?;
        let reply = |reply| Letter {
            to: letter.from,
            from: own,
            number: letter.number,
            content: Content::Reply(reply),
        };
        let answered = reply(neighbour.answer(question));
        let is_short = encode(&answered).is_ok_and(|bytes| bytes.len() <= LETTER_BYTES_MAX);
        Some(if is_short { answered } else { reply(Reply::TooLong) })
    }

    /// This node is known by another number from here on.
    pub(crate) fn tell_number(&self, number: u32) {
        if let Some(neighbour) = self.mailbox.neighbour.read().clone() {
            neighbour.renumbered(number);
        }
    }
}

impl Mailbox {
    fn deliver(&self, number: u64, from: i64, reply: Reply) {
        // Who has stopped waiting gets nothing.
        if let Some(slot) = self.waiting.lock().get_mut(&(number, from)) {
            *slot = Some(reply);
            self.arrived.notify_all();
        }
    }

    /// Ends a wait; which nodes have not replied.
    fn forget(&self, number: u64, nodes: &[i64]) -> Vec<i64> {
        let mut waiting = self.waiting.lock();
        let is_silent = |node: &&i64| matches!(waiting.remove(&(number, **node)), Some(None));
        nodes.iter().filter(is_silent).copied().collect()
    }
}

#[cfg(test)]
mod tests;
