package service

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"stemdb/tests/tikv-stand-in/internal/faults"
)

// registry is PD's etcd, as far as servers of other databases register in it.
type registry struct {
	mu   sync.Mutex
	keys map[string]bool
}

// SetRegistered adds or removes a key of the registry, as a server does that starts or ends.
func (g *PDGroup) SetRegistered(key string, there bool) {
	r := &g.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys = make(map[string]bool)
	}
	if there {
		r.keys[key] = true
	} else {
		delete(r.keys, key)
	}
}

// registryService is etcd's service on one member's port. Every member serves it, not only PD's leader.
type registryService struct {
	etcdserverpb.UnimplementedKVServer
	pd *PD
}

func (s *registryService) Range(ctx context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	if err := s.pd.around(ctx, "Range", nil, func(faults.Rule) {}); err != nil {
		return nil, err
	}
	known := &s.pd.registry
	known.mu.Lock()
	defer known.mu.Unlock()
	response := &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{ClusterId: s.pd.cluster.ID}}
	for key := range known.keys {
		if is := []byte(key); bytes.Compare(is, r.Key) >= 0 && bytes.Compare(is, r.RangeEnd) < 0 {
			response.Kvs = append(response.Kvs, &mvccpb.KeyValue{Key: is})
		}
	}
	slices.SortFunc(response.Kvs, func(a, b *mvccpb.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	response.Count = int64(len(response.Kvs))
	return response, nil
}
