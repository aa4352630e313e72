package cluster

import (
	"math"
	"testing"

	"github.com/pingcap/kvproto/pkg/keyspacepb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"stemdb/tests/tikv-stand-in/internal/clock"
	"stemdb/tests/tikv-stand-in/internal/placement"
)

func TestTimestampsGrow(t *testing.T) {
	b := newBed(t)
	stream, err := b.pd.Tso(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for _, n := range []uint32{1, 100, 1, 200000, 200000, 7} {
		if err := stream.Send(&pdpb.TsoRequest{Header: b.header(), Count: n}); err != nil {
			t.Fatal(err)
		}
		r, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		end := clock.Compose(r.Timestamp.Physical, r.Timestamp.Logical)
		if first := end - uint64(n) + 1; first <= last || r.Timestamp.Logical < int64(n) {
			t.Errorf("%d timestamps up to %d overlap those up to %d", n, end, last)
		}
		last = end
	}
	b.must(nil, "/advance?ms=60000")
	if now := b.Clock.Now(); now-last < 60000<<clock.LogicalBits {
		t.Errorf("advanced by %d ms only", (now-last)>>clock.LogicalBits)
	}
}

func TestTheClusterIsChecked(t *testing.T) {
	b := newBed(t)
	m, err := b.pd.GetMembers(b.ctx, &pdpb.GetMembersRequest{})
	if err != nil || m.Header.ClusterId != b.Cluster.Cluster.ID || m.Leader.ClientUrls[0] != "http://"+b.PD.Addresses()[0] {
		t.Fatalf("%v %v", m, err)
	}
	wrong := &pdpb.RequestHeader{ClusterId: m.Header.ClusterId + 1}
	if _, err := b.pd.GetAllStores(b.ctx, &pdpb.GetAllStoresRequest{Header: wrong}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v", err)
	}
	s, err := b.pd.GetAllStores(b.ctx, &pdpb.GetAllStoresRequest{Header: b.header()})
	if err != nil || len(s.Stores) != 4 {
		t.Errorf("%v %v", s, err)
	}
	if r, err := b.pd.GetStore(b.ctx, &pdpb.GetStoreRequest{Header: b.header(), StoreId: 77}); err != nil || r.Header.Error == nil {
		t.Errorf("%v %v", r, err)
	}
}

func TestRegionsByKey(t *testing.T) {
	b := newBed(t, "b", "c", "d")
	scan := func(start, end string, limit int32) int {
		r, err := b.pd.ScanRegions(b.ctx, &pdpb.ScanRegionsRequest{
			Header: b.header(), StartKey: placement.Encode([]byte(start)), EndKey: placement.Encode([]byte(end)), Limit: limit,
		})
		if err != nil || len(r.Regions) != len(r.RegionMetas) {
			t.Fatal(err)
		}
		return len(r.Regions)
	}
	for _, c := range []struct {
		start, end string
		limit      int32
		want       int
	}{{"", "", 0, 4}, {"", "b", 0, 1}, {"", "bb", 0, 2}, {"b", "", 0, 3}, {"bb", "c", 0, 1}, {"", "", 2, 2}, {"z", "", 0, 1}} {
		if got := scan(c.start, c.end, c.limit); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	at := func(key []byte) []byte {
		r, err := b.pd.GetRegion(b.ctx, &pdpb.GetRegionRequest{Header: b.header(), RegionKey: key})
		if err != nil {
			t.Fatal(err)
		}
		start, err := placement.Decode(r.Region.StartKey)
		if err != nil {
			t.Fatal(err)
		}
		return start
	}
	if got := at(placement.Encode([]byte("c"))); string(got) != "c" {
		t.Errorf("%q", got)
	}
	if got := at(append(placement.Encode([]byte("c")), 0)); string(got) != "c" {
		t.Errorf("just after an encoded key: %q", got)
	}
	p, err := b.pd.GetPrevRegion(b.ctx, &pdpb.GetRegionRequest{Header: b.header(), RegionKey: placement.Encode([]byte("c"))})
	if err != nil || string(p.Region.EndKey) != string(placement.Encode([]byte("c"))) {
		t.Errorf("%v %v", p, err)
	}
	k := func(s string) []byte { return placement.Encode([]byte(s)) }
	batch, err := b.pd.BatchScanRegions(b.ctx, &pdpb.BatchScanRegionsRequest{Header: b.header(), Ranges: []*pdpb.KeyRange{
		{StartKey: k("a"), EndKey: k("bb")}, {StartKey: k("bc"), EndKey: k("c")}, {StartKey: k("d"), EndKey: nil},
	}})
	if err != nil || len(batch.Regions) != 3 {
		t.Errorf("%v %v", batch, err)
	}
	split, err := b.pd.SplitRegions(b.ctx, &pdpb.SplitRegionsRequest{Header: b.header(), SplitKeys: [][]byte{k("x"), k("y")}})
	if err != nil || split.Header.Error != nil || len(split.RegionsId) != 2 || scan("", "", 0) != 6 {
		t.Errorf("%v %v", split, err)
	}
}

func TestSafePoints(t *testing.T) {
	t.Run("PD 9", func(t *testing.T) { testSafePoints(t, false) })
	t.Run("PD 8.5", func(t *testing.T) { testSafePoints(t, true) })
}

func testSafePoints(t *testing.T, old bool) {
	b := newBedOf(t, Settings{OldPD: old})
	ask := func(service string, ttl int64, safePoint uint64) (*pdpb.UpdateServiceGCSafePointResponse, error) {
		return b.pd.UpdateServiceGCSafePoint(b.ctx, &pdpb.UpdateServiceGCSafePointRequest{
			Header: b.header(), ServiceId: []byte(service), TTL: ttl, SafePoint: safePoint,
		})
	}
	update := func(service string, ttl int64, safePoint uint64) *pdpb.UpdateServiceGCSafePointResponse {
		r, err := ask(service, ttl, safePoint)
		if err != nil || r.Header.Error != nil {
			t.Fatalf("%v %v", r, err)
		}
		return r
	}
	update("backup", 1000, 50)
	if r := update("gc_worker", math.MaxInt64, 80); r.MinSafePoint != 50 || string(r.ServiceId) != "backup" {
		t.Errorf("held back by %v", r)
	}
	if r := update("late", 1000, 20); r.MinSafePoint != 50 {
		t.Errorf("a service that comes too late: %v", r)
	}
	update("backup", 0, 0)
	if r := update("gc_worker", math.MaxInt64, 80); r.MinSafePoint != 80 || string(r.ServiceId) != "gc_worker" {
		t.Errorf("after it ended: %v", r)
	}
	if r := update("late", 1000, 90); r.MinSafePoint != 80 {
		t.Errorf("a service that is in time: %v", r)
	}
	if _, err := ask("gc_worker", math.MaxInt64, 70); (err == nil) != old {
		t.Errorf("the collector goes back: %v", err)
	}
	update("late", 0, 0)

	b.write("k")
	b.write("k")
	collect := func(safePoint uint64) (*pdpb.UpdateGCSafePointResponse, error) {
		return b.pd.UpdateGCSafePoint(b.ctx, &pdpb.UpdateGCSafePointRequest{Header: b.header(), SafePoint: safePoint})
	}
	now := b.Clock.Now()
	if _, err := collect(now); (err == nil) != old {
		t.Errorf("what nobody has allowed is collected: %v", err)
	}
	update("gc_worker", math.MaxInt64, now)
	if _, err := collect(now); err != nil {
		t.Fatal(err)
	}
	if n := b.Data.Counts().Versions; n != 1 {
		t.Errorf("%d versions left", n)
	}
	if back, err := collect(1); err != nil || back.NewSafePoint <= 1 {
		t.Errorf("it went back: %v %v", back, err)
	}
}

func TestKeyspaces(t *testing.T) {
	b := newBed(t)
	client := keyspacepb.NewKeyspaceClient(b.dial(b.PD.Addresses()[0]))
	load := func(name string) *keyspacepb.LoadKeyspaceResponse {
		r, err := client.LoadKeyspace(b.ctx, &keyspacepb.LoadKeyspaceRequest{Header: b.header(), Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := load("tenant"); r.Header.Error.GetType() != pdpb.ErrorType_ENTRY_NOT_FOUND {
		t.Errorf("%v", r)
	}
	b.must(nil, "/keyspace?name=tenant")
	if r := load("tenant"); r.Keyspace.GetId() != 1 {
		t.Errorf("%v", r)
	}
	if r := load("DEFAULT"); r.Header.Error != nil || r.Keyspace.GetId() != 0 {
		t.Errorf("%v", r)
	}
}

func TestPDStopsAndComesBack(t *testing.T) {
	b := newBed(t)
	first := b.Clock.Now()
	b.must(nil, "/pd/stop")
	if _, err := b.pd.GetAllStores(b.ctx, &pdpb.GetAllStoresRequest{Header: b.header()}); status.Code(err) != codes.Unavailable {
		t.Errorf("a stopped PD answers %v", err)
	}
	b.must(nil, "/pd/start")
	again := pdpb.NewPDClient(b.dial(b.PD.Addresses()[0]))
	if _, err := again.GetAllStores(b.ctx, &pdpb.GetAllStoresRequest{Header: b.header()}); err != nil {
		t.Error(err)
	}
	if b.PD.Leader() != 0 {
		t.Errorf("member %d leads", b.PD.Leader())
	}
	if b.Clock.Now() <= first {
		t.Error("time went back")
	}
}

func TestPDsLeaderMoves(t *testing.T) {
	b := newBed(t)
	ask := func(member int) codes.Code {
		client := pdpb.NewPDClient(b.dial(b.PD.Addresses()[member]))
		_, err := client.GetAllStores(b.ctx, &pdpb.GetAllStoresRequest{Header: b.header()})
		return status.Code(err)
	}
	leaderOf := func(member int) string {
		client := pdpb.NewPDClient(b.dial(b.PD.Addresses()[member]))
		r, err := client.GetMembers(b.ctx, &pdpb.GetMembersRequest{})
		if err != nil || len(r.Members) != 3 {
			t.Fatalf("%v %v", r, err)
		}
		return r.Leader.GetName()
	}
	if ask(0) != codes.OK || ask(1) != codes.Unavailable || leaderOf(1) != "pd-0" {
		t.Error("the first member does not lead, or a follower answers")
	}
	b.must(nil, "/pd/leader?member=2")
	if ask(0) != codes.Unavailable || ask(2) != codes.OK || leaderOf(0) != "pd-2" {
		t.Error("the leader did not move")
	}
	b.must(nil, "/pd/stop?member=2")
	if leaderOf(1) != "pd-0" || ask(0) != codes.OK {
		t.Error("nobody took over")
	}
	b.must(nil, "/pd/stop?member=1")
	if leaderOf(0) != "" || ask(0) != codes.Unavailable {
		t.Error("one member of three leads")
	}
	if code, _ := b.do("/pd/leader?member=0"); code != 400 {
		t.Errorf("leading without a majority gives %d", code)
	}
}
