package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"stemdb/tests/tikv-stand-in/internal/mvcc"
	"stemdb/tests/tikv-stand-in/internal/placement"
)

// bed is a running cluster with a client's connections to it.
type bed struct {
	testing.TB
	*Cluster
	ctx context.Context
	pd  pdpb.PDClient
}

const anyPort = "127.0.0.1:0"

func newBed(t testing.TB, splits ...string) *bed {
	return newBedOf(t, Settings{Splits: splits})
}

func newBedOf(t testing.TB, s Settings) *bed {
	s.PDs, s.Control, s.Stores, s.Limits = []string{anyPort, anyPort, anyPort}, anyPort, 4, mvcc.DefaultLimits()
	c, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	b := &bed{TB: t, Cluster: c, ctx: ctx}
	b.pd = pdpb.NewPDClient(b.dial(c.PD.Addresses()[0]))
	return b
}

func (b *bed) dial(address string) *grpc.ClientConn {
	b.Helper()
	connection, err := grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { connection.Close() })
	return connection
}

func (b *bed) header() *pdpb.RequestHeader {
	return &pdpb.RequestHeader{ClusterId: b.Cluster.Cluster.ID}
}

// at looks the key's region up, and returns a connection to its leader and the context requests need.
func (b *bed) at(key string) (tikvpb.TikvClient, *kvrpcpb.Context) {
	b.Helper()
	r, err := b.pd.GetRegion(b.ctx, &pdpb.GetRegionRequest{Header: b.header(), RegionKey: placement.Encode([]byte(key))})
	if err != nil {
		b.Fatal(err)
	}
	store, err := b.pd.GetStore(b.ctx, &pdpb.GetStoreRequest{Header: b.header(), StoreId: r.Leader.GetStoreId()})
	if err != nil {
		b.Fatal(err)
	}
	return tikvpb.NewTikvClient(b.dial(store.Store.GetAddress())), &kvrpcpb.Context{
		RegionId: r.Region.Id, RegionEpoch: r.Region.RegionEpoch, Peer: r.Leader,
	}
}

func (b *bed) prewriteRequest(context *kvrpcpb.Context, startTS uint64, keys ...string) *kvrpcpb.PrewriteRequest {
	r := &kvrpcpb.PrewriteRequest{Context: context, PrimaryLock: []byte(keys[0]), StartVersion: startTS, LockTtl: 3000}
	for _, key := range keys {
		r.Mutations = append(r.Mutations, &kvrpcpb.Mutation{Op: kvrpcpb.Op_Put, Key: []byte(key), Value: []byte("value of " + key)})
	}
	return r
}

// write commits keys in one phase; they must be in one region.
func (b *bed) write(keys ...string) {
	b.Helper()
	client, context := b.at(keys[0])
	r := b.prewriteRequest(context, b.Clock.Now(), keys...)
	r.TryOnePc = true
	response, err := client.KvPrewrite(b.ctx, r)
	if err != nil || response.OnePcCommitTs == 0 {
		b.Fatalf("%v %v", response, err)
	}
}

// do sends a command to the control port and returns the status and the response.
func (b *bed) do(format string, args ...any) (int, []byte) {
	b.Helper()
	response, err := http.Get("http://" + b.ControlAddress + fmt.Sprintf(format, args...))
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	return response.StatusCode, body
}

// must sends a command to the control port, and fails the test if it is refused. into, if not nil, receives
// the response.
func (b *bed) must(into any, format string, args ...any) {
	b.Helper()
	status, body := b.do(format, args...)
	if status != http.StatusOK {
		b.Fatalf("%s: %s", fmt.Sprintf(format, args...), body)
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			b.Fatal(err)
		}
	}
}
