package mvcc

import "testing"

func TestTwoTransactionsDeadlock(t *testing.T) {
	b := newBed(t)
	x, y := b.now(), b.now()
	b.mustLock(x, b.now(), "a")
	b.mustLock(y, b.now(), "b")
	waiter := b.lockLater(lockRequest(x, b.now(), asLongAsCan, "b"), "b")
	err := b.lockError(lockRequest(y, b.now(), asLongAsCan, "a"))
	b.expectKind("the second to wait", err, "deadlock")
	d := err.Deadlock
	if d.LockTs != x || string(d.LockKey) != "a" || string(d.DeadlockKey) != "b" || d.DeadlockKeyHash == 0 {
		t.Errorf("it tells %v", d)
	}
	if c := d.WaitChain; len(c) != 2 || c[0].Txn != x || c[0].WaitForTxn != y || c[1].Txn != y || c[1].WaitForTxn != x {
		t.Errorf("the chain is %v", c)
	}
	b.PessimisticRollback(Range{}, nil, y, b.now())
	b.expectKind("the first goes on", b.answerOf(waiter)[0], "conflict PessimisticRetry")
}

func TestThreeTransactionsDeadlock(t *testing.T) {
	b := newBed(t)
	x, y, z := b.now(), b.now(), b.now()
	b.mustLock(x, b.now(), "a")
	b.mustLock(y, b.now(), "b")
	b.mustLock(z, b.now(), "c")
	b.lockLater(lockRequest(x, b.now(), asLongAsCan, "b"), "b")
	b.lockLater(lockRequest(y, b.now(), asLongAsCan, "c"), "c")
	err := b.lockError(lockRequest(z, b.now(), asLongAsCan, "a"))
	b.expectKind("the third", err, "deadlock")
	if n := len(err.Deadlock.GetWaitChain()); n != 3 {
		t.Errorf("%d waits in the chain", n)
	}
	b.Destroy(Range{})
}

func TestWaitingInLineIsNoDeadlock(t *testing.T) {
	b := newBed(t)
	x := b.now()
	b.mustLock(x, b.now(), "a")
	first := b.lockLater(lockRequest(b.now(), b.now(), asLongAsCan, "a"), "a")
	second := b.lockLater(lockRequest(b.now(), b.now(), asLongAsCan, "a"), "a")
	b.PessimisticRollback(Range{}, nil, x, b.now())
	b.answerOf(first)
	b.answerOf(second)
}

func TestAWaitThatEndedIsNotPartOfACircle(t *testing.T) {
	b := newBed(t)
	x, y := b.now(), b.now()
	b.mustLock(x, b.now(), "a")
	b.mustLock(y, b.now(), "b")
	b.expectKind("x gives up on b", b.lockError(lockRequest(x, b.now(), 1, "b")), "locked")
	b.expectKind("y waits for a", b.lockError(lockRequest(y, b.now(), 1, "a")), "locked")
}

func TestAFirstLockIsNotChecked(t *testing.T) {
	b := newBed(t)
	x, y := b.now(), b.now()
	b.mustLock(x, b.now(), "a")
	b.mustLock(y, b.now(), "b")
	b.lockLater(lockRequest(x, b.now(), asLongAsCan, "b"), "b")
	r := lockRequest(y, b.now(), 1, "a")
	r.IsFirstLock = true // a lie here, and TiKV believes it too
	b.expectKind("not looked for", b.lockError(r), "locked")
	b.Destroy(Range{})
}
