package mvcc

import (
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

func (b *bed) check(primary string, lockTS, callerTS, currentTS uint64) *kvrpcpb.CheckTxnStatusResponse {
	b.Helper()
	response, err := b.CheckTxnStatus(&kvrpcpb.CheckTxnStatusRequest{
		PrimaryKey: []byte(primary), LockTs: lockTS, CallerStartTs: callerTS, CurrentTs: currentTS, RollbackIfNotExist: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	return response
}

func TestStatusOfTheFinished(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("k", "1")))
	commitTS := b.now()
	b.mustCommit(startTS, commitTS, "k")
	if r := b.check("k", startTS, b.now(), b.now()); r.CommitVersion != commitTS || r.LockTtl != 0 {
		t.Errorf("committed: %v", r)
	}
	rolledBack := b.now()
	b.BatchRollback(bytesOf([]string{"k"}), rolledBack)
	if r := b.check("k", rolledBack, b.now(), b.now()); r.CommitVersion != 0 || r.LockTtl != 0 || r.Action != kvrpcpb.Action_NoAction {
		t.Errorf("rolled back: %v", r)
	}
}

func TestStatusOfTheUnknown(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	request := &kvrpcpb.CheckTxnStatusRequest{PrimaryKey: []byte("k"), LockTs: startTS, CurrentTs: b.now()}
	_, err := b.CheckTxnStatus(request)
	b.expectKind("not to be rolled back", err, "transaction not found")
	request.RollbackIfNotExist, request.ResolvingPessimisticLock = true, true
	if r, err := b.CheckTxnStatus(request); err != nil || r.Action != kvrpcpb.Action_LockNotExistDoNothing {
		t.Errorf("for a pessimistic lock: %v %v", r, err)
	}
	request.ResolvingPessimisticLock = false
	if r, err := b.CheckTxnStatus(request); err != nil || r.Action != kvrpcpb.Action_LockNotExistRollback {
		t.Errorf("to be rolled back: %v %v", r, err)
	}
	b.expectKind("it cannot begin any more", b.prewriteError(optimistic(startTS, put1("k", "1"))), "conflict SelfRolledBack")
}

func TestTheExpiredAreRolledBack(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("k", "1")))
	if r := b.check("k", startTS, b.now(), b.later(3000)); r.LockTtl != 3000 || r.LockInfo.GetLockVersion() != startTS {
		t.Errorf("alive: %v", r)
	}
	if r := b.check("k", startTS, b.now(), b.later(3001)); r.Action != kvrpcpb.Action_TTLExpireRollback || r.LockTtl != 0 {
		t.Errorf("over: %v", r)
	}
	b.expectKind("too late", b.Commit(bytesOf([]string{"k"}), startTS, b.later(4000)), "retryable")
}

func TestExpiredPessimisticPrimaryOfAPessimisticLock(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustLock(startTS, b.now(), "k")
	r, err := b.CheckTxnStatus(&kvrpcpb.CheckTxnStatusRequest{
		PrimaryKey: []byte("k"), LockTs: startTS, CurrentTs: b.later(undecidedTTL + 1), ResolvingPessimisticLock: true,
	})
	if err != nil || r.Action != kvrpcpb.Action_TTLExpirePessimisticRollback || b.lockOf([]byte("k")) != nil {
		t.Errorf("%v %v", r, err)
	}
	b.mustLock(startTS, b.now(), "k") // it was only unlocked
}

func TestReadersPushTheCommitTimestamp(t *testing.T) {
	b := newBed(t)
	b.run(put1("k", "0"))
	r := optimistic(b.now(), put1("k", "1"))
	r.MinCommitTs = r.StartVersion + 1
	b.mustPrewrite(r)
	reader := b.now()
	b.expect("it would wait", b.read(reader, "k"), locked)
	if s := b.check("k", r.StartVersion, reader, reader); s.Action != kvrpcpb.Action_MinCommitTSPushed || s.LockInfo.MinCommitTs <= reader {
		t.Errorf("not pushed: %v", s)
	}
	b.expect("it need not", b.read(reader, "k"), "0")
	b.expectKind("under the reader", b.Commit(bytesOf([]string{"k"}), r.StartVersion, reader), "commit too early")

	pushed := b.lockOf([]byte("k")).minCommitTS
	if s := b.check("k", r.StartVersion, MaxVersion, b.now()); s.Action != kvrpcpb.Action_MinCommitTSPushed || s.LockInfo.MinCommitTs != pushed {
		t.Errorf("a reader of the newest passes by and pushes nothing: %v", s)
	}
}

func TestLocksWithoutMinCommitTSAreNotPushed(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("k", "1")))
	if s := b.check("k", startTS, b.now(), b.now()); s.Action != kvrpcpb.Action_NoAction || s.LockInfo.MinCommitTs != 0 {
		t.Errorf("pushed: %v", s)
	}
}

func TestOnlyThePrimaryKnows(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("k", "1"), put1("l", "1")))
	_, err := b.CheckTxnStatus(&kvrpcpb.CheckTxnStatusRequest{
		PrimaryKey: []byte("l"), LockTs: startTS, CurrentTs: b.now(), VerifyIsPrimary: true,
	})
	b.expectKind("asked at a secondary", err, "not the primary")
}

func TestAsynchronousCommitIsDecidedByItsSecondaries(t *testing.T) {
	prewritten := func(b *bed) (*kvrpcpb.PrewriteRequest, uint64) {
		r := optimistic(b.now(), put1("p", "1"), put1("s", "1"))
		r.UseAsyncCommit, r.Secondaries = true, bytesOf([]string{"s"})
		return r, b.mustPrewrite(r).MinCommitTS
	}
	t.Run("an expired primary stays", func(t *testing.T) {
		b := newBed(t)
		r, _ := prewritten(b)
		if s := b.check("p", r.StartVersion, b.now(), b.later(9000)); !s.LockInfo.GetUseAsyncCommit() || len(s.LockInfo.Secondaries) != 1 {
			t.Errorf("%v", s)
		}
	})
	t.Run("all prewritten", func(t *testing.T) {
		b := newBed(t)
		r, minCommitTS := prewritten(b)
		locks, at := b.CheckSecondaryLocks(bytesOf([]string{"s"}), r.StartVersion)
		if len(locks) != 1 || locks[0].MinCommitTs > minCommitTS || at != 0 {
			t.Errorf("%v %d", locks, at)
		}
	})
	t.Run("committed", func(t *testing.T) {
		b := newBed(t)
		r, minCommitTS := prewritten(b)
		b.mustCommit(r.StartVersion, minCommitTS, "s")
		if locks, at := b.CheckSecondaryLocks(bytesOf([]string{"s"}), r.StartVersion); locks != nil || at != minCommitTS {
			t.Errorf("%v %d", locks, at)
		}
	})
	t.Run("one never prewritten", func(t *testing.T) {
		b := newBed(t)
		r, _ := prewritten(b)
		if locks, at := b.CheckSecondaryLocks(bytesOf([]string{"s", "missing"}), r.StartVersion); locks != nil || at != 0 {
			t.Errorf("%v %d", locks, at)
		}
		b.expectKind("kept out", b.prewriteError(optimistic(r.StartVersion, put1("missing", "1"))), "conflict SelfRolledBack")
	})
}

func TestHeartBeat(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustLock(startTS, b.now(), "k")
	if ttl, err := b.HeartBeat([]byte("k"), startTS, 20000, 0); ttl != 20000 || err != nil {
		t.Errorf("%d %v", ttl, err)
	}
	if ttl, _ := b.HeartBeat([]byte("k"), startTS, 10, 0); ttl != 20000 {
		t.Errorf("shortened to %d", ttl)
	}
	b.mustPrewrite(pessimistic(startTS, b.now(), wasLocked, put1("k", "1")))
	if ttl := b.lockOf([]byte("k")).ttl; ttl != 20000 {
		t.Errorf("prewrite shortened it to %d", ttl)
	}
	_, err := b.HeartBeat([]byte("k"), b.now(), 1, 0)
	b.expectKind("another transaction", err, "transaction not found")
}
