package mvcc

import (
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

func TestGarbageCollectionKeepsWhatTheSafePointSees(t *testing.T) {
	b := newBed(t)
	b.run(put1("k", "1"), put1("gone", "1"), put1("back", "1"))
	second := b.run(put1("k", "2"))
	b.run(change(kvrpcpb.Op_Lock, "k"))
	b.run(change(kvrpcpb.Op_Del, "gone"), change(kvrpcpb.Op_Del, "back"))
	b.BatchRollback(bytesOf([]string{"k"}), b.now())
	safePoint := b.now()
	third := b.run(put1("k", "3"), put1("back", "3"))
	b.CollectGarbage(Range{}, safePoint)
	b.expect("at the safe point", b.read(safePoint, "k"), "2")
	b.expect("after it", b.read(third, "k"), "3")
	b.expect("before it, collected", b.read(second-1, "k"), nothing)
	b.expect("deleted", b.read(safePoint, "gone"), nothing)
	b.expect("deleted then, here again", b.read(third, "back"), "3")
	if c := b.Counts(); c.Keys != 2 || c.Versions != 3 {
		t.Errorf("left: %+v", c)
	}
}

func TestGarbageCollectionKeepsToItsRangeAndLocks(t *testing.T) {
	b := newBed(t)
	for range 2 {
		b.run(put1("a", "1"), put1("b", "1"))
	}
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, put1("a", "2")))
	b.CollectGarbage(Range{End: []byte("b")}, b.now())
	if c := b.Counts(); c.Versions != 3 || c.Locks != 1 {
		t.Errorf("left: %+v", c)
	}
	b.mustCommit(startTS, b.now(), "a")
}

func TestDestroy(t *testing.T) {
	b := newBed(t)
	b.run(put1("a", "1"), put1("b", "1"), put1("c", "1"))
	b.mustPrewrite(optimistic(b.now(), put1("b", "2")))
	b.Destroy(Range{Start: []byte("b"), End: []byte("c")})
	now := b.now()
	b.expect("before", b.read(now, "a"), "1")
	b.expect("inside", b.read(now, "b"), nothing)
	b.expect("the end", b.read(now, "c"), "1")
	if c := b.Counts(); c.Keys != 2 || c.Locks != 0 {
		t.Errorf("left: %+v", c)
	}
}
