package mvcc

import "github.com/pingcap/kvproto/pkg/kvrpcpb"

// lock is a running transaction's lock on a key: a pessimistic lock (only the right to write), or, after
// prewrite, the write itself.
type lock struct {
	op          kvrpcpb.Op // Put, Del, Lock, or PessimisticLock
	primary     []byte
	startTS     uint64
	forUpdateTS uint64 // not 0 in a pessimistic transaction
	minCommitTS uint64 // a commit before it is refused; readers below it need not wait
	ttl         uint64 // milliseconds after startTS
	txnSize     uint64
	value       []byte
	asyncCommit bool
	secondaries [][]byte // of an asynchronous commit, in the primary's lock
}

func (l *lock) pessimistic() bool { return l.op == kvrpcpb.Op_PessimisticLock }

func (l *lock) info(key []byte) *kvrpcpb.LockInfo {
	return &kvrpcpb.LockInfo{
		PrimaryLock:     l.primary,
		LockVersion:     l.startTS,
		Key:             key,
		LockTtl:         l.ttl,
		TxnSize:         l.txnSize,
		LockType:        l.op,
		LockForUpdateTs: l.forUpdateTS,
		UseAsyncCommit:  l.asyncCommit,
		MinCommitTs:     l.minCommitTS,
		Secondaries:     l.secondaries,
	}
}

// setLock puts l at key, and replaces an earlier lock of the same transaction.
func (s *Store) setLock(key []byte, l *lock) {
	e := s.findOrCreate(key)
	if e.lock == nil {
		s.locked.ReplaceOrInsert(e)
	}
	e.lock = l
}

// unlock removes e's lock and wakes the requests that wait for it. commitTS is 0 unless the holder was
// committed.
func (s *Store) unlock(e *entry, commitTS uint64) {
	startTS := e.lock.startTS
	e.lock = nil
	s.locked.Delete(e)
	s.wake(e.key, startTS, commitTS)
	s.tidy(e)
}

// commitLock turns e's lock into a record at commitTS.
func (s *Store) commitLock(e *entry, commitTS uint64) {
	l := e.lock
	switch l.op {
	case kvrpcpb.Op_Put:
		e.add(record{kind: put, startTS: l.startTS, commitTS: commitTS, value: l.value})
	case kvrpcpb.Op_Del:
		e.add(record{kind: tombstone, startTS: l.startTS, commitTS: commitTS})
	default:
		e.add(record{kind: lockOnly, startTS: l.startTS, commitTS: commitTS})
	}
	s.unlock(e, commitTS)
}

// rollBackLock drops e's lock with its value and leaves a rollback record.
func (s *Store) rollBackLock(e *entry) {
	e.addRollback(e.lock.startTS)
	s.unlock(e, 0)
}
