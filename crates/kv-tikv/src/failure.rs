//! Translates a store's errors to the contract's.

use crate::proto::kvrpcpb::{KeyError, SELF_ROLLED_BACK};
use kv::{Error, Timestamp};

/// The transaction's locks were removed before it ended: this node or the network stalled for longer than the
/// locks' time to live, and another transaction cleaned them up. Nothing of this transaction remains, and a
/// retry may succeed. It is reported as a deadlock (1213), because clients retry after one.
pub fn locks_lost() -> Error {
    Error::Deadlock
}

/// Translates a key error that the caller has no special handling for.
pub fn of_key(error: &KeyError, start_ts: Timestamp) -> Error {
    if let Some(conflict) = &error.conflict {
        if conflict.reason == SELF_ROLLED_BACK {
            return locks_lost();
        }
        return Error::WriteConflict {
            start_ts,
            conflict_ts: conflict.conflict_commit_ts.max(conflict.conflict_ts),
        };
    }
    if error.already_exist.is_some() {
        return Error::KeyExists;
    }
    if error.deadlock.is_some() {
        return Error::Deadlock;
    }
    // Errors without a protobuf field of their own come as the text of a Rust error: TxnLockNotFound,
    // PessimisticLockNotFound, PessimisticLockRolledBack.
    let names = |what: &str| error.abort.contains(what) || error.retryable.contains(what);
    let is_lost = error.txn_not_found.is_some()
        || error.txn_lock_not_found.is_some()
        || names("LockNotFound")
        || names("LockRolledBack");
    if is_lost {
        return locks_lost();
    }
    if error.locked.is_some() {
        return Error::LockTimeout;
    }
    if error.commit_ts_too_large.is_some() {
        return Error::Internal("a commit timestamp beyond what the store takes".into());
    }
    Error::Io(format!("a store refused: {}{}", error.retryable, error.abort))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::kvrpcpb::WriteConflict;

    #[test]
    fn conflicts_name_the_newer_commit_and_lost_locks_can_be_tried_again() {
        let mut error = KeyError {
            conflict: Some(WriteConflict {
                start_ts: 5,
                conflict_ts: 6,
                conflict_commit_ts: 8,
                ..Default::default()
            }),
            ..Default::default()
        };
        assert_eq!(
            of_key(&error, 5),
            Error::WriteConflict {
                start_ts: 5,
                conflict_ts: 8
            }
        );
        if let Some(conflict) = &mut error.conflict {
            conflict.reason = SELF_ROLLED_BACK;
        }
        assert!(of_key(&error, 5).is_retryable());
        for name in ["PessimisticLockNotFound", "PessimisticLockRolledBack"] {
            let abort = KeyError {
                abort: format!("Error(Txn(Error(Mvcc(Error({name} {{ start_ts: 5 }})))))"),
                ..Default::default()
            };
            assert!(of_key(&abort, 5).is_retryable(), "{name}");
        }
    }
}
