//! Broker, accounts and queue together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;

const MIB: usize = 1 << 20;
/// The limit of a statement.
const STATEMENT: usize = 100 * MIB;

fn broker_of(process: Process, wait_max: Duration) -> &'static Broker {
    Broker::start(&Plan {
        limit: 512 * MIB,
        parts: Vec::new(),
        connections: 10,
        wait_max,
        process,
    })
    .unwrap()
}

fn broker() -> &'static Broker {
    let process = Process {
        resident_bytes: || None,
        purge: || (),
    };
    broker_of(process, Duration::from_secs(60))
}

/// Lets a statement wait until `stop`.
#[derive(Default)]
struct TestControl {
    is_over: AtomicBool,
    thread: parking_lot::Mutex<Option<thread::Thread>>,
}

impl TestControl {
    fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.lock().as_ref() {
            thread.unpark();
        }
    }
}

impl WaitControl for TestControl {
    fn left(&self) -> Option<Duration> {
        self.is_over.load(Ordering::SeqCst).then_some(Duration::ZERO)
    }

    fn run(&self, wait: &mut dyn FnMut()) {
        *self.thread.lock() = Some(thread::current());
        wait();
    }
}

fn statement(broker: &'static Broker) -> Account {
    Account::new(broker, Holder::Statement, STATEMENT)
}

/// Starts as many large statements as there is room for.
fn fill(broker: &'static Broker) -> Vec<Account> {
    let mut all = Vec::new();
    loop {
        let mut account = statement(broker);
        if account.grow(20 * MIB, None).is_err() {
            return all;
        }
        all.push(account);
    }
}

fn await_waiting(broker: &Broker, count: usize) {
    while broker.figures().waiting != count {
        thread::yield_now();
    }
}

/// A large statement on a thread of its own, which ends as soon as it has got its memory. `order`: how many
/// have ended before.
fn wait_for_turn(
    broker: &'static Broker,
    control: &Arc<TestControl>,
    order: &Arc<AtomicUsize>,
) -> JoinHandle<Result<usize, Refused>> {
    let (control, order) = (Arc::clone(control), Arc::clone(order));
    thread::spawn(move || {
        let mut account = statement(broker);
        account.grow(20 * MIB, Some(&*control))?;
        Ok(order.fetch_add(1, Ordering::SeqCst))
    })
}

#[test]
fn a_little_needs_no_broker_and_goes_to_the_limit() {
    let broker = broker();
    let mut account = statement(broker);
    account.grow(broker.free_bytes(), None).unwrap();
    assert!(!account.holds_any());
    account.grow(1, None).unwrap();
    assert!(account.holds(Share::Small) && broker.figures().used >= MIB);
    account.grow(STATEMENT - broker.free_bytes() - 1, None).unwrap();
    assert!(account.holds(Share::Large) && !account.holds(Share::Small));
    assert_eq!(account.grow(1, None), Err(Refused::Limit(STATEMENT)));
    account.shrink(2 * MIB);
    account.grow(MIB, None).unwrap();
    drop(account);
    assert_eq!(broker.figures().used, 0);
}

#[test]
fn a_large_statement_has_its_whole_limit_and_gives_back_what_it_does_not_use() {
    let broker = broker();
    let all = fill(broker);
    assert_eq!(all.len(), broker.capacity(Share::Large) / STATEMENT);
    assert_eq!(broker.figures().refused, 1);
    for mut account in all {
        account.grow(STATEMENT - 20 * MIB, None).unwrap();
        account.shrink(70 * MIB);
        account.trim();
        // Other statements may take it now.
        statement(broker).grow(20 * MIB, None).unwrap_or_else(|refused| {
            assert_eq!(refused, Refused::InUse);
        });
        assert!(broker.figures().large <= broker.capacity(Share::Large));
    }
    assert_eq!(broker.figures().used, 0);
}

#[test]
fn small_statements_go_on_beside_large_ones() {
    let broker = broker();
    let _all = fill(broker);
    let mut small = statement(broker);
    small.grow(2 * MIB, None).unwrap();
    let mut written = Account::new(broker, Holder::Transaction, usize::MAX);
    written.grow(20 * MIB, None).unwrap();
    assert!(written.holds(Share::Session) && !written.holds(Share::Large));
}

#[test]
fn a_packet_takes_nothing_that_its_statement_may_wait_for() {
    let broker = broker();
    let mut packets = Vec::new();
    loop {
        let mut packet = Account::new(broker, Holder::Packet, usize::MAX);
        if packet.grow(16 * MIB, None).is_err() {
            break;
        }
        packets.push(packet);
    }
    assert!(packets.first().is_some_and(|packet| packet.holds(Share::Packets)));
    assert!(packets.last().is_some_and(|packet| packet.holds(Share::Session)));
    statement(broker).grow(20 * MIB, None).unwrap();
    drop(packets);
    assert_eq!(broker.figures().used, 0);
}

#[test]
fn large_statements_take_turns_in_the_order_they_came() {
    let broker = broker();
    let mut all = fill(broker);
    let (control, order) = (Arc::new(TestControl::default()), Arc::default());
    let threads: Vec<_> = (1..=3)
        .map(|count| {
            let thread = wait_for_turn(broker, &control, &order);
            await_waiting(broker, count);
            thread
        })
        .collect();
    // No other statement overtakes those that wait.
    all.truncate(1);
    for (place, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), Ok(place));
    }
    drop(all);
    let figures = broker.figures();
    assert_eq!((figures.used, figures.waiting, figures.waits), (0, 0, 3));
}

#[test]
fn a_wait_ends_when_it_is_interrupted_or_takes_too_long() {
    let broker = broker();
    let all = fill(broker);
    let (control, order) = (Arc::new(TestControl::default()), Arc::default());
    let thread = wait_for_turn(broker, &control, &order);
    await_waiting(broker, 1);
    control.stop();
    assert_eq!(thread.join().unwrap(), Err(Refused::Interrupted));
    assert_eq!(broker.figures().waiting, 0);
    drop(all);

    let hasty = broker_of(Process::plain(), Duration::from_millis(1));
    let _all = fill(hasty);
    let thread = wait_for_turn(hasty, &Arc::default(), &order);
    assert_eq!(thread.join().unwrap(), Err(Refused::InUse));
    assert_eq!(hasty.figures().refused, 2);
}

#[test]
fn a_holder_of_large_memory_does_not_wait_for_more() {
    let broker = broker();
    let mut grant = broker.grant();
    let capacity = broker.capacity(Share::Large);
    grant.admit(MemoryRequest::exactly(capacity / 2), None).unwrap();
    let control = TestControl::default();
    let refused = grant.admit(MemoryRequest::exactly(capacity), Some(&control));
    assert_eq!(refused, Err(Refused::InUse));
}

#[test]
fn a_request_that_can_use_less_gets_a_part_of_what_is_free() {
    let broker = broker();
    let capacity = broker.capacity(Share::Large);
    let request = MemoryRequest {
        least: MIB,
        most: STATEMENT,
        leave: 0,
    };
    let mut grants = Vec::new();
    for _ in 0..20 {
        let mut grant = broker.grant();
        let free = capacity - broker.figures().large;
        assert_eq!(grant.admit(request, None), Ok((free / 8).clamp(MIB, STATEMENT)));
        grants.push(grant);
    }
    let free = capacity - broker.figures().large;
    assert!(!grants[0].take_if_plenty(Share::Large, free / 2, 2));
    assert!(grants[0].take_if_plenty(Share::Large, free / 2, 0));
    assert!(!grants[1].take_if_plenty(Share::Large, free / 2, 0));
}

#[test]
fn a_request_that_can_use_less_leaves_room_for_others() {
    let broker = broker();
    let request = MemoryRequest {
        least: 10 * MIB,
        most: STATEMENT,
        leave: STATEMENT,
    };
    let mut grants = Vec::new();
    loop {
        let mut grant = broker.grant();
        if grant.admit(request, None).is_err() {
            break;
        }
        grants.push(grant);
    }
    assert!(grants.len() > 5);
    statement(broker).grow(20 * MIB, None).unwrap();
}

#[test]
fn what_the_process_really_has_counts_for_large_steps() {
    static RESIDENT: AtomicUsize = AtomicUsize::new(0);
    static PURGED_TO: AtomicUsize = AtomicUsize::new(usize::MAX);
    let process = Process {
        resident_bytes: || Some(RESIDENT.load(Ordering::SeqCst)),
        purge: || {
            RESIDENT.fetch_min(PURGED_TO.load(Ordering::SeqCst), Ordering::SeqCst);
        },
    };
    let broker = broker_of(process, Duration::from_secs(60));
    RESIDENT.store(500 * MIB, Ordering::SeqCst);
    let first = {
        // Alone, it is admitted.
        let mut first = statement(broker);
        first.grow(20 * MIB, None).unwrap();
        first
    };
    assert_eq!(statement(broker).grow(20 * MIB, None), Err(Refused::InUse));
    // A small amount is granted without the check.
    statement(broker).grow(2 * MIB, None).unwrap();
    thread::sleep(Duration::from_millis(60));
    PURGED_TO.store(100 * MIB, Ordering::SeqCst);
    statement(broker).grow(20 * MIB, None).unwrap();
    assert!(broker.figures().purges >= 2);
    drop(first);
}
