package mvcc

import (
	"math"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// Snapshot is what a reader sees, taken from its request.
type Snapshot struct {
	Version   uint64
	Isolation kvrpcpb.IsolationLevel
	// Resolved are transactions whose locks the reader may ignore: rolled back, or certain to commit after
	// Version.
	Resolved []uint64
	// Committed are transactions whose locks count as data: committed at or before Version, not yet applied here.
	Committed []uint64
}

// SnapshotOf reads a request's context.
func SnapshotOf(version uint64, context *kvrpcpb.Context) Snapshot {
	return Snapshot{
		Version:   version,
		Isolation: context.GetIsolationLevel(),
		Resolved:  context.GetResolvedLocks(),
		Committed: context.GetCommittedLocks(),
	}
}

// Get reads one key.
func (s *Store) Get(snapshot Snapshot, key []byte) (value []byte, found bool, err KeyError) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.raiseMaxTS(snapshot.Version)
	return snapshot.read(s.find(key), key)
}

// BatchGet reads many keys. Absent keys are left out; a locked key gives a pair that holds only the error.
func (s *Store) BatchGet(snapshot Snapshot, keys [][]byte) []*kvrpcpb.KvPair {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.raiseMaxTS(snapshot.Version)
	pairs := make([]*kvrpcpb.KvPair, 0, len(keys))
	for _, key := range keys {
		if value, found, err := snapshot.read(s.find(key), key); err != nil {
			pairs = append(pairs, &kvrpcpb.KvPair{Error: err})
		} else if found {
			pairs = append(pairs, &kvrpcpb.KvPair{Key: key, Value: value})
		}
	}
	return pairs
}

// ScanOptions say which part of a scan's answer is wanted.
type ScanOptions struct {
	Limit      int
	KeyOnly    bool
	Reverse    bool // from the range's end towards its start
	SampleStep int  // when above 0, only every so manieth row
}

// Scan reads a range in order. A locked key gives a pair that holds only the error, and counts towards the limit.
func (s *Store) Scan(snapshot Snapshot, keys Range, options ScanOptions) []*kvrpcpb.KvPair {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.raiseMaxTS(snapshot.Version)
	var pairs []*kvrpcpb.KvPair
	rows := 0
	visit := func(e *entry) bool {
		if len(pairs) >= options.Limit {
			return false
		}
		value, found, err := snapshot.read(e, e.key)
		if err != nil {
			pairs = append(pairs, &kvrpcpb.KvPair{Error: err})
			return true
		}
		if !found {
			return true
		}
		rows++
		if options.SampleStep > 0 && (rows-1)%options.SampleStep != 0 {
			return true
		}
		if options.KeyOnly {
			value = nil
		}
		pairs = append(pairs, &kvrpcpb.KvPair{Key: e.key, Value: value})
		return true
	}
	if options.Reverse {
		descend(s.keys, keys, visit)
	} else {
		ascend(s.keys, keys, visit)
	}
	return pairs
}

// read returns what the snapshot sees at e, the entry of key, which may be nil.
func (r *Snapshot) read(e *entry, key []byte) (value []byte, found bool, err KeyError) {
	if e == nil {
		return nil, false, nil
	}
	if e.lock != nil && r.Isolation != kvrpcpb.IsolationLevel_RC && r.waitsFor(e.lock, key) {
		if !contains(r.Committed, e.lock.startTS) {
			return nil, false, keyIsLocked(key, e.lock)
		}
		switch e.lock.op {
		case kvrpcpb.Op_Put:
			return e.lock.value, true, nil
		case kvrpcpb.Op_Del:
			return nil, false, nil
		}
	}
	if r.Isolation == kvrpcpb.IsolationLevel_RCCheckTS {
		if n := e.newestChange(); n != nil && n.commitTS > r.Version {
			return nil, false, writeConflict(r.Version, n.startTS, n.commitTS, key, nil, kvrpcpb.WriteConflict_RcCheckTs)
		}
	}
	value, found = e.valueAt(r.Version)
	return value, found, nil
}

// waitsFor reports whether lock l must be resolved before the snapshot can read key.
func (r *Snapshot) waitsFor(l *lock, key []byte) bool {
	switch {
	case l.startTS > r.Version, l.minCommitTS > r.Version:
		return false // it will commit after the snapshot
	case l.op == kvrpcpb.Op_Lock, l.pessimistic():
		return false // it changes nothing here, or nothing yet
	case contains(r.Resolved, l.startTS):
		return false
	case r.Version == math.MaxUint64 && sameKey(key, l.primary) && !l.asyncCommit:
		return false // "the newest committed value": as long as the primary is locked, this one is not committed
	}
	return true
}

// newestChange returns the newest record that is not a rollback, nil when there is none.
func (e *entry) newestChange() *record {
	for i := len(e.records) - 1; i >= 0; i-- {
		if e.records[i].kind != rollback {
			return &e.records[i]
		}
	}
	return nil
}

func contains(list []uint64, ts uint64) bool {
	for _, t := range list {
		if t == ts {
			return true
		}
	}
	return false
}
