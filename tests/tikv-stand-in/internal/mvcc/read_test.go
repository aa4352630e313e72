package mvcc

import (
	"strings"
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

func TestSnapshotsSeeWhatWasCommittedBeforeThem(t *testing.T) {
	b := newBed(t)
	first := b.run(put1("k", "1"))
	second := b.run(put1("k", "2"))
	third := b.run(change(kvrpcpb.Op_Del, "k"))
	fourth := b.run(change(kvrpcpb.Op_Lock, "k"))
	b.expect("before", b.read(first-1, "k"), nothing)
	b.expect("first", b.read(first, "k"), "1")
	b.expect("just before second", b.read(second-1, "k"), "1")
	b.expect("second", b.read(second, "k"), "2")
	b.expect("deleted", b.read(third, "k"), nothing)
	b.expect("a lock record changes nothing", b.read(fourth, "k"), nothing)
}

func TestReadersWaitForPrewrittenKeysOnly(t *testing.T) {
	b := newBed(t)
	b.run(put1("k", "old"), put1("l", "old"), put1("p", "old"), put1("m", "old"))
	earlier := b.now()
	startTS := b.now()
	r := optimistic(startTS, put1("k", "new"), put1("m", "new"), change(kvrpcpb.Op_Lock, "l"))
	b.mustPrewrite(r)
	b.mustLock(b.now(), b.now(), "p")
	later := b.now()
	b.expect("prewritten", b.read(later, "k"), locked)
	b.expect("prewritten after the snapshot", b.read(earlier, "k"), "old")
	b.expect("locked without a value", b.read(later, "l"), "old")
	b.expect("pessimistic", b.read(later, "p"), "old")
	b.expect("known to commit later", b.readAs(Snapshot{Version: later, Resolved: []uint64{startTS}}, "k"), "old")
	b.expect("known to be committed", b.readAs(Snapshot{Version: later, Committed: []uint64{startTS}}, "k"), "new")
	b.expect("read committed", b.readAs(Snapshot{Version: later, Isolation: kvrpcpb.IsolationLevel_RC}, "k"), "old")
	b.expect("newest at the primary", b.read(MaxVersion, "k"), "old")
	b.expect("newest at a secondary, whose primary may be committed", b.read(MaxVersion, "m"), locked)
	if b.MaxTS() != later {
		t.Errorf("max_ts is %d, want that of the newest read, %d", b.MaxTS(), later)
	}
}

func TestNewestReadWaitsForAsynchronousCommit(t *testing.T) {
	b := newBed(t)
	r := optimistic(b.now(), put1("k", "new"))
	r.UseAsyncCommit = true
	b.mustPrewrite(r)
	b.expect("the transaction may be committed although its primary is locked", b.read(MaxVersion, "k"), locked)
}

func TestReadersBelowMinCommitTSDoNotWait(t *testing.T) {
	b := newBed(t)
	b.run(put1("k", "old"))
	r := optimistic(b.now(), put1("k", "new"))
	r.MinCommitTs = b.later(10)
	b.mustPrewrite(r)
	b.expect("below", b.read(r.MinCommitTs-1, "k"), "old")
	b.expect("at", b.read(r.MinCommitTs, "k"), locked)
}

func (b *bed) scan(version uint64, start, end string, options ScanOptions) string {
	var shown []string
	for _, pair := range b.Scan(Snapshot{Version: version}, Range{[]byte(start), []byte(end)}, options) {
		switch {
		case pair.Error != nil:
			shown = append(shown, locked)
		default:
			shown = append(shown, string(pair.Key)+"="+string(pair.Value))
		}
	}
	return strings.Join(shown, " ")
}

func TestScans(t *testing.T) {
	b := newBed(t)
	b.run(put1("a", "1"), put1("b", "2"), put1("c", "3"), put1("d", "4"))
	b.run(change(kvrpcpb.Op_Del, "b"))
	b.mustPrewrite(optimistic(b.now(), put1("c", "5")))
	now := b.now()
	b.expect("forward", b.scan(now, "a", "d", ScanOptions{Limit: 10}), "a=1 locked")
	b.expect("unbounded", b.scan(now, "", "", ScanOptions{Limit: 10}), "a=1 locked d=4")
	b.expect("limit", b.scan(now, "", "", ScanOptions{Limit: 2}), "a=1 locked")
	b.expect("no limit is none", b.scan(now, "", "", ScanOptions{}), "")
	b.expect("backward, end excluded", b.scan(now, "a", "d", ScanOptions{Limit: 10, Reverse: true}), "locked a=1")
	b.expect("backward, unbounded", b.scan(now, "", "", ScanOptions{Limit: 1, Reverse: true}), "d=4")
	b.expect("keys only", b.scan(now, "d", "", ScanOptions{Limit: 1, KeyOnly: true}), "d=")
	b.expect("before everything", b.scan(1, "", "", ScanOptions{Limit: 9}), "")
}

func TestBatchGetLeavesAbsentKeysOut(t *testing.T) {
	b := newBed(t)
	b.run(put1("a", "1"), put1("c", "3"))
	b.mustPrewrite(optimistic(b.now(), put1("b", "2")))
	pairs := b.BatchGet(Snapshot{Version: b.now()}, bytesOf([]string{"c", "x", "b", "a"}))
	if len(pairs) != 3 || string(pairs[0].Key) != "c" || pairs[1].Error.GetLocked() == nil || string(pairs[2].Value) != "1" {
		t.Errorf("got %v", pairs)
	}
}
