//! A stand-in cluster for one test.

// Each test file uses a part of it.
#![allow(dead_code, clippy::unwrap_used)]

use kv::{Error, Limits, LockOptions, LockWait, Store};
use kv_tests::Subject;
use kv_tests::support::{begin, commit, exclusive};
use kv_tikv::TikvOptions;
use std::sync::Once;
use std::time::{Duration, Instant};

/// A cluster for one test. Any failure of the cluster itself ends the test.
pub struct StandIn {
    inner: testkit::StandIn,
    pub pd: String,
}

impl StandIn {
    pub fn start(arguments: &[&str]) -> Self {
        if !testkit::StandIn::can_run() {
            // Without the toolchain that the stand-in needs, the test prints one line and passes.
            eprintln!("skipped: {}", testkit::NEEDS);
            std::process::exit(0);
        }
        let inner = testkit::StandIn::start(arguments).unwrap();
        Self {
            pd: inner.pd.clone(),
            inner,
        }
    }

    /// Sends a command to the control port, as in "/split?key=m".
    pub fn control(&self, path: &str) -> String {
        self.inner.control(path).unwrap()
    }

    /// How often the stores were sent this request.
    pub fn count(&self, call: &str) -> u64 {
        self.inner.count(call).unwrap()
    }

    pub fn options(&self) -> TikvOptions {
        TikvOptions {
            background: false,
            check_promises: true,
            operation_timeout: Duration::from_secs(20),
            request_timeout: Duration::from_secs(2),
            ..TikvOptions::new(vec![self.pd.clone()])
        }
    }

    pub fn open(&self) -> Store {
        kv_tikv::open(self.options()).unwrap()
    }

    /// A store whose operations time out after `timeout`.
    pub fn impatient(&self, timeout: Duration) -> Store {
        kv_tikv::open(TikvOptions {
            operation_timeout: timeout,
            request_timeout: timeout / 2,
            ..self.options()
        })
        .unwrap()
    }
}

/// For the conformance suite: three stores, and regions that start among the suite's keys.
pub struct Cluster(StandIn);

impl Cluster {
    pub fn start() -> Self {
        let stand_in = StandIn::start(&["-stores", "3", "-split", "account3,b,k2,k5,k500,table,w2"]);
        stand_in.control("/split?hexkey=000000");
        Self(stand_in)
    }
}

impl Subject for Cluster {
    fn open(&self, limits: Limits) -> Store {
        kv_tikv::open(TikvOptions {
            limits,
            ..self.0.options()
        })
        .unwrap()
    }

    fn is_persistent(&self) -> bool {
        true
    }
}

/// Keys of its own on an existing cluster.
pub struct Shared {
    options: TikvOptions,
}

impl Shared {
    pub fn new(pd: &str) -> Self {
        static FREE: Once = Once::new();
        let options: TikvOptions = format!("tikv://{pd}").parse().unwrap();
        FREE.call_once(|| wait_until_collectable(&options));
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        Self {
            options: TikvOptions {
                background: false,
                check_promises: true,
                key_prefix: format!("kv-tests {} ", now.as_nanos()).into_bytes(),
                ..options
            },
        }
    }
}

/// An SQL node that was killed holds garbage collection back for five minutes, which would disturb the
/// cases for it.
fn wait_until_collectable(options: &TikvOptions) {
    let store = kv_tikv::open(TikvOptions {
        background: false,
        ..options.clone()
    })
    .unwrap();
    store.set_gc_age(Duration::ZERO);
    let (start, now) = (Instant::now(), store.current_ts().unwrap());
    while store.run_gc().unwrap().safe_point < now {
        assert!(
            start.elapsed() < Duration::from_secs(360),
            "somebody reads the past of this cluster"
        );
        std::thread::sleep(Duration::from_secs(1));
    }
}

impl Subject for Shared {
    fn open(&self, limits: Limits) -> Store {
        kv_tikv::open(TikvOptions {
            limits,
            ..self.options.clone()
        })
        .unwrap()
    }

    fn is_persistent(&self) -> bool {
        true
    }
}

/// Three stores with regions up to `c`, up to `f` and after.
pub fn cluster() -> StandIn {
    StandIn::start(&["-stores", "3", "-split", "c,f"])
}

pub fn nowait() -> LockOptions {
    LockOptions {
        wait: LockWait::NoWait,
        ..exclusive()
    }
}

/// A node dies while it commits a transaction that writes these keys: the second phase never arrives, so the locks stay.
pub fn leave_locks(stand_in: &StandIn, dead: Store, keys: &[&str]) {
    stand_in.control("/drop-next?rpc=Commit&when=before&count=1000");
    let mut txn = begin(&dead);
    for key in keys {
        txn.put(key.as_bytes().to_vec(), b"never".to_vec()).unwrap();
    }
    assert!(matches!(commit(txn), Err(Error::Undetermined(_))));
    drop(dead);
    stand_in.control("/clear");
}
