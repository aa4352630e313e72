package mvcc

import (
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

func TestOptimisticConflicts(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	other := b.run(put1("k", "1"))
	err := b.prewriteError(optimistic(startTS, put1("k", "2")))
	b.expectKind("committed after the start", err, "conflict Optimistic")
	if err.Conflict.ConflictCommitTs != other || err.Conflict.StartTs != startTS || string(err.Conflict.Key) != "k" {
		t.Errorf("the conflict tells %v", err.Conflict)
	}
	b.mustPrewrite(optimistic(b.now(), put1("k", "3")))
	b.expectKind("prewritten by another", b.prewriteError(optimistic(b.now(), put1("k", "4"))), "locked")
}

func TestALockRecordConflictsToo(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.run(change(kvrpcpb.Op_Lock, "k"))
	b.expectKind("locked and released since", b.prewriteError(optimistic(startTS, put1("k", "1"))), "conflict Optimistic")
}

func TestAllLockedKeysAreToldAndNothingIsWritten(t *testing.T) {
	b := newBed(t)
	b.mustPrewrite(optimistic(b.now(), put1("b", "1"), put1("c", "1")))
	_, errs := b.Prewrite(optimistic(b.now(), put1("a", "2"), put1("b", "2"), put1("c", "2")))
	if len(errs) != 2 || errs[0].Locked == nil || errs[1].Locked == nil {
		t.Errorf("got %v", errs)
	}
	b.expect("the key that was free", b.read(b.now(), "a"), nothing)
}

func TestInsertAndCheckNotExists(t *testing.T) {
	b := newBed(t)
	b.run(put1("there", "1"), put1("gone", "1"), put1("locked", "1"))
	b.run(change(kvrpcpb.Op_Del, "gone"))
	b.run(change(kvrpcpb.Op_Lock, "locked"))
	b.run(change(kvrpcpb.Op_Lock, "only"))
	for key, want := range map[string]string{"there": "exists", "locked": "exists", "gone": "none", "only": "none", "new": "none"} {
		for _, op := range []kvrpcpb.Op{kvrpcpb.Op_Insert, kvrpcpb.Op_CheckNotExists} {
			startTS := b.now()
			_, errs := b.Prewrite(optimistic(startTS, change(op, key)))
			var err KeyError
			if len(errs) > 0 {
				err = errs[0]
			}
			b.expectKind(op.String()+" "+key, err, want)
			if op == kvrpcpb.Op_CheckNotExists && b.lockOf([]byte(key)) != nil {
				t.Errorf("CheckNotExists locked %s", key)
			}
			b.BatchRollback(bytesOf([]string{key}), startTS)
		}
	}
	b.mustPrewrite(optimistic(b.now(), change(kvrpcpb.Op_Insert, "x"), put1("y", "1")))
	if op := b.lockOf([]byte("x")).op; op != kvrpcpb.Op_Put {
		t.Errorf("an insert is prewritten as %v", op)
	}
}

func TestPrewriteTwiceIsOnce(t *testing.T) {
	b := newBed(t)
	r := optimistic(b.now(), put1("k", "1"))
	b.mustPrewrite(r)
	again := optimistic(r.StartVersion, put1("k", "other"))
	b.mustPrewrite(again)
	commitTS := b.now()
	b.mustCommit(r.StartVersion, commitTS, "k")
	b.expect("the first value stands", b.read(commitTS, "k"), "1")
}

func TestNoPrewriteAfterRollback(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.BatchRollback(bytesOf([]string{"k"}), startTS)
	b.expectKind("rolled back", b.prewriteError(optimistic(startTS, put1("k", "1"))), "conflict SelfRolledBack")
}

func TestPessimisticPrewriteTrustsItsLock(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.run(put1("k", "other")) // after the start: the lock is taken with a newer for_update_ts
	forUpdateTS := b.now()
	b.mustLock(startTS, forUpdateTS, "k")
	b.mustPrewrite(pessimistic(startTS, forUpdateTS, wasLocked, put1("k", "mine")))
	commitTS := b.now()
	b.mustCommit(startTS, commitTS, "k")
	b.expect("committed", b.read(commitTS, "k"), "mine")
}

func TestPessimisticPrewriteOfKeysThatWereNotLocked(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustLock(startTS, b.now(), "p")
	forUpdateTS := b.now()
	b.run(put1("k", "other"))
	b.mustPrewrite(pessimistic(startTS, forUpdateTS, skipCheck, put1("k", "unchecked")))
	b.BatchRollback(bytesOf([]string{"k"}), startTS)

	err := b.prewriteError(pessimistic(startTS, forUpdateTS, checkNewer, put1("l", "1"), put1("k", "checked")))
	b.expectKind("rolled back or newer", err, "conflict LazyUniquenessCheck")
	b.mustPrewrite(optimistic(b.now(), put1("m", "other")))
	err = b.prewriteError(pessimistic(startTS, forUpdateTS, skipCheck, put1("m", "1")))
	b.expectKind("a lock of another is never overrun", err, "locked")
	if ttl := err.Locked.GetLockTtl(); ttl != 0 {
		t.Errorf("it says to wait %d ms before resolving", ttl)
	}
	absent := change(kvrpcpb.Op_CheckNotExists, "n")
	b.expectKind("a check without a lock", b.prewriteError(pessimistic(startTS, forUpdateTS, skipCheck, absent)), "abort")

	retried := pessimistic(startTS, forUpdateTS, skipCheck, put1("k", "again"))
	retried.Context = &kvrpcpb.Context{IsRetryRequest: true}
	b.expectKind("a repeated request is checked", b.prewriteError(retried), "abort")
}

func TestLostPessimisticLock(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(pessimistic(startTS, startTS, wasLocked, put1("untouched", "1")))
	b.run(put1("changed", "other"))
	b.expectKind("changed since", b.prewriteError(pessimistic(startTS, b.now(), wasLocked, put1("changed", "1"))), "abort")
	b.mustLock(b.now(), b.now(), "taken")
	b.expectKind("taken since", b.prewriteError(pessimistic(startTS, b.now(), wasLocked, put1("taken", "1"))), "abort")
}

func TestForUpdateTSConstraint(t *testing.T) {
	b := newBed(t)
	startTS, forUpdateTS := b.now(), b.now()
	b.mustLock(startTS, forUpdateTS, "k")
	r := pessimistic(startTS, forUpdateTS, wasLocked, put1("k", "1"))
	r.ForUpdateTsConstraints = []*kvrpcpb.PrewriteRequest_ForUpdateTSConstraint{{Index: 0, ExpectedForUpdateTs: forUpdateTS - 1}}
	b.expectKind("another lock than expected", b.prewriteError(r), "abort")
	r.ForUpdateTsConstraints[0].ExpectedForUpdateTs = forUpdateTS
	b.mustPrewrite(r)
}

func TestOptimisticPrewriteOverOwnPessimisticLock(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustLock(startTS, b.now(), "k")
	b.expectKind("mixed", b.prewriteError(optimistic(startTS, put1("k", "1"))), "abort")
}

func TestOnePhaseCommit(t *testing.T) {
	b := newBed(t)
	b.run(put1("k", "0"))
	startTS := b.now()
	reader := b.now()
	b.expect("before", b.read(reader, "k"), "0")
	r := optimistic(startTS, put1("k", "1"), put1("l", "1"))
	r.TryOnePc = true
	done := b.mustPrewrite(r)
	if done.OnePhaseCommitTS <= reader || done.OnePhaseCommitTS <= startTS {
		t.Errorf("committed at %d, under the reader at %d", done.OnePhaseCommitTS, reader)
	}
	b.expect("the reader's snapshot stays", b.read(reader, "k"), "0")
	b.expect("committed", b.read(done.OnePhaseCommitTS, "l"), "1")
	if again := b.mustPrewrite(r); again != done {
		t.Errorf("the repetition says %v, not %v", again, done)
	}
}

func TestOnePhaseCommitBeyondItsLimitTakesTwo(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.read(b.later(5), "k")
	r := optimistic(startTS, put1("k", "1"))
	r.TryOnePc, r.MaxCommitTs = true, b.later(1)
	if done := b.mustPrewrite(r); done != (Prewritten{}) {
		t.Errorf("got %v", done)
	}
	b.mustCommit(startTS, b.later(6), "k")
}

func TestOnePhaseCommitOfPessimisticTransaction(t *testing.T) {
	b := newBed(t)
	startTS, forUpdateTS := b.now(), b.now()
	b.mustLock(startTS, forUpdateTS, "k")
	r := pessimistic(startTS, forUpdateTS, wasLocked, put1("k", "1"))
	r.TryOnePc = true
	done := b.mustPrewrite(r)
	b.expect("committed", b.read(done.OnePhaseCommitTS, "k"), "1")
	b.expect("repeated", kindOf(nil), "none")
	if again := b.mustPrewrite(r); again != done {
		t.Errorf("the repetition says %v, not %v", again, done)
	}
	b.BatchRollback(bytesOf([]string{"x"}), startTS)
}

func TestOnePhaseAfterTwoPhasePrewriteDoesNotPretend(t *testing.T) {
	b := newBed(t)
	r := optimistic(b.now(), put1("k", "1"))
	b.mustPrewrite(r)
	r.TryOnePc = true
	if done := b.mustPrewrite(r); done.OnePhaseCommitTS != 0 {
		t.Errorf("claims a commit at %d of a key that is still locked", done.OnePhaseCommitTS)
	}
	async := optimistic(b.now(), put1("l", "1"))
	async.UseAsyncCommit = true
	first := b.mustPrewrite(async)
	async.TryOnePc = true
	if done := b.mustPrewrite(async); done != first {
		t.Errorf("asynchronous at first: got %v, want %v", done, first)
	}
}

func TestAsynchronousCommit(t *testing.T) {
	b := newBed(t)
	b.read(b.now(), "s")
	r := optimistic(b.now(), put1("p", "1"), put1("s", "1"))
	r.UseAsyncCommit, r.Secondaries = true, bytesOf([]string{"s"})
	reader := b.now()
	b.read(reader, "p")
	done := b.mustPrewrite(r)
	if done.MinCommitTS <= reader {
		t.Errorf("would commit at %d, under the reader at %d", done.MinCommitTS, reader)
	}
	if l := b.lockOf([]byte("p")); !l.asyncCommit || len(l.secondaries) != 1 || l.minCommitTS != done.MinCommitTS {
		t.Errorf("the primary's lock is %+v", l)
	}
	b.expect("below its timestamp", b.read(done.MinCommitTS-1, "p"), nothing)
	if again := b.mustPrewrite(r); again != done {
		t.Errorf("the repetition says %v, not %v", again, done)
	}
	b.mustCommit(r.StartVersion, done.MinCommitTS, "p", "s")
	if again := b.mustPrewrite(r); again != done {
		t.Errorf("the repetition after the commit says %v, not %v", again, done)
	}
}

func TestAssertions(t *testing.T) {
	b := newBed(t)
	b.run(put1("there", "1"))
	assert := func(key string, what kvrpcpb.Assertion, level kvrpcpb.AssertionLevel) KeyError {
		m := put1(key, "2")
		m.Assertion = what
		r := optimistic(b.now(), m)
		r.AssertionLevel = level
		_, errs := b.Prewrite(r)
		b.BatchRollback(bytesOf([]string{key}), r.StartVersion)
		if len(errs) > 0 {
			return errs[0]
		}
		return nil
	}
	strict, off := kvrpcpb.AssertionLevel_Strict, kvrpcpb.AssertionLevel_Off
	b.expectKind("right", assert("there", kvrpcpb.Assertion_Exist, strict), "none")
	b.expectKind("right", assert("absent", kvrpcpb.Assertion_NotExist, strict), "none")
	b.expectKind("wrong", assert("there", kvrpcpb.Assertion_NotExist, strict), "assertion")
	b.expectKind("wrong", assert("absent", kvrpcpb.Assertion_Exist, strict), "assertion")
	b.expectKind("wrong, not asked", assert("absent", kvrpcpb.Assertion_Exist, off), "none")
}
