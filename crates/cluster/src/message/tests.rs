//! Nodes that send each other requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kv::{Store, TxnOptions};

use super::*;
use crate::Cluster;
use crate::node::NodeOptions;

const LONG: Duration = Duration::from_secs(60);

fn nodes<const N: usize>() -> [Arc<Cluster>; N] {
    let store = Store::memory();
    std::array::from_fn(|_| Cluster::join(store.clone(), Vec::new(), NodeOptions::default()).unwrap())
}

fn id(node: &Cluster) -> i64 {
    node.node().unwrap().id
}

fn kill(connection: u64) -> Request {
    Request::Kill {
        requester: Requester {
            user: "root".to_owned(),
            administers: true,
            is_system_user: true,
        },
        connection,
        query_only: false,
    }
}

/// Answers KILL of one connection, and has too many connections for one message.
struct Has(u64);

impl Responder for Has {
    fn answer(&self, request: &Request) -> Reply {
        match request {
            Request::Kill { connection, .. } if *connection == self.0 => Reply::Killed,
            Request::Kill { .. } => Reply::Unknown,
            Request::ReadAccounts => Reply::AccountsRead,
            Request::Processes { .. } => Reply::Processes(vec![ProcessRow {
                info: Some("x".repeat(MESSAGE_BYTES_MAX)),
                ..ProcessRow::default()
            }]),
        }
    }

    fn renumbered(&self, _: u32) {}
}

fn has(node: &Cluster, connection: u64) {
    node.answer_requests(Arc::new(Has(connection)));
}

fn unread(from: &Cluster, node: i64) -> usize {
    let page = from.store().latest().scan_page(&keys::messages(node), 100, false);
    page.unwrap().len()
}

/// Sends a request while both nodes follow the store.
fn ask(from: &Cluster, to: &Cluster, request: &Request) -> Vec<(i64, Reply)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for node in [from, to] {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    node.tick().unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let replies = from
            .messages()
            .unwrap()
            .request(&[id(to)], request, LONG, &Interrupt::new());
        over.store(true, Ordering::SeqCst);
        replies.unwrap()
    })
}

#[test]
fn nodes_reply_to_each_other() {
    let [a, b, c] = nodes();
    let all = [&a, &b, &c];
    for (node, connection) in all.iter().zip([1, 2, 3]) {
        has(node, connection);
    }
    let third = id(&c);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for node in all {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    node.tick().unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let others: Vec<_> = [(&a, [&b, &c]), (&b, [&c, &a]), (&c, [&a, &b])]
            .map(|(from, [one, two])| {
                scope.spawn(move || {
                    for _ in 0..5 {
                        let to = [id(one), id(two)];
                        let replies =
                            from.messages()
                                .unwrap()
                                .request(&to, &kill(3), LONG, &Interrupt::new());
                        let replies = replies.unwrap();
                        assert_eq!(replies.len(), 2);
                        for (node, reply) in replies {
                            let is_killed = matches!(reply, Reply::Killed);
                            assert_eq!(is_killed, node == third, "{node} replied {reply:?}");
                        }
                    }
                })
            })
            .into();
        let answers: Vec<_> = others.into_iter().map(thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::SeqCst);
        assert!(answers.iter().all(Result::is_ok));
    });
    assert!(
        all.iter().all(|node| unread(&a, id(node)) == 0),
        "nothing is left"
    );
    assert!(a.messages().unwrap().waiting.lock().is_empty());
}

#[test]
fn a_node_that_does_not_answer_is_not_waited_for_long() {
    let [a, b] = nodes();
    let replies = a
        .messages()
        .unwrap()
        .request(&[id(&b)], &kill(1), Duration::ZERO, &Interrupt::new());
    assert_eq!(replies.unwrap(), []);
    let interrupt = Interrupt::new();
    interrupt.raise();
    let error = a
        .messages()
        .unwrap()
        .request(&[id(&b)], &kill(1), LONG, &interrupt)
        .unwrap_err();
    assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED);
    assert_eq!(unread(&a, id(&b)), 0, "the request is deleted");
    assert!(a.messages().unwrap().waiting.lock().is_empty());
}

#[test]
fn what_cannot_be_read_or_sent_blocks_no_other_message() {
    let [a, b] = nodes();
    has(&a, 1);
    has(&b, 2);
    let mut txn = a.store().begin(TxnOptions::default()).unwrap();
    let of_the_future = br#"{"format":1,"value":{"to":1,"from":2,"number":3,"content":"Song"}}"#;
    txn.put(keys::message(id(&b), id(&a), 3), of_the_future.to_vec())
        .unwrap();
    txn.commit(Durability::Os).unwrap();
    let administers = true;
    let user = "root".to_owned();
    let processes = Request::Processes {
        requester: Requester {
            user,
            administers,
            is_system_user: false,
        },
    };
    assert_eq!(ask(&a, &b, &processes), [(id(&b), Reply::TooLong)]);
    assert_eq!(ask(&a, &b, &kill(2)), [(id(&b), Reply::Killed)]);
    assert_eq!((unread(&a, id(&a)), unread(&a, id(&b))), (0, 0));
}

#[test]
fn a_node_that_has_left_gets_no_messages_and_leaves_none() {
    let [a, b, c] = nodes();
    has(&a, 1);
    let gone = id(&b);
    let unread_message = Message {
        to: gone,
        from: id(&a),
        number: 1,
        content: Content::Request(kill(1)),
    };
    let put = |message: &Message| {
        let mut txn = a.store().begin(TxnOptions::default()).unwrap();
        send(&mut Meta::new(&mut txn), std::slice::from_ref(message)).unwrap();
        txn.commit(Durability::Os).unwrap();
    };
    put(&unread_message);
    assert_eq!(unread(&c, gone), 1);
    b.close().unwrap();
    assert_eq!(unread(&c, gone), 0);
    put(&unread_message);
    assert_eq!(unread(&c, gone), 0);
}
