package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func TestReadAndWrite(t *testing.T) {
	b := newBed(t)
	b.write("a", "b")
	client, context := b.at("a")
	r, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte("a"), Version: ^uint64(0)})
	if err != nil || string(r.Value) != "value of a" || r.NotFound {
		t.Errorf("%v %v", r, err)
	}
	r, err = client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte("c"), Version: ^uint64(0)})
	if err != nil || !r.NotFound {
		t.Errorf("%v %v", r, err)
	}
}

func TestScanBoundsAreTheRegions(t *testing.T) {
	b := newBed(t, "m")
	b.write("a", "b")
	b.write("m", "n")
	left, context := b.at("a")
	scan := func(start, end string, reverse bool) int {
		r, err := left.KvScan(b.ctx, &kvrpcpb.ScanRequest{
			Context: context, StartKey: []byte(start), EndKey: []byte(end), Limit: 10, Version: b.Clock.Now(), Reverse: reverse,
		})
		switch {
		case err != nil || r.RegionError != nil:
			t.Fatalf("%v %v", r, err)
		case r.Error.GetAbort() != "":
			return -1
		}
		return len(r.Pairs)
	}
	for _, c := range []struct {
		start, end string
		reverse    bool
		want       int
	}{
		{"", "", false, 2}, {"", "m", false, 2}, {"a", "b", false, 1}, {"a", "n", false, -1}, {"m", "", true, 2},
		{"n", "", true, -1}, {"m", "b", true, 1}, {"", "", true, 0},
	} {
		if got := scan(c.start, c.end, c.reverse); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestStaleRegionsAreRefused(t *testing.T) {
	b := newBed(t)
	b.write("a", "z")
	client, old := b.at("z")
	get := func(context *kvrpcpb.Context, key string) *kvrpcpb.GetResponse {
		r, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte(key), Version: b.Clock.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	b.must(nil, "/split?key=m")
	e := get(old, "z").RegionError.GetEpochNotMatch()
	if e == nil || len(e.CurrentRegions) != 2 || e.CurrentRegions[0].Id != old.RegionId || len(e.CurrentRegions[0].StartKey) == 0 {
		t.Fatalf("after a split: %v", e)
	}
	_, now := b.at("z")
	if e := get(now, "a").RegionError.GetKeyNotInRegion(); e == nil {
		t.Error("the left part's key is not the right part's")
	}
	if r := get(now, "z"); string(r.Value) != "value of z" {
		t.Errorf("%v", r)
	}
	other := now.Peer.StoreId%3 + 1
	b.must(nil, "/leader?key=z&store=%d", other)
	if e := get(now, "z").RegionError.GetNotLeader(); e.GetLeader().GetStoreId() != other {
		t.Errorf("after the leader moved: %v", e)
	}
	b.must(nil, "/move?key=z&from=%d&to=4", now.Peer.StoreId)
	if e := get(now, "z").RegionError.GetRegionNotFound(); e == nil {
		t.Error("the store still has the region")
	}
	wrong := *now
	wrong.Peer = &(*now.Peer)
	wrong.Peer.StoreId = 99
	if e := get(&wrong, "z").RegionError.GetStoreNotMatch(); e == nil {
		t.Error("another store's request was served")
	}
	b.must(nil, "/merge?key=a")
	if n := len(b.Cluster.Cluster.Regions(nil, nil, 0)); n != 1 {
		t.Errorf("%d regions after the merge", n)
	}
}

func TestSplitRegionCall(t *testing.T) {
	b := newBed(t)
	client, context := b.at("a")
	r, err := client.SplitRegion(b.ctx, &kvrpcpb.SplitRegionRequest{Context: context, SplitKeys: [][]byte{[]byte("g"), []byte("p")}})
	if err != nil || r.RegionError != nil || len(r.Regions) != 3 || r.Regions[2].Id != context.RegionId {
		t.Errorf("%v %v", r, err)
	}
}

func TestAStoreStopsAndComesBack(t *testing.T) {
	b := newBed(t)
	b.write("k")
	client, old := b.at("k")
	stopped := old.Peer.StoreId
	b.must(nil, "/stop?store=%d", stopped)
	_, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: old, Key: []byte("k"), Version: b.Clock.Now()})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a stopped store answers %v", err)
	}
	other, context := b.at("k")
	if context.Peer.StoreId == stopped {
		t.Fatal("the stopped store leads")
	}
	r, err := other.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte("k"), Version: b.Clock.Now()})
	if err != nil || string(r.Value) != "value of k" {
		t.Errorf("%v %v", r, err)
	}

	b.must(nil, "/stop?store=%d", context.Peer.StoreId)
	if r := b.Cluster.Cluster.RegionAt(nil); r.Leader != nil {
		t.Error("one store of three leads")
	}
	b.must(nil, "/start?store=%d", stopped)
	b.must(nil, "/start?store=%d", context.Peer.StoreId)
	last, context := b.at("k")
	if r, err := last.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte("k"), Version: b.Clock.Now()}); err != nil || r.RegionError != nil {
		t.Errorf("%v %v", r, err)
	}
}

func TestStoresTellTheirHealth(t *testing.T) {
	b := newBed(t)
	client := healthpb.NewHealthClient(b.dial(b.StoreAddresses[0]))
	r, err := client.Check(b.ctx, &healthpb.HealthCheckRequest{})
	if err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v %v", r, err)
	}
}

func TestALeaderMayStayUnreachable(t *testing.T) {
	b := newBed(t)
	_, context := b.at("k")
	b.must(nil, "/stop?store=%d&leaders=stay", context.Peer.StoreId)
	if r := b.Cluster.Cluster.RegionAt(nil); r.Leader.GetStoreId() != context.Peer.StoreId {
		t.Errorf("the leader is %v", r.Leader)
	}
	b.must(nil, "/elect")
	if r := b.Cluster.Cluster.RegionAt(nil); r.Leader.GetStoreId() == context.Peer.StoreId {
		t.Error("it still leads")
	}
}

func TestARegionMayBeLeaderless(t *testing.T) {
	b := newBed(t)
	_, context := b.at("k")
	b.must(nil, "/stop?store=%d&leaders=none", context.Peer.StoreId)
	region := b.Cluster.Cluster.RegionAt(nil)
	if region.Leader != nil {
		t.Fatalf("the leader is %v", region.Leader)
	}
	for _, peer := range region.Meta.Peers {
		if peer.StoreId == context.Peer.StoreId {
			continue
		}
		client := tikvpb.NewTikvClient(b.dial(b.StoreAddresses[peer.StoreId-1]))
		asked := &kvrpcpb.Context{RegionId: region.Meta.Id, RegionEpoch: region.Meta.RegionEpoch, Peer: peer}
		r, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: asked, Key: []byte("k"), Version: 1})
		if e := r.GetRegionError().GetNotLeader(); err != nil || e == nil || e.Leader != nil {
			t.Errorf("a follower answers %v %v", r, err)
		}
	}
	if code, _ := b.do("/stop?store=1&leaders=odd"); code != 400 {
		t.Errorf("nonsense gives %d", code)
	}
}

func TestKeysOfKeyspacesAreChecked(t *testing.T) {
	b := newBed(t)
	client, context := b.at("k")
	context.ApiVersion = kvrpcpb.APIVersion_V2
	if r, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte("k"), Version: 1}); err != nil || r.Error.GetAbort() == "" {
		t.Errorf("%v %v", r, err)
	}
	if r, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte("x\x00\x00\x01k"), Version: 1}); err != nil || !r.NotFound {
		t.Errorf("%v %v", r, err)
	}
	if r, err := client.KvPrewrite(b.ctx, b.prewriteRequest(context, b.Clock.Now(), "xk", "k")); err != nil || len(r.Errors) != 1 {
		t.Errorf("%v %v", r, err)
	}
	scan := &kvrpcpb.ScanRequest{Context: context, StartKey: []byte("x"), Limit: 1, Version: 1}
	if r, err := client.KvScan(b.ctx, scan); err != nil || r.Error.GetAbort() == "" {
		t.Errorf("a scan past the keyspaces: %v %v", r, err)
	}
	scan.EndKey = []byte("y")
	if r, err := client.KvScan(b.ctx, scan); err != nil || r.Error != nil {
		t.Errorf("%v %v", r, err)
	}
}

func TestOutcomeUnknown(t *testing.T) {
	b := newBed(t)
	client, context := b.at("k")
	startTS := b.Clock.Now()
	if r, err := client.KvPrewrite(b.ctx, b.prewriteRequest(context, startTS, "k")); err != nil || r.Errors != nil {
		t.Fatalf("%v %v", r, err)
	}
	commit := &kvrpcpb.CommitRequest{Context: context, StartVersion: startTS, CommitVersion: b.Clock.Now(), Keys: [][]byte{[]byte("k")}}
	b.must(nil, "/drop-next?rpc=Commit&when=before")
	b.must(nil, "/drop-next?rpc=Commit")
	for i, wantLocks := range []int{1, 0} {
		if _, err := client.KvCommit(b.ctx, commit); status.Code(err) != codes.Unavailable {
			t.Fatalf("answered with %v", err)
		}
		if n := b.Data.Counts().Locks; n != wantLocks {
			t.Errorf("drop %d: %d locks", i, n)
		}
	}
	if r, err := client.KvCommit(b.ctx, commit); err != nil || r.Error != nil {
		t.Errorf("repeated: %v %v", r, err)
	}
}

func TestInjectedRegionErrors(t *testing.T) {
	b := newBed(t)
	b.write("k")
	client, context := b.at("k")
	b.must(nil, "/region-error-next?rpc=KvGet&error=server-is-busy&count=2")
	for i := range 3 {
		r, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context, Key: []byte("k"), Version: b.Clock.Now()})
		if err != nil || (r.RegionError.GetServerIsBusy() != nil) != (i < 2) {
			t.Errorf("%d: %v %v", i, r, err)
		}
	}
	if code, _ := b.do("/region-error-next?rpc=Get&error=nonsense"); code != 400 {
		t.Errorf("nonsense gives %d", code)
	}
}

func TestASlowStore(t *testing.T) {
	b := newBed(t)
	client, context_ := b.at("k")
	b.must(nil, "/slow?store=%d&ms=3600000", context_.Peer.StoreId)
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := client.KvGet(ctx, &kvrpcpb.GetRequest{Context: context_, Key: []byte("k"), Version: 1})
		done <- err
	}()
	for b.Faults.Counts(false)["Get"] == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
	b.must(nil, "/slow?store=%d&ms=0", context_.Peer.StoreId)
	if _, err := client.KvGet(b.ctx, &kvrpcpb.GetRequest{Context: context_, Key: []byte("k"), Version: 1}); err != nil {
		t.Error(err)
	}
}

func TestBatchCommands(t *testing.T) {
	b := newBed(t)
	b.write("k")
	client, context := b.at("k")
	stream, err := client.BatchCommands(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	get := func(key string) *tikvpb.BatchCommandsRequest_Request {
		return &tikvpb.BatchCommandsRequest_Request{Cmd: &tikvpb.BatchCommandsRequest_Request_Get{
			Get: &kvrpcpb.GetRequest{Context: context, Key: []byte(key), Version: b.Clock.Now()},
		}}
	}
	lock := func(startTS uint64) *tikvpb.BatchCommandsRequest_Request {
		return &tikvpb.BatchCommandsRequest_Request{Cmd: &tikvpb.BatchCommandsRequest_Request_PessimisticLock{
			PessimisticLock: &kvrpcpb.PessimisticLockRequest{
				Context: context, PrimaryLock: []byte("k"), StartVersion: startTS, ForUpdateTs: b.Clock.Now(), LockTtl: 3000,
				Mutations: []*kvrpcpb.Mutation{{Op: kvrpcpb.Op_PessimisticLock, Key: []byte("k")}},
			},
		}}
	}
	answers := make(map[uint64]*tikvpb.BatchCommandsResponse_Response)
	receive := func(until uint64) {
		for answers[until] == nil {
			m, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range m.RequestIds {
				answers[id] = m.Responses[i]
			}
		}
	}
	send := func(ids []uint64, requests ...*tikvpb.BatchCommandsRequest_Request) {
		if err := stream.Send(&tikvpb.BatchCommandsRequest{RequestIds: ids, Requests: requests}); err != nil {
			t.Fatal(err)
		}
	}
	holder := b.Clock.Now()
	send([]uint64{1}, lock(holder))
	receive(1)
	// The second lock waits; what comes after it does not.
	send([]uint64{2, 3, 4, 5}, lock(b.Clock.Now()), get("k"), get("x"), &tikvpb.BatchCommandsRequest_Request{})
	receive(3)
	receive(4)
	receive(5)
	if answers[2] != nil {
		t.Fatal("the lock was granted")
	}
	if v := answers[3].GetGet(); string(v.GetValue()) != "value of k" || !answers[4].GetGet().GetNotFound() || answers[5].Cmd != nil {
		t.Errorf("%v", answers)
	}
	b.Data.BatchRollback([][]byte{[]byte("k")}, holder)
	receive(2)
	if e := answers[2].GetPessimisticLock().GetErrors(); len(e) != 1 || e[0].Conflict == nil && e[0].Locked == nil {
		t.Errorf("%v", e)
	}
	b.must(nil, "/drop-next?rpc=Get")
	send([]uint64{6}, get("k"))
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("after the connection broke: %v", err)
	}
	var counts map[string]uint64
	b.must(&counts, "/counters?reset=1")
	if counts["BatchCommands"] != 3 || counts["Get"] != 3 {
		t.Errorf("%v", counts)
	}
}
