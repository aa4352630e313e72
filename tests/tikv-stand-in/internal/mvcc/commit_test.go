package mvcc

import (
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

func TestCommitIsAllOrNothingAndRepeatable(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("a", "1"), put1("b", "1")))
	commitTS := b.now()
	b.expectKind("a key never prewritten", b.Commit(bytesOf([]string{"a", "x"}), startTS, commitTS), "retryable")
	b.expect("nothing was committed", b.read(commitTS, "a"), locked)
	b.mustCommit(startTS, commitTS, "a", "b", "a")
	b.mustCommit(startTS, commitTS, "a", "b")
	b.expect("committed", b.read(commitTS, "a"), "1")
	b.expectKind("commit before the start", b.Commit(bytesOf([]string{"a"}), startTS, startTS), "abort")
}

func TestCommitAfterRollbackFails(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("k", "1")))
	if err := b.BatchRollback(bytesOf([]string{"k"}), startTS); err != nil {
		t.Fatal(err)
	}
	b.expectKind("rolled back", b.Commit(bytesOf([]string{"k"}), startTS, b.now()), "retryable")
	b.expect("nothing there", b.read(b.now(), "k"), nothing)
}

func TestRollbackAfterCommitFails(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("k", "1"), put1("l", "1")))
	commitTS := b.now()
	b.mustCommit(startTS, commitTS, "k")
	b.expectKind("committed", b.BatchRollback(bytesOf([]string{"l", "k"}), startTS), "abort")
	b.expect("the other key is still prewritten", b.read(b.now(), "l"), locked)
	if at, err := b.Cleanup([]byte("k"), startTS, 0); at != commitTS || err != nil {
		t.Errorf("cleanup of a committed key: %d, %v", at, err)
	}
}

func TestCommitOfAMerePessimisticLockFails(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustLock(startTS, b.now(), "k")
	b.expectKind("never prewritten", b.Commit(bytesOf([]string{"k"}), startTS, b.now()), "retryable")
}

func TestCommitBelowMinCommitTSFails(t *testing.T) {
	b := newBed(t)
	r := optimistic(b.now(), put1("k", "1"))
	r.MinCommitTs = b.later(3)
	b.mustPrewrite(r)
	err := b.Commit(bytesOf([]string{"k"}), r.StartVersion, b.now())
	b.expectKind("too early", err, "commit too early")
	if err.CommitTsExpired.GetMinCommitTs() != r.MinCommitTs {
		t.Errorf("it says %v", err.CommitTsExpired)
	}
	b.mustCommit(r.StartVersion, r.MinCommitTs, "k")
}

func TestACommitAndARollbackMayMeetAtOneTimestamp(t *testing.T) {
	b := newBed(t)
	for _, rollbackFirst := range []bool{true, false} {
		b.now()
		key := []string{"after", "before"}[map[bool]int{false: 0, true: 1}[rollbackFirst]]
		startTS := b.now()
		b.mustPrewrite(optimistic(startTS, put1(key, "1")))
		commitTS := b.now() // also the start of the transaction that is rolled back
		if rollbackFirst {
			b.BatchRollback(bytesOf([]string{key}), commitTS)
		}
		b.mustCommit(startTS, commitTS, key)
		if !rollbackFirst {
			b.BatchRollback(bytesOf([]string{key}), commitTS)
		}
		b.expect("the value is there", b.read(commitTS, key), "1")
		b.expectKind("the rollback too", b.prewriteError(optimistic(commitTS, put1(key, "2"))), "conflict SelfRolledBack")
	}
}

func TestCleanupMindsTheTimeToLive(t *testing.T) {
	b := newBed(t)
	r := optimistic(b.now(), put1("k", "1"))
	r.LockTtl = 100
	b.mustPrewrite(r)
	_, err := b.Cleanup([]byte("k"), r.StartVersion, b.later(100))
	b.expectKind("it lives", err, "locked")
	if _, err := b.Cleanup([]byte("k"), r.StartVersion, b.later(102)); err != nil {
		t.Errorf("it is over: %v", err)
	}
	b.expectKind("rolled back", b.prewriteError(r), "conflict SelfRolledBack")
}

func TestLockRecordsKeepValuesVisible(t *testing.T) {
	b := newBed(t)
	b.run(put1("k", "1"))
	for range 3 {
		b.run(change(kvrpcpb.Op_Lock, "k"))
	}
	b.expect("under lock records", b.read(b.now(), "k"), "1")
}
