package mvcc

import "github.com/pingcap/kvproto/pkg/kvrpcpb"

// lockedBy returns the entries in the range that the transaction of startTS has locked.
func (s *Store) lockedBy(r Range, startTS uint64) []*entry {
	var entries []*entry
	ascend(s.locked, r, func(e *entry) bool {
		if e.lock.startTS == startTS {
			entries = append(entries, e)
		}
		return true
	})
	return entries
}

// ScanLocks returns the locks in the range of transactions that started at or before maxVersion; a limit of 0 means all.
func (s *Store) ScanLocks(r Range, maxVersion uint64, limit int) []*kvrpcpb.LockInfo {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.raiseMaxTS(maxVersion)
	var locks []*kvrpcpb.LockInfo
	ascend(s.locked, r, func(e *entry) bool {
		if e.lock.startTS <= maxVersion {
			locks = append(locks, e.lock.info(e.key))
		}
		return limit == 0 || len(locks) < limit
	})
	return locks
}

// ResolveLocks ends dead transactions in the range: decided maps a start timestamp to its commit timestamp,
// or to 0 for a rollback.
func (s *Store) ResolveLocks(r Range, decided map[uint64]uint64) KeyError {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []*entry
	ascend(s.locked, r, func(e *entry) bool {
		if _, ours := decided[e.lock.startTS]; ours {
			entries = append(entries, e)
		}
		return true
	})
	for _, e := range entries {
		if err := s.resolve(e, decided[e.lock.startTS]); err != nil {
			return err
		}
	}
	return nil
}

// ResolveKeys ends one dead transaction at some of its keys. Unlike [Store.ResolveLocks] it fails if it is
// asked to commit a key that is neither locked nor committed.
func (s *Store) ResolveKeys(keys [][]byte, startTS, commitTS uint64) KeyError {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		e := s.find(key)
		if e != nil && e.lock != nil && e.lock.startTS == startTS {
			if err := s.resolve(e, commitTS); err != nil {
				return err
			}
			continue
		}
		r := e.committedBy(startTS)
		switch {
		case commitTS == 0 && r != nil:
			return alreadyCommitted(startTS, r.commitTS, key)
		case commitTS == 0:
			s.rollBackKey(key, startTS)
		case r == nil:
			return lockNotFound(startTS, commitTS, key)
		}
	}
	return nil
}

// resolve ends the transaction that holds e's lock.
func (s *Store) resolve(e *entry, commitTS uint64) KeyError {
	l := e.lock
	switch {
	case commitTS == 0:
		s.rollBackLock(e)
	case commitTS <= l.startTS:
		return invalidTimestamp(l.startTS, commitTS)
	case l.pessimistic():
		s.unlock(e, 0) // left over from a statement that was retried; nothing was to be written here
	case commitTS < l.minCommitTS:
		return commitTSExpired(e.key, l, commitTS)
	default:
		s.commitLock(e, commitTS)
	}
	return nil
}

// Locks returns every lock in the range. Unlike [Store.ScanLocks] it does not count as a client's read.
func (s *Store) Locks(r Range) []*kvrpcpb.LockInfo {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var locks []*kvrpcpb.LockInfo
	ascend(s.locked, r, func(e *entry) bool {
		locks = append(locks, e.lock.info(e.key))
		return true
	})
	return locks
}
