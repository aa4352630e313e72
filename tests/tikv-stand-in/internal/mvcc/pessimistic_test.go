package mvcc

import (
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

func TestPessimisticLocksReadTheNewestVersion(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.run(put1("k", "1"))
	b.expectKind("newer than for_update_ts", b.lockError(lockRequest(startTS, startTS, noWait, "k")), "conflict PessimisticRetry")
	found := b.mustLock(startTS, b.now(), "k", "absent")
	if string(found[0].Value) != "1" || !found[0].Found || found[1].Found {
		t.Errorf("found %v", found)
	}
	if b.lockOf([]byte("absent")) == nil {
		t.Error("an absent key is not locked")
	}
	b.expectKind("another", b.lockError(lockRequest(b.now(), b.now(), noWait, "k")), "locked")
}

func TestPessimisticLocksAllOrNone(t *testing.T) {
	b := newBed(t)
	b.mustLock(b.now(), b.now(), "b")
	b.expectKind("one is taken", b.lockError(lockRequest(b.now(), b.now(), noWait, "a", "b")), "locked")
	if b.lockOf([]byte("a")) != nil {
		t.Error("the free one was locked")
	}
}

func TestLockOnlyIfExists(t *testing.T) {
	b := newBed(t)
	b.run(put1("there", "1"))
	r := lockRequest(b.now(), b.now(), noWait, "there", "absent")
	r.LockOnlyIfExists = true
	if _, errs := b.AcquirePessimisticLocks(t.Context(), r); errs != nil {
		t.Fatal(errs)
	}
	if b.lockOf([]byte("there")) == nil || b.lockOf([]byte("absent")) != nil {
		t.Error("not exactly the existing key is locked")
	}
	r.ReturnValues = false
	b.expectKind("without return_values", b.lockError(r), "abort")
}

func TestLockForInsert(t *testing.T) {
	b := newBed(t)
	b.run(put1("k", "1"))
	b.run(change(kvrpcpb.Op_Lock, "k"))
	r := lockRequest(b.now(), b.now(), noWait, "k")
	r.Mutations[0].Assertion = kvrpcpb.Assertion_NotExist
	b.expectKind("it exists", b.lockError(r), "exists")
	b.mustLock(r.StartVersion, r.ForUpdateTs, "k")
	if found, errs := b.AcquirePessimisticLocks(t.Context(), r); errs != nil || !found[0].Found {
		t.Errorf("a key the transaction has locked is not checked again, only read: %v %v", found, errs)
	}
	b.PessimisticRollback(Range{}, bytesOf([]string{"k"}), r.StartVersion, r.ForUpdateTs)
	b.run(change(kvrpcpb.Op_Del, "k"))
	r.ForUpdateTs = b.now()
	if _, errs := b.AcquirePessimisticLocks(t.Context(), r); errs != nil {
		t.Errorf("deleted: %v", errs)
	}
}

func TestLockAfterRollbackFails(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.BatchRollback(bytesOf([]string{"k"}), startTS)
	b.run(put1("k", "1"))
	b.expectKind("rolled back", b.lockError(lockRequest(startTS, b.now(), noWait, "k")), "abort")
}

func TestPessimisticRollbackLeavesNoTrace(t *testing.T) {
	b := newBed(t)
	startTS, first, second := b.now(), b.now(), b.now()
	b.mustLock(startTS, second, "k", "l")
	b.PessimisticRollback(Range{}, bytesOf([]string{"k"}), startTS, first)
	if b.lockOf([]byte("k")) == nil {
		t.Fatal("a later statement's lock was given up")
	}
	b.PessimisticRollback(Range{}, bytesOf([]string{"k"}), startTS, second)
	if b.lockOf([]byte("k")) != nil {
		t.Fatal("still locked")
	}
	b.mustLock(startTS, b.now(), "k") // the transaction goes on
	b.PessimisticRollback(Range{}, nil, startTS, b.now())
	if b.lockOf([]byte("k")) != nil || b.lockOf([]byte("l")) != nil {
		t.Error("no keys means all of them")
	}
	if c := b.Counts(); c != (Counts{}) {
		t.Errorf("left behind: %+v", c)
	}
}

func TestPessimisticRollbackSparesPrewrittenKeys(t *testing.T) {
	b := newBed(t)
	startTS, forUpdateTS := b.now(), b.now()
	b.mustLock(startTS, forUpdateTS, "k")
	b.mustPrewrite(pessimistic(startTS, forUpdateTS, wasLocked, put1("k", "1")))
	b.PessimisticRollback(Range{}, bytesOf([]string{"k"}), startTS, b.now())
	b.expect("prewritten", b.read(b.now(), "k"), locked)
	b.expectKind("locking it again", b.lockError(lockRequest(startTS, b.now(), noWait, "k")), "abort")
}

func TestLockingAgainRaisesForUpdateTS(t *testing.T) {
	b := newBed(t)
	startTS, first, second := b.now(), b.now(), b.now()
	b.mustLock(startTS, first, "k")
	b.mustLock(startTS, second, "k")
	b.mustLock(startTS, first, "k")
	if at := b.lockOf([]byte("k")).forUpdateTS; at != second {
		t.Errorf("for_update_ts is %d, want %d", at, second)
	}
	b.HeartBeat([]byte("k"), startTS, 99999, 0)
	b.mustLock(startTS, b.now(), "k")
	if ttl := b.lockOf([]byte("k")).ttl; ttl != undecidedTTL {
		t.Errorf("the new lock lives %d ms, not as long as it asked for", ttl)
	}
}

func forceLock(startTS, forUpdateTS uint64, wait int64, key string) *kvrpcpb.PessimisticLockRequest {
	r := lockRequest(startTS, forUpdateTS, wait, key)
	r.WakeUpMode = kvrpcpb.PessimisticLockWakeUpMode_WakeUpModeForceLock
	return r
}

func TestForceLockTakesNewerVersions(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	commitTS := b.run(put1("k", "new"))
	for range 2 { // the second is a repetition
		found, errs := b.AcquirePessimisticLocks(t.Context(), forceLock(startTS, startTS, noWait, "k"))
		if errs != nil || found[0].ConflictTS != commitTS || string(found[0].Value) != "new" {
			t.Fatalf("%+v %v", found, errs)
		}
	}
	if at := b.lockOf([]byte("k")).forUpdateTS; at != commitTS {
		t.Errorf("for_update_ts is %d, want %d", at, commitTS)
	}
	b.mustPrewrite(pessimistic(startTS, startTS, wasLocked, put1("k", "mine")))
	b.run(put1("l", "new"))
	insert := forceLock(startTS, startTS, noWait, "l")
	insert.Mutations[0].Assertion = kvrpcpb.Assertion_NotExist
	if found, errs := b.AcquirePessimisticLocks(t.Context(), insert); errs != nil || !found[0].Found {
		t.Errorf("over a conflict, absence is not checked: %v %v", found, errs)
	}
	found, errs := b.AcquirePessimisticLocks(t.Context(), forceLock(startTS, b.now(), noWait, "absent"))
	if errs != nil || found[0].ConflictTS != 0 || found[0].Found {
		t.Errorf("%+v %v", found, errs)
	}
}

func TestAForcingWaiterGetsTheLock(t *testing.T) {
	b := newBed(t)
	holder, waiter := b.now(), b.now()
	b.mustPrewrite(optimistic(holder, put1("k", "1")))
	result := b.lockLater(forceLock(waiter, waiter, asLongAsCan, "k"), "k")
	b.mustCommit(holder, b.now(), "k")
	if errs := b.answerOf(result); errs != nil {
		t.Fatal(errs)
	}
	if l := b.lockOf([]byte("k")); l == nil || l.startTS != waiter {
		t.Errorf("the lock is %+v", l)
	}
	b.expectKind("patience is for all waits together", b.lockError(forceLock(b.now(), b.now(), 5, "k")), "locked")
}
