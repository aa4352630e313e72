//! The broker: distributes the process' memory among statements and transactions.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Refused;
use crate::plan::{Part, Plan};
use crate::pool::{Pool, SHARES, Share};
use crate::pressure::{Pressure, Process};
use crate::queue::{MemoryRequest, Queue, WaitControl, Waiter};

/// A process has one for its whole life, so callers hold plain references.
pub struct Broker {
    limit: usize,
    parts: Vec<Part>,
    /// How much each statement may hold without asking the broker.
    free_bytes: usize,
    /// The longest wait of a statement.
    wait_max: Duration,
    pools: [Pool; SHARES.len()],
    pressure: Pressure,
    queue: Mutex<Queue>,
    /// The queue's length, for readers that do not lock it.
    waiting: AtomicUsize,
    waits: AtomicU64,
    wait_us: AtomicU64,
    refused: AtomicU64,
}

/// The process' resident memory is checked only for amounts of at least this size.
const LARGE_STEP_BYTES: usize = 4 << 20;

impl Broker {
    /// The broker is never freed.
    ///
    /// # Errors
    /// A message for the terminal: the fixed parts leave too little for statements.
    pub fn start(plan: &Plan) -> Result<&'static Self, String> {
        let statements = plan.statements_bytes()?;
        let capacities = SHARES.map(|share| match share {
            Share::Small | Share::Packets => statements / 8,
            Share::Session => statements / 4,
            Share::Large => statements / 2,
        });
        Ok(Box::leak(Box::new(Self::with_pools(plan, capacities))))
    }

    /// A broker that refuses nothing: for tests, and for stores without a server.
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

    /// What each statement may hold without the broker, in bytes.
    pub fn free_bytes(&self) -> usize {
        self.free_bytes
    }

    /// A statement that holds more than this beyond its free bytes is a large one.
    pub fn large_bytes(&self) -> usize {
        (self.pool(Share::Small).capacity / 8).min(8 << 20)
    }

    /// The most that all holders of a share together may have, in bytes.
    pub fn capacity(&self, share: Share) -> usize {
        self.pool(share).capacity
    }

    /// An empty grant.
    pub fn grant(&'static self) -> Grant {
        Grant {
            broker: self,
            held: [0; SHARES.len()],
        }
    }

    /// Counts a statement that failed because it got no more memory.
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
        queue.serve(&mut |request| self.take_large(request));
        self.waiting.store(queue.len(), Ordering::SeqCst);
    }

    /// Admits a large statement. The queue is locked, so that no other thread does the same at that time.
    fn take_large(&self, request: MemoryRequest) -> Option<usize> {
        let pool = self.pool(Share::Large);
        let bytes = request.of(pool)?;
        // One statement is always admitted, however much memory the process has. Otherwise none might ever
        // be.
        let is_alone = pool.used() == 0;
        ((self.pressure.has_room(bytes) || is_alone) && pool.take(bytes, 0)).then_some(bytes)
    }

    fn admit(&self, request: MemoryRequest, control: Option<&dyn WaitControl>) -> Result<usize, Refused> {
        let mut queue = self.queue.lock();
        if queue.is_empty()
            && let Some(bytes) = self.take_large(request)
        {
            return Ok(bytes);
        }
        let Some(control) = control else {
            return Err(Refused::InUse);
        };
        let waiter = queue.join(request);
        self.waiting.store(queue.len(), Ordering::SeqCst);
        // For memory that was released before `waiting` was set.
        self.serve(&mut queue);
        drop(queue);
        self.wait(&waiter, control)
    }

    fn wait(&self, waiter: &Arc<Waiter>, control: &dyn WaitControl) -> Result<usize, Refused> {
        let started = Instant::now();
        waiter.sleep(control, self.wait_max, &mut || {
            self.serve(&mut self.queue.lock());
        });
        self.waits.fetch_add(1, Ordering::Relaxed);
        let waited = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.wait_us.fetch_add(waited, Ordering::Relaxed);
        if let Some(bytes) = waiter.granted() {
            return Ok(bytes);
        }
        let mut queue = self.queue.lock();
        if let Some(bytes) = waiter.granted() {
            return Ok(bytes);
        }
        queue.leave(waiter);
        // Requests behind it may need less.
        self.serve(&mut queue);
        let is_over = control.left().is_some_and(|left| left.is_zero());
        Err(if is_over {
            Refused::Interrupted
        } else {
            Refused::InUse
        })
    }

    /// The budget, and how much of it is held.
    pub fn figures(&self) -> Figures {
        let sum = |of: &dyn Fn(&Pool) -> usize| self.pools.iter().map(of).fold(0, usize::saturating_add);
        Figures {
            limit: self.limit,
            resident: self.pressure.resident_bytes(),
            parts: self.parts.clone(),
            statements: sum(&|pool| pool.capacity),
            used: sum(&Pool::used),
            small: self.pool(Share::Small).used(),
            session: self.pool(Share::Session).used(),
            large: self.pool(Share::Large).used(),
            packets: self.pool(Share::Packets).used(),
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

/// The budget, and how much of it is held, in bytes.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The process' limit.
    pub limit: usize,
    /// The process' resident memory.
    pub resident: usize,
    /// Parts of a fixed size.
    pub parts: Vec<Part>,
    /// What statements and transactions may hold.
    pub statements: usize,
    /// What they hold: in total, and by share.
    pub used: usize,
    pub small: usize,
    pub session: usize,
    pub large: usize,
    pub packets: usize,
    /// Statements that are waiting now.
    pub waiting: usize,
    /// Waits that have ended, and their total time.
    pub waits: u64,
    pub wait_us: u64,
    /// Statements that failed because they got no more: they reached their own limit, or others held the
    /// memory.
    pub refused: u64,
    /// How often the allocator was asked to return memory to the system.
    pub purges: u64,
}

/// The memory that one holder has taken from the budget. Dropping it releases the memory.
pub struct Grant {
    broker: &'static Broker,
    held: [usize; SHARES.len()],
}

impl Grant {
    pub fn broker(&self) -> &'static Broker {
        self.broker
    }

    /// Bytes that it holds of a share.
    pub fn held(&self, share: Share) -> usize {
        self.held[share as usize]
    }

    /// Takes `bytes` more of a share if they are free.
    pub fn take(&mut self, share: Share, bytes: usize) -> bool {
        self.take_leaving(share, bytes, 0)
    }

    /// [`Grant::take`] of memory that the holder can do without: only if as much again, and `leave`, stays
    /// free, and no statement waits.
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

    /// Takes memory of the share of large statements, and waits for it in order of arrival if `control` is
    /// given. A holder that waits must hold nothing of that share, and one that holds some must never wait
    /// for memory. Returns how many bytes it got.
    ///
    /// # Errors
    /// [`Refused::InUse`], [`Refused::Interrupted`].
    pub fn admit(
        &mut self,
        request: MemoryRequest,
        control: Option<&dyn WaitControl>,
    ) -> Result<usize, Refused> {
        let control = control.filter(|_| self.held(Share::Large) == 0);
        let bytes = self.broker.admit(request, control)?;
        self.held[Share::Large as usize] += bytes;
        Ok(bytes)
    }

    /// Releases `bytes`.
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
