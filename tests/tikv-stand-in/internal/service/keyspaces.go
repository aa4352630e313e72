package service

import (
	"context"
	"slices"
	"sync"

	"github.com/pingcap/kvproto/pkg/keyspacepb"
	"github.com/pingcap/kvproto/pkg/pdpb"
)

// Keyspaces are the names under which parts of a cluster's keys are kept apart. DEFAULT is always there.
type Keyspaces struct {
	keyspacepb.UnimplementedKeyspaceServer
	pd *PD

	mu  sync.Mutex
	all []*keyspacepb.KeyspaceMeta // by id
}

// NewKeyspaces makes DEFAULT and the named ones, with ids from 1.
func NewKeyspaces(names []string) *Keyspaces {
	k := &Keyspaces{}
	for _, name := range append([]string{"DEFAULT"}, names...) {
		k.Add(name)
	}
	return k
}

// Add makes a keyspace, unless there is one of this name, and returns its id.
func (k *Keyspaces) Add(name string) uint32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.index(name); i >= 0 {
		return k.all[i].Id
	}
	id := uint32(len(k.all))
	k.all = append(k.all, &keyspacepb.KeyspaceMeta{Id: id, Name: name, State: keyspacepb.KeyspaceState_ENABLED})
	return id
}

func (k *Keyspaces) index(name string) int {
	return slices.IndexFunc(k.all, func(m *keyspacepb.KeyspaceMeta) bool { return m.Name == name })
}

func (k *Keyspaces) LoadKeyspace(ctx context.Context, r *keyspacepb.LoadKeyspaceRequest) (*keyspacepb.LoadKeyspaceResponse, error) {
	err := k.pd.admit(ctx, "LoadKeyspace", r.Header)
	k.mu.Lock()
	defer k.mu.Unlock()
	i := k.index(r.Name)
	if i < 0 {
		return &keyspacepb.LoadKeyspaceResponse{Header: k.pd.failed(pdpb.ErrorType_ENTRY_NOT_FOUND, "keyspace does not exist")}, err
	}
	return &keyspacepb.LoadKeyspaceResponse{Header: k.pd.header(), Keyspace: k.all[i]}, err
}

func (k *Keyspaces) GetAllKeyspaces(ctx context.Context, r *keyspacepb.GetAllKeyspacesRequest) (*keyspacepb.GetAllKeyspacesResponse, error) {
	err := k.pd.admit(ctx, "GetAllKeyspaces", r.Header)
	k.mu.Lock()
	defer k.mu.Unlock()
	response := &keyspacepb.GetAllKeyspacesResponse{Header: k.pd.header()}
	for _, m := range k.all {
		if m.Id >= r.StartId && (r.Limit == 0 || len(response.Keyspaces) < int(r.Limit)) {
			response.Keyspaces = append(response.Keyspaces, m)
		}
	}
	return response, err
}
