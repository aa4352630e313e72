package mvcc

// CollectGarbage drops versions in the range that no snapshot at or after safePoint can see. The client
// must have resolved the locks before.
func (s *Store) CollectGarbage(r Range, safePoint uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var touched []*entry
	ascend(s.keys, r, func(e *entry) bool {
		if e.collect(safePoint) {
			touched = append(touched, e)
		}
		return true
	})
	for _, e := range touched {
		s.tidy(e)
	}
}

// collect preserves the records after safePoint and the value visible at it. It reports whether it dropped
// any record.
func (e *entry) collect(safePoint uint64) bool {
	newer := e.newestAtOrBefore(safePoint) + 1
	if newer == 0 {
		return false
	}
	var kept []record
	if r := e.dataAt(safePoint); r != nil && r.kind == put {
		kept = append(kept, *r)
	}
	kept = append(kept, e.records[newer:]...)
	dropped := len(kept) < len(e.records)
	if dropped {
		e.records = kept
	}
	return dropped
}

// Destroy drops everything in the range, locks and all versions, at once. Existing snapshots lose them too.
func (s *Store) Destroy(r Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []*entry
	ascend(s.keys, r, func(e *entry) bool {
		entries = append(entries, e)
		return true
	})
	for _, e := range entries {
		e.records = nil
		if e.lock != nil {
			s.unlock(e, 0)
		}
		s.tidy(e)
	}
}

// Counts are the numbers of keys, versions and locks in the store.
type Counts struct {
	Keys, Versions, Locks, Waiters int
}

// Counts counts the store's contents.
func (s *Store) Counts() Counts {
	waiters := s.WaitingAll()
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := Counts{Keys: s.keys.Len(), Locks: s.locked.Len(), Waiters: waiters}
	s.keys.Ascend(func(e *entry) bool {
		c.Versions += len(e.records)
		return true
	})
	return c
}
