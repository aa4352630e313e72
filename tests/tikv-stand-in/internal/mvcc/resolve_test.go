package mvcc

import "testing"

func TestScanLocks(t *testing.T) {
	b := newBed(t)
	first := b.now()
	b.mustPrewrite(optimistic(first, put1("a", "1"), put1("c", "1")))
	second := b.now()
	b.mustLock(second, b.now(), "b")
	count := func(start, end string, maxVersion uint64, limit int) int {
		return len(b.ScanLocks(Range{[]byte(start), []byte(end)}, maxVersion, limit))
	}
	for _, c := range []struct {
		start, end string
		maxVersion uint64
		limit      int
		want       int
	}{{"", "", second, 0, 3}, {"", "", first, 0, 2}, {"b", "", second, 0, 2}, {"a", "b", second, 0, 1}, {"", "", second, 1, 1}} {
		if got := count(c.start, c.end, c.maxVersion, c.limit); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestResolveLocks(t *testing.T) {
	b := newBed(t)
	committed, rolledBack, alive := b.now(), b.now(), b.now()
	b.mustPrewrite(optimistic(committed, put1("a", "1"), put1("z", "1")))
	b.mustLock(committed, b.now(), "left") // over from a statement that was retried
	b.mustPrewrite(optimistic(rolledBack, put1("b", "1")))
	b.mustPrewrite(optimistic(alive, put1("c", "1")))
	commitTS := b.now()
	if err := b.ResolveLocks(Range{End: []byte("m")}, map[uint64]uint64{committed: commitTS, rolledBack: 0}); err != nil {
		t.Fatal(err)
	}
	now := b.now()
	b.expect("committed", b.read(now, "a"), "1")
	b.expect("rolled back", b.read(now, "b"), nothing)
	b.expect("alive", b.read(now, "c"), locked)
	b.expect("outside the range", b.read(now, "z"), locked)
	if b.lockOf([]byte("left")) != nil {
		t.Error("a pessimistic lock of a committed transaction is left behind")
	}
	if b.find([]byte("left")) != nil {
		t.Error("a pessimistic lock of a committed transaction became a record")
	}
	b.expectKind("rolled back for good", b.prewriteError(optimistic(rolledBack, put1("b", "1"))), "conflict SelfRolledBack")
}

func TestResolveKeys(t *testing.T) {
	b := newBed(t)
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("a", "1"), put1("b", "1")))
	commitTS := b.now()
	for range 2 {
		if err := b.ResolveKeys(bytesOf([]string{"a"}), startTS, commitTS); err != nil {
			t.Fatal(err)
		}
	}
	b.expect("committed", b.read(commitTS, "a"), "1")
	b.expect("not named", b.read(commitTS, "b"), locked)
	b.expectKind("to commit what is not there", b.ResolveKeys(bytesOf([]string{"x"}), startTS, commitTS), "retryable")
	b.expectKind("to roll back what is committed", b.ResolveKeys(bytesOf([]string{"a"}), startTS, 0), "abort")
}
