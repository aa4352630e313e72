//! Shares the process' memory out among statements and transactions.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Refused;
use crate::plan::{Part, Plan};
use crate::pool::{Pool, SHARES, Share};
use crate::pressure::{Pressure, Process};
use crate::queue::{Ask, Patience, Queue, Waiter};

/// One for a process, and it lives as long: whoever needs it has a plain reference, which costs nothing to hand on.
pub struct Broker {
    limit: usize,
    parts: Vec<Part>,
    /// What each statement may hold without asking.
    free_bytes: usize,
    /// How long a statement waits at most.
    wait_max: Duration,
    pools: [Pool; SHARES.len()],
    pressure: Pressure,
    queue: Mutex<Queue>,
    /// How many are in the queue, for who does not want to lock it.
    waiting: AtomicUsize,
    waits: AtomicU64,
    wait_us: AtomicU64,
    refused: AtomicU64,
}

/// Below it, nobody looks what the process really has.
const LARGE_STEP_BYTES: usize = 4 << 20;

impl Broker {
    /// Kept until the process ends.
    ///
    /// # Errors
    /// For a person at a terminal: the fixed parts leave statements too little.
    pub fn start(plan: &Plan) -> Result<&'static Self, String> {
        let statements = plan.statements_bytes()?;
        let (small, kept) = (statements / 8, statements / 4);
        Ok(Box::leak(Box::new(Self::with_pools(
            plan,
            [small, kept, statements - small - kept],
        ))))
    }

    /// Refuses nothing: for tests, and for stores without a server.
    pub fn unlimited() -> &'static Self {
        static UNLIMITED: LazyLock<Broker> = LazyLock::new(|| {
            let plan = Plan {
                limit: usize::MAX,
                parts: Vec::new(),
                connections: 1,
                wait_max: Duration::ZERO,
                process: Process {
                    resident_bytes: || None,
                    purge: || (),
                },
            };
            Broker::with_pools(&plan, [usize::MAX / 4; SHARES.len()])
        });
        &UNLIMITED
    }

    fn with_pools(plan: &Plan, capacities: [usize; SHARES.len()]) -> Self {
        Self {
            limit: plan.limit,
            parts: plan.all_parts(),
            free_bytes: plan.free_bytes(),
            wait_max: plan.wait_max,
            pools: capacities.map(Pool::new),
            pressure: Pressure::new(plan.process, plan.limit),
            queue: Mutex::default(),
            waiting: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
            wait_us: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// What each statement may hold without asking, in bytes.
    pub fn free_bytes(&self) -> usize {
        self.free_bytes
    }

    /// A statement that holds more than that beyond its free bytes is a large one.
    pub fn large_bytes(&self) -> usize {
        (self.pool(Share::Small).capacity / 8).min(8 << 20)
    }

    /// The most that all holders of a share together may have, in bytes.
    pub fn capacity(&self, share: Share) -> usize {
        self.pool(share).capacity
    }

    /// Nothing yet, to be added to.
    pub fn grant(&'static self) -> Grant {
        Grant {
            broker: self,
            held: [0; SHARES.len()],
        }
    }

    /// Counts a statement that failed because it could have no more.
    pub fn count_refusal(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn pool(&self, share: Share) -> &Pool {
        &self.pools[share as usize]
    }

    fn give_back(&self, share: Share, bytes: usize) {
        self.pool(share).give_back(bytes);
        if share == Share::Large && self.waiting.load(Ordering::SeqCst) > 0 {
            self.serve(&mut self.queue.lock());
        }
    }

    fn serve(&self, queue: &mut Queue) {
        queue.serve(&mut |ask| self.take_large(ask));
        self.waiting.store(queue.len(), Ordering::SeqCst);
    }

    /// For a large statement that begins. The queue is locked, so that nobody else does the same.
    fn take_large(&self, ask: Ask) -> Option<usize> {
        let pool = self.pool(Share::Large);
        let bytes = ask.of(pool)?;
        // One is let in whatever the process has, or none ever might be.
        let is_alone = pool.used() == 0;
        ((self.pressure.has_room(bytes) || is_alone) && pool.take(bytes, 0)).then_some(bytes)
    }

    fn admit(&self, ask: Ask, patience: Option<&dyn Patience>) -> Result<usize, Refused> {
        let mut queue = self.queue.lock();
        if queue.is_empty()
            && let Some(bytes) = self.take_large(ask)
        {
            return Ok(bytes);
        }
        let Some(patience) = patience else {
            return Err(Refused::InUse);
        };
        let waiter = queue.join(ask);
        self.waiting.store(queue.len(), Ordering::SeqCst);
        // What was given back before anybody could see that there is somebody waiting.
        self.serve(&mut queue);
        drop(queue);
        self.wait(&waiter, patience)
    }

    fn wait(&self, waiter: &Arc<Waiter>, patience: &dyn Patience) -> Result<usize, Refused> {
        let started = Instant::now();
        waiter.sleep(patience, self.wait_max, &mut || {
            self.serve(&mut self.queue.lock());
        });
        self.waits.fetch_add(1, Ordering::Relaxed);
        let waited = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.wait_us.fetch_add(waited, Ordering::Relaxed);
        if let Some(bytes) = waiter.given() {
            return Ok(bytes);
        }
        let mut queue = self.queue.lock();
        if let Some(bytes) = waiter.given() {
            return Ok(bytes);
        }
        queue.leave(waiter);
        // Those behind it may be content with less.
        self.serve(&mut queue);
        let is_over = patience.left().is_some_and(|left| left.is_zero());
        Err(if is_over {
            Refused::Interrupted
        } else {
            Refused::InUse
        })
    }

    /// What there is and what of it is held.
    pub fn figures(&self) -> Figures {
        let sum = |of: &dyn Fn(&Pool) -> usize| self.pools.iter().map(of).fold(0, usize::saturating_add);
        Figures {
            limit: self.limit,
            resident: self.pressure.resident_bytes(),
            parts: self.parts.clone(),
            statements: sum(&|pool| pool.capacity),
            used: sum(&Pool::used),
            small: self.pool(Share::Small).used(),
            kept: self.pool(Share::Kept).used(),
            large: self.pool(Share::Large).used(),
            waiting: self.waiting.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            wait_us: self.wait_us.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            purges: self.pressure.purges.load(Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Broker").field(&self.figures()).finish()
    }
}

/// What there is and what of it is held, in bytes.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Of the process.
    pub limit: usize,
    /// What it really has.
    pub resident: usize,
    /// What has a fixed size.
    pub parts: Vec<Part>,
    /// What is left to statements and transactions.
    pub statements: usize,
    /// What they hold, in all and by share.
    pub used: usize,
    pub small: usize,
    pub kept: usize,
    pub large: usize,
    /// Statements that wait now.
    pub waiting: usize,
    /// Waits that have ended, and how long all of them took.
    pub waits: u64,
    pub wait_us: u64,
    /// Statements that failed because they could have no more, by their own limit or because others held it.
    pub refused: u64,
    /// How often the allocator was told to give memory back.
    pub purges: u64,
}

/// What somebody holds of the budget; goes back when it is dropped.
pub struct Grant {
    broker: &'static Broker,
    held: [usize; SHARES.len()],
}

impl Grant {
    pub fn broker(&self) -> &'static Broker {
        self.broker
    }

    /// What it holds of a share, in bytes.
    pub fn held(&self, share: Share) -> usize {
        self.held[share as usize]
    }

    /// Takes `bytes` more of a share, if they are free.
    pub fn take(&mut self, share: Share, bytes: usize) -> bool {
        self.take_leaving(share, bytes, 0)
    }

    /// [`Grant::take`] for who can do without: only if as much again, and `leave`, stays free for others, and nobody waits.
    pub fn take_if_plenty(&mut self, share: Share, bytes: usize, leave: usize) -> bool {
        let leave = leave.min(self.broker.pool(share).capacity / 2);
        self.broker.waiting.load(Ordering::Relaxed) == 0
            && self.take_leaving(share, bytes, bytes.saturating_add(leave))
    }

    fn take_leaving(&mut self, share: Share, bytes: usize, left: usize) -> bool {
        let has_room = bytes < LARGE_STEP_BYTES || self.broker.pressure.has_room(bytes);
        let taken = has_room && self.broker.pool(share).take(bytes, left);
        if taken {
            self.held[share as usize] += bytes;
        }
        taken
    }

    /// Takes of the share of large statements, and waits for it in order of arrival if `patience` is given. Who waits must
    /// hold nothing of that share; and who holds some must never wait for memory. Answers how many bytes it got.
    ///
    /// # Errors
    /// [`Refused::InUse`], [`Refused::Interrupted`].
    pub fn admit(&mut self, ask: Ask, patience: Option<&dyn Patience>) -> Result<usize, Refused> {
        let patience = patience.filter(|_| self.held(Share::Large) == 0);
        let bytes = self.broker.admit(ask, patience)?;
        self.held[Share::Large as usize] += bytes;
        Ok(bytes)
    }

    /// Gives `bytes` back.
    pub fn give_back(&mut self, share: Share, bytes: usize) {
        let held = &mut self.held[share as usize];
        let bytes = bytes.min(*held);
        *held -= bytes;
        if bytes > 0 {
            self.broker.give_back(share, bytes);
        }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        for share in SHARES {
            self.give_back(share, self.held(share));
        }
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}
