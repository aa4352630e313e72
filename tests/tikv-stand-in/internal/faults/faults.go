// Package faults holds the faults that a test has requested, and counts calls.
package faults

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// AnyStore is the Store of a [Rule] that applies to every store and to PD.
const AnyStore = 0

// PD is the pseudo store id of calls to PD.
const PD = ^uint64(0)

// Rule makes the next calls of one kind fail.
type Rule struct {
	Call  string // as TiKV names it: Get, Prewrite, Commit, Tso, ...
	Store uint64 // AnyStore, PD, or a store's id
	Count int    // how many calls it is for
	// Prefix is that of a key which the call names; empty: of any call.
	Prefix []byte

	// DropAfter does the work and breaks the connection before the response: the outcome is unknown to the
	// client.
	DropAfter bool
	// DropBefore breaks the connection without doing anything.
	DropBefore bool
	// RegionError is returned in place of the work; the names are in placement's InjectedError.
	RegionError string
	// Refusal is what a store says instead of computing: "other", as of a request that it does not know, or
	// "evaluate", as of an expression that it cannot evaluate. "stuck": its page ends where it starts.
	Refusal string
	// Delay passes before the work is done.
	Delay time.Duration
}

// Faults is safe for concurrent use.
type Faults struct {
	mu     sync.Mutex
	rules  []*Rule
	slow   map[uint64]time.Duration
	active atomic.Bool // whether there are any, so that calls need not take the lock when there are none

	counts sync.Map // call name to *atomic.Uint64
	atOnce sync.Map // the same, of calls that are being served
	most   sync.Map // the same, of the most that were served at the same time
}

// Add adds a rule after the existing ones.
func (f *Faults) Add(rule Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &rule)
	f.active.Store(true)
}

// Slow delays every call to a store, or PD, by this much; 0 ends it.
func (f *Faults) Slow(store uint64, by time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slow == nil {
		f.slow = make(map[uint64]time.Duration)
	}
	f.slow[store] = by
	if by == 0 {
		delete(f.slow, store)
	}
	f.active.Store(len(f.rules) > 0 || len(f.slow) > 0)
}

// Clear removes all rules and delays.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.slow = nil, nil
	f.active.Store(false)
}

// Pending returns how many calls will still fail.
func (f *Faults) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.rules {
		n += r.Count
	}
	return n
}

// Active reports whether any call may meet a fault.
func (f *Faults) Active() bool { return f.active.Load() }

func (r *Rule) isFor(call string, store uint64, keys [][]byte) bool {
	if r.Call != call || r.Store != AnyStore && r.Store != store {
		return false
	}
	named := func(key []byte) bool { return bytes.HasPrefix(key, r.Prefix) }
	return len(r.Prefix) == 0 || slices.ContainsFunc(keys, named)
}

// Take returns the fault of this call of a store, which names these keys; the zero Rule if there is none. It
// includes the store's delay.
func (f *Faults) Take(call string, store uint64, keys [][]byte) Rule {
	if !f.Active() {
		return Rule{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var taken Rule
	for i, r := range f.rules {
		if r.isFor(call, store, keys) {
			taken = *r
			if r.Count--; r.Count <= 0 {
				f.rules = append(f.rules[:i:i], f.rules[i+1:]...)
			}
			break
		}
	}
	taken.Delay += f.slow[store]
	f.active.Store(len(f.rules) > 0 || len(f.slow) > 0)
	return taken
}

// Sleep waits for d or until ctx is over.
func Sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Count counts n calls.
func (f *Faults) Count(call string, n uint64) {
	counter, ok := f.counts.Load(call)
	if !ok {
		counter, _ = f.counts.LoadOrStore(call, new(atomic.Uint64))
	}
	counter.(*atomic.Uint64).Add(n)
}

// Begin counts a call that is being served, until the function that it returns is called.
func (f *Faults) Begin(call string) (end func()) {
	counter := func(counters *sync.Map) *atomic.Int64 {
		c, _ := counters.LoadOrStore(call, new(atomic.Int64))
		return c.(*atomic.Int64)
	}
	now, most := counter(&f.atOnce), counter(&f.most)
	n := now.Add(1)
	for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
	}
	return func() { now.Add(-1) }
}

// AtOnce returns how many calls of each kind were served at the same time, at most, since the start or the last reset.
func (f *Faults) AtOnce(reset bool) map[string]int64 {
	most := make(map[string]int64)
	f.most.Range(func(call, counter any) bool {
		most[call.(string)] = counter.(*atomic.Int64).Load()
		if reset {
			counter.(*atomic.Int64).Store(0)
		}
		return true
	})
	return most
}

// Counts returns how often each call was made since the start or the last reset.
func (f *Faults) Counts(reset bool) map[string]uint64 {
	counts := make(map[string]uint64)
	f.counts.Range(func(call, counter any) bool {
		c := counter.(*atomic.Uint64)
		if reset {
			counts[call.(string)] = c.Swap(0)
		} else {
			counts[call.(string)] = c.Load()
		}
		return true
	})
	maps.DeleteFunc(counts, func(_ string, n uint64) bool { return n == 0 })
	return counts
}
