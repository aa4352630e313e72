package cluster

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestServersOfOthersAreInTheRegistry(t *testing.T) {
	b := newBed(t)
	b.must(nil, "/tidb")
	b.must(nil, "/tidb?keyspace=shop")
	registry := etcdserverpb.NewKVClient(b.dial(b.PD.Addresses()[1]))
	under := func(prefix string) (keys []string) {
		t.Helper()
		response, err := registry.Range(b.ctx, &etcdserverpb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(prefix + "\xff")})
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range response.Kvs {
			keys = append(keys, string(kv.Key))
		}
		return keys
	}
	if found := under("/tidb/server/info/"); len(found) != 1 {
		t.Error(found)
	}
	if found := under("/keyspaces/tidb/"); len(found) != 1 || !strings.HasPrefix(found[0], "/keyspaces/tidb/1/tidb/server/info/") {
		t.Error(found)
	}
	b.must(nil, "/tidb?gone=1")
	if found := under("/tidb/"); len(found) != 0 {
		t.Error(found)
	}
}

func TestOneThatDiesInAnAsynchronousCommitLeavesItsLocks(t *testing.T) {
	b := newBed(t)
	hexes := []string{hex.EncodeToString([]byte("a")), hex.EncodeToString([]byte("b")), hex.EncodeToString([]byte("c"))}
	var died struct{ Start uint64 }
	b.must(&died, "/die-async?hexkeys=%s&absent=%s", strings.Join(hexes, ","), hexes[2])
	client, context := b.at("a")
	status, err := client.KvCheckTxnStatus(b.ctx, &kvrpcpb.CheckTxnStatusRequest{
		Context: context, PrimaryKey: []byte("a"), LockTs: died.Start, CurrentTs: died.Start, VerifyIsPrimary: true,
	})
	if err != nil || !status.GetLockInfo().GetUseAsyncCommit() || len(status.GetLockInfo().GetSecondaries()) != 2 {
		t.Fatal(status, err)
	}
	ask := func(keys ...string) *kvrpcpb.CheckSecondaryLocksResponse {
		t.Helper()
		r := &kvrpcpb.CheckSecondaryLocksRequest{Context: context, StartVersion: died.Start}
		for _, key := range keys {
			r.Keys = append(r.Keys, []byte(key))
		}
		response, err := client.KvCheckSecondaryLocks(b.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	if response := ask("b"); len(response.Locks) != 1 || response.Locks[0].MinCommitTs <= died.Start {
		t.Error(response)
	}
	if response := ask("b", "c"); len(response.Locks) == 2 || response.CommitTs != 0 {
		t.Error(response)
	}
	if status, _ := b.do("/die-async?hexkeys="); status != 400 {
		t.Error(status)
	}
}
