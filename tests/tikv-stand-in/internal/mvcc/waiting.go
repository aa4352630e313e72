package mvcc

import (
	"context"
	"slices"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// waiter is a pessimistic lock request that waits for another transaction's lock.
type waiter struct {
	startTS uint64
	key     []byte
	primary []byte
	// woken receives one value, when the lock was released. It is buffered, so the sender never waits.
	woken chan released
}

// released describes a released lock; commitTS is 0 unless it was committed.
type released struct {
	startTS, commitTS uint64
}

// patience is how long a request waits for all its locks together.
func (s *Store) patience(request *kvrpcpb.PessimisticLockRequest) time.Duration {
	if asked := request.WaitTimeout; asked > 0 && asked < s.limits.LockWait.Milliseconds() { // some ask for 2^63 - 1
		return time.Duration(asked) * time.Millisecond
	}
	return s.limits.LockWait
}

// waitForLock waits until the lock in cause is released, which gives a write conflict, or until patience or ctx is over,
// which gives the lock. It is called with the store locked and returns with it unlocked.
func (s *Store) waitForLock(ctx context.Context, request *kvrpcpb.PessimisticLockRequest, cause KeyError, patience time.Duration) KeyError {
	w := &waiter{
		startTS: request.StartVersion,
		key:     cause.Locked.Key,
		primary: request.PrimaryLock,
		woken:   make(chan released, 1),
	}
	// A transaction's first lock cannot close a cycle: no request waits for a transaction without locks.
	if !request.IsFirstLock {
		if err := s.detectDeadlock(w, cause.Locked.LockVersion); err != nil {
			s.mu.Unlock()
			return err
		}
	}
	s.queues[string(w.key)] = append(s.queues[string(w.key)], w)
	s.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-w.woken:
		return w.conflict(r)
	case <-timer.C:
	case <-ctx.Done():
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveQueue(w)
	select {
	case r := <-w.woken: // at the same moment
		return w.conflict(r)
	default:
	}
	if l := s.lockOf(w.key); l != nil {
		return keyIsLocked(w.key, l) // the holder may have changed
	}
	return cause
}

func (w *waiter) conflict(r released) KeyError {
	return writeConflict(w.startTS, r.startTS, r.commitTS, w.key, w.primary, kvrpcpb.WriteConflict_PessimisticRetry)
}

func (s *Store) leaveQueue(w *waiter) {
	key := string(w.key)
	queue := slices.DeleteFunc(s.queues[key], func(other *waiter) bool { return other == w })
	if len(queue) == 0 {
		delete(s.queues, key)
	} else {
		s.queues[key] = queue
	}
}

// wake lets the oldest transaction that waits for key continue at once, and the others a little later. By
// then the first usually has the lock, and they queue behind it instead of competing.
func (s *Store) wake(key []byte, startTS, commitTS uint64) {
	queue := s.queues[string(key)]
	if len(queue) == 0 {
		return
	}
	first := slices.MinFunc(queue, func(a, b *waiter) int {
		if a.startTS < b.startTS {
			return -1
		}
		return 1
	})
	r := released{startTS, commitTS}
	s.leaveQueue(first)
	first.woken <- r

	rest := slices.Clone(s.queues[string(key)])
	if len(rest) == 0 {
		return
	}
	time.AfterFunc(s.limits.WakeUpDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, w := range rest {
			if slices.Contains(s.queues[string(w.key)], w) {
				s.leaveQueue(w)
				w.woken <- r
			}
		}
	})
}

// Waiting returns how many requests wait for the lock of key.
func (s *Store) Waiting(key []byte) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.queues[string(key)])
}

// WaitingAll returns how many requests wait for any lock.
func (s *Store) WaitingAll() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, queue := range s.queues {
		n += len(queue)
	}
	return n
}
