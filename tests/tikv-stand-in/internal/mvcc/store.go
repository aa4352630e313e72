// Package mvcc holds versioned keys and locks in memory and applies TiKV's transaction rules to them: Percolator's two
// phases, pessimistic locks with wait queues and deadlock detection, one-phase and asynchronous commit, garbage
// collection. The rules follow TiKV's documentation and its observable behaviour, down to which error wins.
//
// It knows neither regions nor stores nor the network; package service checks those first. All of a cluster's stores share
// one Store, since replication is not what the stand-in is about.
//
// Reading order: record.go and lock.go (what a key holds), read.go, prewrite.go, commit.go, pessimistic.go with waiting.go
// and deadlock.go, status.go and resolve.go (what others do about a transaction that died), gc.go.
package mvcc

import (
	"bytes"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/btree"
)

// physicalShift is where the milliseconds of a timestamp begin; the bits below count within one.
const physicalShift = 18

// MaxVersion is the version an autocommit point read sends to say "the newest committed value, no timestamp asked".
const MaxVersion = math.MaxUint64

// Store is every version and lock of the cluster. Its methods are safe for concurrent use, and each is atomic.
type Store struct {
	mu     sync.RWMutex
	keys   *btree.BTreeG[*entry] // every key that has a lock or a version
	locked *btree.BTreeG[*entry] // those of them that have a lock
	queues map[string][]*waiter  // who waits for the lock of which key

	// maxTS is the newest timestamp anything was read at. A commit timestamp the store chooses itself (one-phase and
	// asynchronous commit) is above it, so that no reader's snapshot changes under it.
	maxTS atomic.Uint64

	limits Limits
}

// Limits are the settings of TiKV's pessimistic transactions that a client can notice.
type Limits struct {
	// LockWait caps how long one request waits for a lock, whatever it asks for (wait-for-lock-timeout).
	LockWait time.Duration
	// WakeUpDelay is how long the waiters behind the first stay asleep after a release (wake-up-delay-duration).
	WakeUpDelay time.Duration
}

// DefaultLimits are TiKV's own defaults.
func DefaultLimits() Limits {
	return Limits{LockWait: time.Second, WakeUpDelay: 20 * time.Millisecond}
}

// New returns an empty Store.
func New(limits Limits) *Store {
	less := func(a, b *entry) bool { return bytes.Compare(a.key, b.key) < 0 }
	return &Store{
		keys:   btree.NewG(32, less),
		locked: btree.NewG(32, less),
		queues: make(map[string][]*waiter),
		limits: limits,
	}
}

// Range is the keys from Start, included, to End, excluded. An empty End has no bound.
type Range struct {
	Start, End []byte
}

// Contains reports whether key lies in the range.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (len(r.End) == 0 || bytes.Compare(key, r.End) < 0)
}

// entry is the state of one key.
type entry struct {
	key     []byte
	lock    *lock
	records []record // by commitTS, ascending, no two alike
}

func (s *Store) find(key []byte) *entry {
	e, _ := s.keys.Get(&entry{key: key})
	return e
}

func (s *Store) findOrCreate(key []byte) *entry {
	if e := s.find(key); e != nil {
		return e
	}
	e := &entry{key: bytes.Clone(key)}
	s.keys.ReplaceOrInsert(e)
	return e
}

// lockOf returns the lock of key, nil when it has none.
func (s *Store) lockOf(key []byte) *lock {
	if e := s.find(key); e != nil {
		return e.lock
	}
	return nil
}

// ascend visits tree's entries in the range in order until visit returns false.
func ascend(tree *btree.BTreeG[*entry], r Range, visit func(*entry) bool) {
	start := &entry{key: r.Start}
	if len(r.End) == 0 {
		tree.AscendGreaterOrEqual(start, visit)
	} else {
		tree.AscendRange(start, &entry{key: r.End}, visit)
	}
}

// descend visits tree's entries in the range from its end until visit returns false.
func descend(tree *btree.BTreeG[*entry], r Range, visit func(*entry) bool) {
	inside := func(e *entry) bool {
		if len(r.End) > 0 && bytes.Equal(e.key, r.End) {
			return true // the bound itself is not part of the range
		}
		return bytes.Compare(e.key, r.Start) >= 0 && visit(e)
	}
	if len(r.End) == 0 {
		tree.Descend(inside)
	} else {
		tree.DescendLessOrEqual(&entry{key: r.End}, inside)
	}
}

// raiseMaxTS records a read at ts.
func (s *Store) raiseMaxTS(ts uint64) {
	if ts == MaxVersion {
		return // says "newest", not a time; taking it for one would push every later commit there
	}
	for {
		old := s.maxTS.Load()
		if ts <= old || s.maxTS.CompareAndSwap(old, ts) {
			return
		}
	}
}

// MaxTS is the newest timestamp anything was read at.
func (s *Store) MaxTS() uint64 { return s.maxTS.Load() }

// expired reports whether a lock of startTS that lives ttl milliseconds has expired at current.
func expired(startTS, ttl, current uint64) bool {
	return startTS>>physicalShift+ttl < current>>physicalShift
}
