//! Garbage collection. The stores remove old versions by themselves, below a safe point that PD stores;
//! this module moves the safe point.
//!
//! Every node reports to PD the oldest timestamp it still reads. A report is valid for a limited time, and
//! the node renews it before that ends. A node that cannot renew it stops reading at old timestamps, and no
//! node reads below its own report. A transaction that runs for longer than `gc_hold_max` is left out of
//! the report, and its reads fail. Any node may move the safe point up to the oldest reported timestamp. In
//! the background, the node that finds a collection due runs it; the safe point itself serves as the lease
//! that keeps the others from doing the same.
//!
//! # Beside a TiDB
//!
//! The cluster has one safe point, and TiDB's collector finds TiDB's own transactions by other ways than
//! PD. So where a TiDB server runs, we let it move the safe point: it asks PD for our reports, as we would.
//! TiDB resolves its locks before it moves the safe point. We resolve our own locks before we report that
//! we no longer read what is older than they are.

use crate::node::Node;
use crate::periodic::Periodic;
use crate::read_report::{ReadReport, milliseconds};
use crate::resolve;
use kv::{Error, GcReport, Result, Timestamp, timestamp_from_ms, timestamp_to_ms};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The newest safe point that the configured age allows, whatever live snapshots need.
fn wanted(node: &Node, now: Timestamp) -> Timestamp {
    match node.gc.age_ms.load(Ordering::Relaxed) {
        0 => now,
        age_ms => timestamp_from_ms(timestamp_to_ms(now).saturating_sub(age_ms)),
    }
}

/// Reports to PD what this node still reads, up to `gc_hold_max`. Returns the timestamp that no node reads
/// below.
fn hold(node: &Node, now: Timestamp) -> Result<Timestamp> {
    let options = &node.cluster.options;
    let longest = timestamp_from_ms(timestamp_to_ms(now).saturating_sub(milliseconds(options.gc_hold_max)));
    let wanted = wanted(node, now);
    let oldest = || {
        let (_, oldest_pin) = node.pins.live();
        let resolved = node.gc.resolved.load(Ordering::SeqCst);
        oldest_pin
            .map_or(now, |pin| pin.max(longest))
            .min(wanted)
            .min(resolved)
    };
    let ReadReport {
        service, hold_ttl, ..
    } = &node.gc;
    let ttl_s = i64::try_from(hold_ttl.as_secs().max(1)).unwrap_or(i64::MAX);
    let deadline = Instant::now() + options.operation_timeout;
    node.gc.hold(oldest, |oldest| {
        let reported_at = Instant::now();
        let answer = node.cluster.pd.hold_gc(service, ttl_s, oldest, deadline)?;
        if answer <= oldest && options.background {
            *node.gc.held_until.lock() = Some(reported_at + *hold_ttl);
        }
        Ok(answer)
    })
}

/// Withdraws this node's report.
pub fn release_hold(node: &Node) {
    let deadline = Instant::now() + Duration::from_secs(2);
    if let Err(error) = node.cluster.pd.hold_gc(&node.gc.service, 0, 0, deadline) {
        tracing::debug!(%error, "garbage is held back until this node's report expires");
    }
}

/// One collection, up to the oldest timestamp that any node reads.
pub fn collect(node: &Node) -> Result<GcReport> {
    let _one_at_a_time = node.gc.collecting.lock();
    let now = node.timestamp(None)?;
    let pd = &node.cluster.pd;
    let deadline = || Instant::now() + node.cluster.options.operation_timeout;
    if is_left_to_tidb(node)? {
        return collect_beside_tidb(node, now);
    }
    let collectable = loop {
        // Versions that other nodes may have collected cannot be preserved by this node's report.
        let wanted = wanted(node, now).max(hold(node, now)?);
        if let Some(oldest) = pd.advance_gc(wanted, deadline())? {
            break wanted.min(oldest);
        }
    };
    // Pins below it are refused from here on, and pins made before were counted.
    let safe_point = node.pins.advance(collectable);
    if safe_point <= pd.gc_safe_point(deadline())? {
        return Ok(GcReport {
            safe_point,
            removed: None,
        });
    }
    // The locks of all keyspaces, since the keyspaces share one safe point.
    let range = &node.cluster.keyspace.collected;
    let old = resolve::all_before(&node.cluster, range, safe_point)?;
    // A transaction that waits for its end was running when PD gave the oldest timestamp, or its locks were
    // there already: until it is detached, its node reports it.
    let safe_point = safe_point.min(old.oldest_detached.map_or(safe_point, |start_ts| start_ts - 1));
    if safe_point > pd.gc_safe_point(deadline())? {
        pd.set_gc_safe_point(safe_point, deadline())?;
    }
    tracing::debug!(safe_point, ?old, "garbage-collection safe point");
    Ok(GcReport {
        safe_point,
        removed: None,
    })
}

/// Looks for TiDB servers before anything is read or written.
///
/// # Errors
/// Fails if a TiDB server stores its rows under the same keys as we do.
pub fn check_for_tidb(node: &Node) -> Result<()> {
    let others = tidb_keyspaces(node)?;
    check_keys_are_ours(node, &others)?;
    note_tidb(node, !others.is_empty())
}

/// Whether TiDB servers use the cluster.
fn is_left_to_tidb(node: &Node) -> Result<bool> {
    let others = tidb_keyspaces(node)?;
    if let Err(error) = check_keys_are_ours(node, &others) {
        tracing::error!(%error, "TiDB servers write to the same keys: the stored data will be damaged");
    }
    note_tidb(node, !others.is_empty())?;
    Ok(!others.is_empty())
}

fn tidb_keyspaces(node: &Node) -> Result<Vec<Option<u32>>> {
    let deadline = Instant::now() + node.cluster.options.operation_timeout;
    node.cluster.pd.tidb_keyspaces(deadline)
}

fn check_keys_are_ours(node: &Node, others: &[Option<u32>]) -> Result<()> {
    if !node.cluster.keyspace.is_shared_with(others) {
        return Ok(());
    }
    Err(Error::Unavailable(
        "TiDB servers keep their data under the keys of this store: give StemDB a keyspace of its own \
         (tikv://PD:2379/KEYSPACE, on a cluster of API version 2), or a cluster"
            .into(),
    ))
}

fn note_tidb(node: &Node, is_tidb_there: bool) -> Result<()> {
    let gc = &node.gc;
    if gc.is_left_to_tidb.swap(is_tidb_there, Ordering::SeqCst) == is_tidb_there {
        return Ok(());
    }
    if is_tidb_there {
        tracing::info!("TiDB servers use the cluster: TiDB moves its garbage-collection safe point");
        // The TiDB server that moved the safe point had resolved all locks below it.
        let deadline = Instant::now() + node.cluster.options.operation_timeout;
        let moved_to = node.cluster.pd.gc_safe_point(deadline)?;
        gc.resolved.store(moved_to, Ordering::SeqCst);
    } else {
        tracing::info!(
            "no TiDB server uses the cluster any more: StemDB moves its garbage-collection safe point"
        );
        gc.resolved.store(Timestamp::MAX, Ordering::SeqCst);
    }
    Ok(())
}

/// One round while TiDB moves the safe point: resolves our locks, so that TiDB can move it further.
fn collect_beside_tidb(node: &Node, now: Timestamp) -> Result<GcReport> {
    let wanted = wanted(node, now);
    let own = node.cluster.keyspace.all();
    let old = resolve::all_before(&node.cluster, &own, wanted)?;
    let resolved = wanted.min(old.oldest_detached.map_or(wanted, |start_ts| start_ts - 1));
    node.gc.resolved.fetch_max(resolved, Ordering::SeqCst);
    hold(node, now)?;
    let deadline = Instant::now() + node.cluster.options.operation_timeout;
    let current = node.cluster.pd.gc_safe_point(deadline)?;
    tracing::debug!(wanted, ?old, current, "TiDB collects the garbage");
    Ok(GcReport {
        safe_point: node.pins.advance(current),
        removed: None,
    })
}

/// Starts the thread that reports, and collects when a collection is due. Reports once before it returns:
/// from then on, what this node reads is preserved.
pub fn start(node: &Arc<Node>) -> Result<Periodic> {
    hold(node, node.timestamp(None)?)?;
    let interval = node.cluster.options.gc_interval;
    let node = Arc::downgrade(node);
    let round = move || {
        let Some(node) = node.upgrade() else {
            return ControlFlow::Break(());
        };
        // The next round retries. A node that stays cut off stops reading.
        if let Err(error) = report_and_collect(&node, interval) {
            tracing::warn!(%error, "garbage collection");
        }
        ControlFlow::Continue(())
    };
    Periodic::start("tikv-gc", interval, "collecting garbage", round)
        .map_err(|error| Error::Unavailable(format!("no thread for garbage collection: {error}")))
}

fn report_and_collect(node: &Node, interval: Duration) -> Result<()> {
    let now = node.timestamp(None)?;
    hold(node, now)?;
    let deadline = Instant::now() + node.cluster.options.operation_timeout;
    let current = node.cluster.pd.gc_safe_point(deadline)?;
    // What other nodes have collected cannot be read here either.
    node.pins.advance(current);
    // If TiDB collects, every one of our nodes looks for its locks, so each does it less often.
    let (since, pause) = match is_left_to_tidb(node)? {
        true => {
            let age = Duration::from_millis(node.gc.age_ms.load(Ordering::Relaxed));
            (node.gc.resolved.load(Ordering::SeqCst), interval.max(age))
        }
        false => (current, interval),
    };
    let is_due =
        timestamp_to_ms(wanted(node, now)) >= timestamp_to_ms(since).saturating_add(milliseconds(pause));
    if is_due {
        collect(node)?;
    }
    Ok(())
}
