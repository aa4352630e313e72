package mvcc

import "github.com/pingcap/kvproto/pkg/kvrpcpb"

// HeartBeat extends the life of the transaction whose primary lock is at primary to at least ttl
// milliseconds after its start. It returns its time to live now.
func (s *Store) HeartBeat(primary []byte, startTS, ttl, minCommitTS uint64) (uint64, KeyError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lockOf(primary)
	if l == nil || l.startTS != startTS {
		return 0, txnNotFound(startTS, primary)
	}
	l.ttl = max(l.ttl, ttl)
	if !l.asyncCommit {
		l.minCommitTS = max(l.minCommitTS, minCommitTS)
	}
	return l.ttl, nil
}

// CheckTxnStatus returns the status of the transaction whose primary lock was met, and rolls it back if it
// has expired. If it is running, its commit timestamp is pushed beyond the caller's snapshot, which then
// need not wait for it.
func (s *Store) CheckTxnStatus(request *kvrpcpb.CheckTxnStatusRequest) (*kvrpcpb.CheckTxnStatusResponse, KeyError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raiseMaxTS(request.LockTs)
	s.raiseMaxTS(request.CurrentTs)
	s.raiseMaxTS(request.CallerStartTs)
	e := s.find(request.PrimaryKey)
	if e != nil && e.lock != nil && e.lock.startTS == request.LockTs {
		return s.statusOfLocked(e, request)
	}
	return s.statusOfUnlocked(e, request)
}

func (s *Store) statusOfLocked(e *entry, request *kvrpcpb.CheckTxnStatusRequest) (*kvrpcpb.CheckTxnStatusResponse, KeyError) {
	l := e.lock
	if request.VerifyIsPrimary && !sameKey(l.primary, request.PrimaryKey) {
		return nil, &kvrpcpb.KeyError{PrimaryMismatch: &kvrpcpb.PrimaryMismatch{LockInfo: l.info(e.key)}}
	}
	alive := func(pushed bool) (*kvrpcpb.CheckTxnStatusResponse, KeyError) {
		response := &kvrpcpb.CheckTxnStatusResponse{LockTtl: l.ttl, LockInfo: l.info(e.key)}
		if pushed {
			response.Action = kvrpcpb.Action_MinCommitTSPushed
		}
		return response, nil
	}
	if l.asyncCommit && !request.ForceSyncCommit {
		return alive(false) // its secondaries decide whether it is committed; see CheckSecondaryLocks
	}
	if expired(l.startTS, l.ttl, request.CurrentTs) {
		if request.ResolvingPessimisticLock && l.pessimistic() {
			s.unlock(e, 0)
			return &kvrpcpb.CheckTxnStatusResponse{Action: kvrpcpb.Action_TTLExpirePessimisticRollback}, nil
		}
		s.rollBackLock(e)
		return &kvrpcpb.CheckTxnStatusResponse{Action: kvrpcpb.Action_TTLExpireRollback}, nil
	}
	// A client with a minCommitTS of 0 does not expect it to move. A caller at MaxVersion is a point read,
	// which ignores the lock without moving anything.
	caller := request.CallerStartTs
	if l.minCommitTS != 0 && caller != MaxVersion && caller >= l.minCommitTS {
		l.minCommitTS = max(caller+1, request.CurrentTs)
	}
	return alive(caller == MaxVersion || caller != 0 && l.minCommitTS > caller)
}

func (s *Store) statusOfUnlocked(e *entry, request *kvrpcpb.CheckTxnStatusRequest) (*kvrpcpb.CheckTxnStatusResponse, KeyError) {
	if r := e.committedBy(request.LockTs); r != nil {
		return &kvrpcpb.CheckTxnStatusResponse{CommitVersion: r.commitTS}, nil
	}
	if e.rolledBack(request.LockTs) {
		return &kvrpcpb.CheckTxnStatusResponse{}, nil
	}
	if !request.RollbackIfNotExist {
		return nil, txnNotFound(request.LockTs, request.PrimaryKey)
	}
	if request.ResolvingPessimisticLock {
		return &kvrpcpb.CheckTxnStatusResponse{Action: kvrpcpb.Action_LockNotExistDoNothing}, nil
	}
	s.findOrCreate(request.PrimaryKey).addRollback(request.LockTs)
	return &kvrpcpb.CheckTxnStatusResponse{Action: kvrpcpb.Action_LockNotExistRollback}, nil
}

// CheckSecondaryLocks reports whether an asynchronously committing transaction is prewritten at all keys.
// If it is, it returns their locks. If a key is committed, so is the transaction, at the returned
// timestamp. If a key is neither, it is rolled back, and with it the transaction: then both results are
// empty.
func (s *Store) CheckSecondaryLocks(keys [][]byte, startTS uint64) (locks []*kvrpcpb.LockInfo, committedAt uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		e := s.findOrCreate(key)
		if l := e.lock; l != nil && l.startTS == startTS && !l.pessimistic() {
			locks = append(locks, l.info(key))
			continue
		}
		if r := e.committedBy(startTS); r != nil {
			return nil, r.commitTS
		}
		s.rollBackKey(key, startTS)
		return nil, 0
	}
	return locks, 0
}
