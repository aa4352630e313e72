package mvcc

import (
	"context"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// LockedKey is what acquiring a pessimistic lock found at the key: the newest committed value at or before for_update_ts.
type LockedKey struct {
	Value []byte
	Found bool
	// ConflictTS is not 0 when the key was locked although it has a version newer than for_update_ts, which the request
	// allowed: that version's commit timestamp. Value and Found are then that version's.
	ConflictTS uint64
}

// AcquirePessimisticLocks locks all keys of the request or none. When one is locked by another transaction, it waits as
// long as the request says. A waiter that is woken does not hold the lock: it gets a write conflict, and the client is to
// ask again with a newer for_update_ts. Only a request in force-lock mode goes on by itself, and then takes newer versions too.
func (s *Store) AcquirePessimisticLocks(ctx context.Context, request *kvrpcpb.PessimisticLockRequest) ([]LockedKey, []KeyError) {
	patience := s.patience(request)
	for end := time.Now().Add(patience); ; patience = time.Until(end) {
		s.mu.Lock()
		results, err := s.tryPessimisticLocks(request)
		if err == nil || err.Locked == nil || request.WaitTimeout < 0 {
			s.mu.Unlock()
			return results, asList(err)
		}
		err = s.waitForLock(ctx, request, err, patience) // unlocks
		if err.Conflict == nil || !forces(request) {
			return nil, asList(err)
		}
	}
}

// forces reports whether a request takes locks over conflicts.
func forces(request *kvrpcpb.PessimisticLockRequest) bool {
	return request.WakeUpMode == kvrpcpb.PessimisticLockWakeUpMode_WakeUpModeForceLock
}

func asList(err KeyError) []KeyError {
	if err == nil {
		return nil
	}
	return []KeyError{err}
}

func (s *Store) tryPessimisticLocks(request *kvrpcpb.PessimisticLockRequest) ([]LockedKey, KeyError) {
	if request.LockOnlyIfExists && !request.ReturnValues {
		return nil, aborted("LockIfExistsFailed { start_ts: TimeStamp(%d), for_update_ts: TimeStamp(%d) }", request.StartVersion, request.ForUpdateTs)
	}
	results := make([]LockedKey, 0, len(request.Mutations))
	for _, mutation := range request.Mutations {
		result, err := s.checkPessimisticLock(request, mutation)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	for i, mutation := range request.Mutations {
		if results[i].Found || !request.LockOnlyIfExists {
			s.placePessimisticLock(request, mutation.Key, max(request.ForUpdateTs, results[i].ConflictTS))
		}
	}
	if request.ReturnValues || request.CheckExistence {
		s.raiseMaxTS(request.ForUpdateTs)
	}
	return results, nil
}

// checkPessimisticLock decides whether the transaction may lock the key, and reads it.
func (s *Store) checkPessimisticLock(request *kvrpcpb.PessimisticLockRequest, mutation *kvrpcpb.Mutation) (LockedKey, KeyError) {
	key, startTS, readTS := mutation.Key, request.StartVersion, request.ForUpdateTs
	mustBeAbsent := mutation.Assertion == kvrpcpb.Assertion_NotExist
	if mustBeAbsent {
		s.raiseMaxTS(readTS)
	}
	e := s.find(key)
	if e == nil {
		return LockedKey{}, nil
	}
	// A key that is to be absent is checked when it is locked for the first time, and not over a conflict: the statement
	// will look at the value itself.
	var conflictTS uint64
	if l := e.lock; l != nil {
		if l.startTS != startTS {
			return LockedKey{}, keyIsLocked(key, l)
		}
		if !l.pessimistic() {
			return LockedKey{}, lockTypeNotMatch(startTS, key, false)
		}
		if forces(request) && l.forUpdateTS > readTS { // the same request again, which met a conflict the first time
			conflictTS = l.forUpdateTS
		}
	} else if newest := e.newest(); newest != nil {
		switch {
		case newest.commitTS <= readTS:
		case forces(request):
			conflictTS = newest.commitTS
		default:
			return LockedKey{}, writeConflict(startTS, newest.startTS, newest.commitTS, key, request.PrimaryLock, kvrpcpb.WriteConflict_PessimisticRetry)
		}
		if e.rolledBack(startTS) {
			return LockedKey{}, pessimisticLockRolledBack(startTS, key)
		}
		if mustBeAbsent && conflictTS == 0 && e.exists(newest) {
			return LockedKey{}, alreadyExists(key)
		}
	}
	value, found := e.valueAt(max(readTS, conflictTS))
	return LockedKey{value, found, conflictTS}, nil
}

// placePessimisticLock locks a key that has no lock, or only this transaction's own of an earlier statement.
func (s *Store) placePessimisticLock(request *kvrpcpb.PessimisticLockRequest, key []byte, forUpdateTS uint64) {
	l := &lock{
		op:          kvrpcpb.Op_PessimisticLock,
		primary:     request.PrimaryLock,
		startTS:     request.StartVersion,
		forUpdateTS: forUpdateTS,
		minCommitTS: request.MinCommitTs,
		ttl:         request.LockTtl,
	}
	if held := s.lockOf(key); held == nil || held.forUpdateTS < l.forUpdateTS {
		s.setLock(key, l) // and, where there was one, forget what heartbeats and readers did to it
	}
}

// PessimisticRollback gives pessimistic locks up without a trace. A lock taken by a later statement (a newer for_update_ts)
// stays. No keys means all of the transaction's in the range.
func (s *Store) PessimisticRollback(r Range, keys [][]byte, startTS, forUpdateTS uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []*entry
	for _, key := range keys {
		if e := s.find(key); e != nil && e.lock != nil {
			entries = append(entries, e)
		}
	}
	if len(keys) == 0 {
		entries = s.lockedBy(r, startTS)
	}
	for _, e := range entries {
		if l := e.lock; l != nil && l.startTS == startTS && l.pessimistic() && l.forUpdateTS <= forUpdateTS {
			s.unlock(e, 0)
		}
	}
}

// LoseLocks removes the pessimistic locks of a range, as happens in TiKV when a region's leader dies before
// the other replicas have them (pessimistic-txn.pipelined and in-memory). It returns how many there were.
func (s *Store) LoseLocks(r Range) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost []*entry
	ascend(s.locked, r, func(e *entry) bool {
		if e.lock.pessimistic() {
			lost = append(lost, e)
		}
		return true
	})
	for _, e := range lost {
		s.unlock(e, 0)
	}
	return len(lost)
}
