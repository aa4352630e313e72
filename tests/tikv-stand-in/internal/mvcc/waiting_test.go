package mvcc

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestAWaiterIsWokenByCommit(t *testing.T) {
	b := newBed(t)
	holder := b.now()
	b.mustPrewrite(optimistic(holder, put1("k", "1")))
	waiter := b.lockLater(lockRequest(b.now(), b.now(), asLongAsCan, "k"), "k")
	commitTS := b.now()
	b.mustCommit(holder, commitTS, "k")
	errs := b.answerOf(waiter)
	b.expectKind("woken", errs[0], "conflict PessimisticRetry")
	if c := errs[0].Conflict; c.ConflictTs != holder || c.ConflictCommitTs != commitTS {
		t.Errorf("it tells %v", c)
	}
	if b.lockOf([]byte("k")) != nil {
		t.Error("being woken is not having the lock")
	}
}

func TestEveryWayOutOfALockWakes(t *testing.T) {
	for name, release := range map[string]func(*bed, uint64){
		"rollback":             func(b *bed, startTS uint64) { b.BatchRollback(bytesOf([]string{"k"}), startTS) },
		"pessimistic rollback": func(b *bed, startTS uint64) { b.PessimisticRollback(Range{}, nil, startTS, b.now()) },
		"resolve":              func(b *bed, startTS uint64) { b.ResolveLocks(Range{}, map[uint64]uint64{startTS: 0}) },
		"resolve of keys":      func(b *bed, startTS uint64) { b.ResolveKeys(bytesOf([]string{"k"}), startTS, 0) },
		"cleanup":              func(b *bed, startTS uint64) { b.Cleanup([]byte("k"), startTS, 0) },
		"destroy":              func(b *bed, _ uint64) { b.Destroy(Range{}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			holder := b.now()
			b.mustLock(holder, b.now(), "k")
			waiter := b.lockLater(lockRequest(b.now(), b.now(), asLongAsCan, "k"), "k")
			release(b, holder)
			b.expectKind("woken", b.answerOf(waiter)[0], "conflict PessimisticRetry")
		})
	}
}

func TestTheOldestWaiterIsWokenFirst(t *testing.T) {
	b := newBed(t)
	b.limits.WakeUpDelay = patience * 10 // the others would sleep beyond the test
	holder, old, young := b.now(), b.now(), b.now()
	b.mustLock(holder, b.now(), "k")
	second := b.lockLater(lockRequest(young, b.now(), asLongAsCan, "k"), "k")
	first := b.lockLater(lockRequest(old, b.now(), asLongAsCan, "k"), "k")
	b.PessimisticRollback(Range{}, nil, holder, b.now())
	b.answerOf(first)
	if b.Waiting([]byte("k")) != 1 {
		t.Error("the younger transaction should still wait")
	}
	b.mustLock(old, b.now(), "k")
	b.PessimisticRollback(Range{}, nil, old, b.now())
	b.answerOf(second)
}

func TestTheOthersAreWokenALittleLater(t *testing.T) {
	b := newBed(t)
	holder := b.now()
	b.mustLock(holder, b.now(), "k")
	first := b.lockLater(lockRequest(b.now(), b.now(), asLongAsCan, "k"), "k")
	second := b.lockLater(lockRequest(b.now(), b.now(), asLongAsCan, "k"), "k")
	b.PessimisticRollback(Range{}, nil, holder, b.now())
	b.answerOf(first)
	b.answerOf(second)
}

func TestPatience(t *testing.T) {
	b := newBed(t)
	b.mustLock(b.now(), b.now(), "k")
	b.expectKind("no wait", b.lockError(lockRequest(b.now(), b.now(), noWait, "k")), "locked")
	b.expectKind("its own limit", b.lockError(lockRequest(b.now(), b.now(), 5, "k")), "locked")
	b.limits.LockWait = 5 * time.Millisecond
	b.expectKind("the store's limit, asked for none", b.lockError(lockRequest(b.now(), b.now(), asLongAsCan, "k")), "locked")
	b.expectKind("the store's limit, asked for more", b.lockError(lockRequest(b.now(), b.now(), int64(patience/time.Millisecond)*10, "k")), "locked")
	if n := b.WaitingAll(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func TestAskingToWaitForever(t *testing.T) {
	b := newBed(t)
	holder := b.now()
	b.mustLock(holder, b.now(), "k")
	waiter := b.lockLater(lockRequest(b.now(), b.now(), math.MaxInt64, "k"), "k")
	b.PessimisticRollback(Range{}, nil, holder, b.now())
	b.expectKind("it waited", b.answerOf(waiter)[0], "conflict PessimisticRetry")
}

func TestAWaiterWhoseCallerLeftWaitsNoLonger(t *testing.T) {
	b := newBed(t)
	b.mustLock(b.now(), b.now(), "k")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan []KeyError, 1)
	go func() {
		_, errs := b.AcquirePessimisticLocks(ctx, lockRequest(5, 6, asLongAsCan, "k"))
		result <- errs
	}()
	b.until("it waits", func() bool { return b.WaitingAll() == 1 })
	cancel()
	b.answerOf(result)
	if n := b.WaitingAll(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}
