//! Nodes that ask each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kv::{Store, TxnOptions};

use super::*;
use crate::nodes::NodeOptions;

const LONG: Duration = Duration::from_secs(60);

fn nodes<const N: usize>() -> [Arc<Catalog>; N] {
    let store = Store::memory();
    std::array::from_fn(|_| Catalog::join(store.clone(), NodeOptions::default()).unwrap())
}

fn id(catalog: &Catalog) -> i64 {
    catalog.node().unwrap().id
}

fn kill(connection: u64) -> Question {
    Question::Kill {
        asker: Asker {
            user: "root".to_owned(),
            administers: true,
        },
        connection,
        query_only: false,
    }
}

/// Answers KILL of one connection, and has too many connections to tell of.
struct Has(u64);

impl Neighbour for Has {
    fn answer(&self, question: &Question) -> Reply {
        match question {
            Question::Kill { connection, .. } if *connection == self.0 => Reply::Killed,
            Question::Kill { .. } => Reply::Unknown,
            Question::Processes { .. } => Reply::Processes(vec![ProcessRow {
                info: Some("x".repeat(LETTER_BYTES_MAX)),
                ..ProcessRow::default()
            }]),
        }
    }

    fn renumbered(&self, _: u32) {}
}

fn has(catalog: &Catalog, connection: u64) {
    catalog.answer_other_nodes(Arc::new(Has(connection)));
}

fn letters(catalog: &Catalog, node: i64) -> usize {
    let page = catalog.store().latest().scan_page(&keys::mail(node), 100, false);
    page.unwrap().len()
}

/// Asks, while the other node looks for news.
fn ask(from: &Catalog, to: &Catalog, question: &Question) -> Vec<(i64, Reply)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for catalog in [from, to] {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    catalog.tick().unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let replies = from.ask_nodes(&[id(to)], question, LONG, &Interrupt::new());
        over.store(true, Ordering::SeqCst);
        replies.unwrap()
    })
}

#[test]
fn nodes_answer_each_other() {
    let [a, b, c] = nodes();
    let all = [&a, &b, &c];
    for (catalog, connection) in all.iter().zip([1, 2, 3]) {
        has(catalog, connection);
    }
    let third = id(&c);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for catalog in all {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    catalog.tick().unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let others: Vec<_> = [(&a, [&b, &c]), (&b, [&c, &a]), (&c, [&a, &b])]
            .map(|(from, [one, two])| {
                scope.spawn(move || {
                    for _ in 0..5 {
                        let to = [id(one), id(two)];
                        let replies = from.ask_nodes(&to, &kill(3), LONG, &Interrupt::new());
                        let replies = replies.unwrap();
                        assert_eq!(replies.len(), 2);
                        for (node, reply) in replies {
                            let is_killed = matches!(reply, Reply::Killed);
                            assert_eq!(is_killed, node == third, "{node} says {reply:?}");
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
        all.iter().all(|node| letters(&a, id(node)) == 0),
        "nothing is left"
    );
    assert!(a.mailbox.waiting.lock().is_empty());
}

#[test]
fn a_node_that_does_not_answer_is_not_waited_for_long() {
    let [a, b] = nodes();
    let replies = a.ask_nodes(&[id(&b)], &kill(1), Duration::ZERO, &Interrupt::new());
    assert_eq!(replies.unwrap(), []);
    let interrupt = Interrupt::new();
    interrupt.raise();
    let error = a.ask_nodes(&[id(&b)], &kill(1), LONG, &interrupt).unwrap_err();
    assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED);
    assert_eq!(letters(&a, id(&b)), 0, "what was asked is taken back");
    assert!(a.mailbox.waiting.lock().is_empty());
}

#[test]
fn what_cannot_be_read_or_sent_is_in_nobodys_way() {
    let [a, b] = nodes();
    has(&a, 1);
    has(&b, 2);
    let mut txn = a.store().begin(TxnOptions::default()).unwrap();
    let of_the_future = br#"{"format":1,"value":{"to":1,"from":2,"number":3,"content":"Song"}}"#;
    txn.put(keys::letter(id(&b), id(&a), 3), of_the_future.to_vec())
        .unwrap();
    txn.commit(Durability::Os).unwrap();
    let administers = true;
    let user = "root".to_owned();
    let processes = Question::Processes {
        asker: Asker { user, administers },
    };
    assert_eq!(ask(&a, &b, &processes), [(id(&b), Reply::TooLong)]);
    assert_eq!(ask(&a, &b, &kill(2)), [(id(&b), Reply::Killed)]);
    assert_eq!((letters(&a, id(&a)), letters(&a, id(&b))), (0, 0));
}

#[test]
fn a_node_that_is_gone_gets_no_letters_and_leaves_none() {
    let [a, b, c] = nodes();
    has(&a, 1);
    let gone = id(&b);
    let unread = Letter {
        to: gone,
        from: id(&a),
        number: 1,
        content: Content::Question(kill(1)),
    };
    let put = |letter: &Letter| {
        let mut txn = a.store().begin(TxnOptions::default()).unwrap();
        Meta::new(&mut txn)
            .put_letters(std::slice::from_ref(letter))
            .unwrap();
        txn.commit(Durability::Os).unwrap();
    };
    put(&unread);
    assert_eq!(letters(&c, gone), 1);
    b.close().unwrap();
    assert_eq!(letters(&c, gone), 0);
    put(&unread);
    assert_eq!(letters(&c, gone), 0);
}

#[test]
fn one_process_alone_asks_nobody() {
    let catalog = crate::test_support::catalog();
    has(&catalog, 1);
    let replies = catalog.ask_nodes(&[1], &kill(1), LONG, &Interrupt::new());
    assert_eq!(replies.unwrap(), []);
}
