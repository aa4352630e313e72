//! What a store's refusals mean to the contract.

use crate::proto::kvrpcpb::{KeyError, SELF_ROLLED_BACK};
use kv::{Error, Timestamp};

/// Our locks are gone although we have not ended: they outlived their time while we, or the network, stood still, and
/// someone cleaned them up. Nothing of the transaction is there, and running it again may succeed, which is what
/// MySQL's clients know as a deadlock.
pub fn locks_lost() -> Error {
    Error::Deadlock
}

/// A key error for which there is no better answer than the error itself.
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
    // What has no field of its own is named in Rust's words: TxnLockNotFound, PessimisticLockNotFound, PessimisticLockRolledBack.
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
