package mvcc

// Commit is the second phase: it makes the prewritten values of keys visible from commitTS on. Repeating a
// commit succeeds. Committing a transaction that was rolled back, or never prewritten, fails, for all keys
// or none.
func (s *Store) Commit(keys [][]byte, startTS, commitTS uint64) KeyError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if commitTS <= startTS {
		return invalidTimestamp(startTS, commitTS)
	}
	var entries []*entry
	for _, key := range keys {
		e := s.find(key)
		if e == nil || e.lock == nil || e.lock.startTS != startTS {
			if e.committedBy(startTS) == nil {
				return lockNotFound(startTS, commitTS, key)
			}
			continue
		}
		if e.lock.pessimistic() {
			return lockNotFound(startTS, commitTS, key) // never prewritten: there is no value to commit
		}
		if commitTS < e.lock.minCommitTS {
			return commitTSExpired(key, e.lock, commitTS)
		}
		entries = append(entries, e)
	}
	for _, e := range entries {
		if e.lock != nil { // a key may be named twice
			s.commitLock(e, commitTS)
		}
	}
	return nil
}

// BatchRollback rolls the transaction of startTS back at keys, whether they are locked or not, and prevents
// prewrites that arrive later. It fails if a key is committed.
func (s *Store) BatchRollback(keys [][]byte, startTS uint64) KeyError {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if r := s.find(key).committedBy(startTS); r != nil {
			return alreadyCommitted(startTS, r.commitTS, key)
		}
	}
	for _, key := range keys {
		s.rollBackKey(key, startTS)
	}
	return nil
}

// rollBackKey rolls the transaction of startTS back at a key it has not committed.
func (s *Store) rollBackKey(key []byte, startTS uint64) {
	if e := s.findOrCreate(key); e.lock != nil && e.lock.startTS == startTS {
		s.rollBackLock(e)
	} else if !e.rolledBack(startTS) {
		e.addRollback(startTS)
	}
}

// Cleanup rolls one key back if its lock has expired at currentTS, or in any case if currentTS is 0. If the
// key is committed, it returns the commit timestamp instead.
func (s *Store) Cleanup(key []byte, startTS, currentTS uint64) (committedAt uint64, err KeyError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(key).committedBy(startTS); r != nil {
		return r.commitTS, nil
	}
	if l := s.lockOf(key); l != nil && l.startTS == startTS && currentTS != 0 && !expired(startTS, l.ttl, currentTS) {
		return 0, keyIsLocked(key, l)
	}
	s.rollBackKey(key, startTS)
	return 0, nil
}
