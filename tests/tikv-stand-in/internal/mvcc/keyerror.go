package mvcc

import (
	"fmt"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// KeyError is TiKV's own error message; nil means success. Clients classify errors by it, so this package
// uses it too.
type KeyError = *kvrpcpb.KeyError

func keyIsLocked(key []byte, l *lock) KeyError {
	return &kvrpcpb.KeyError{Locked: l.info(key)}
}

func writeConflict(startTS, conflictStart, conflictCommit uint64, key, primary []byte, reason kvrpcpb.WriteConflict_Reason) KeyError {
	return &kvrpcpb.KeyError{Conflict: &kvrpcpb.WriteConflict{
		StartTs: startTS, ConflictTs: conflictStart, ConflictCommitTs: conflictCommit,
		Key: key, Primary: primary, Reason: reason,
	}}
}

func alreadyExists(key []byte) KeyError {
	return &kvrpcpb.KeyError{AlreadyExist: &kvrpcpb.AlreadyExist{Key: key}}
}

func txnNotFound(startTS uint64, primary []byte) KeyError {
	return &kvrpcpb.KeyError{TxnNotFound: &kvrpcpb.TxnNotFound{StartTs: startTS, PrimaryKey: primary}}
}

func commitTSExpired(key []byte, l *lock, commitTS uint64) KeyError {
	return &kvrpcpb.KeyError{CommitTsExpired: &kvrpcpb.CommitTsExpired{
		StartTs: l.startTS, AttemptedCommitTs: commitTS, Key: key, MinCommitTs: l.minCommitTS,
	}}
}

// lockNotFound answers a commit whose lock is gone, which TiKV calls retryable although no retry of the commit will help.
func lockNotFound(startTS, commitTS uint64, key []byte) KeyError {
	return &kvrpcpb.KeyError{Retryable: fmt.Sprintf(
		"Error(Txn(Error(Mvcc(Error(TxnLockNotFound { start_ts: TimeStamp(%d), commit_ts: TimeStamp(%d), key: %x })))))",
		startTS, commitTS, key)}
}

// aborted is TiKV's error for all cases without a field of their own; its text names the variant.
func aborted(format string, args ...any) KeyError {
	return &kvrpcpb.KeyError{Abort: "Error(Txn(Error(Mvcc(Error(" + fmt.Sprintf(format, args...) + ")))))"}
}

func pessimisticLockNotFound(startTS uint64, key []byte, reason string) KeyError {
	return aborted("PessimisticLockNotFound { start_ts: TimeStamp(%d), key: %x, reason: %s }", startTS, key, reason)
}

func pessimisticLockRolledBack(startTS uint64, key []byte) KeyError {
	return aborted("PessimisticLockRolledBack { start_ts: TimeStamp(%d), key: %x }", startTS, key)
}

func lockTypeNotMatch(startTS uint64, key []byte, pessimistic bool) KeyError {
	return aborted("LockTypeNotMatch { start_ts: TimeStamp(%d), key: %x, pessimistic: %t }", startTS, key, pessimistic)
}

func alreadyCommitted(startTS, commitTS uint64, key []byte) KeyError {
	return aborted("Committed { start_ts: TimeStamp(%d), commit_ts: TimeStamp(%d), key: %x }", startTS, commitTS, key)
}

func invalidTimestamp(startTS, commitTS uint64) KeyError {
	return aborted("InvalidTxnTso { start_ts: TimeStamp(%d), commit_ts: TimeStamp(%d) }", startTS, commitTS)
}
