package service

import (
	"context"
	"slices"
	"sync"

	"github.com/pingcap/kvproto/pkg/keyspacepb"
	"github.com/pingcap/kvproto/pkg/pdpb"
)

// keyspaces are named parts of a cluster's keys. DEFAULT always exists.
type keyspaces struct {
	mu  sync.Mutex
	all []*keyspacepb.KeyspaceMeta // by id
}

// newKeyspaces makes DEFAULT and the named ones, with ids from 1.
func newKeyspaces(names []string) *keyspaces {
	k := &keyspaces{}
	for _, name := range append([]string{"DEFAULT"}, names...) {
		k.add(name)
	}
	return k
}

func (k *keyspaces) add(name string) uint32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.index(name); i >= 0 {
		return k.all[i].Id
	}
	id := uint32(len(k.all))
	k.all = append(k.all, &keyspacepb.KeyspaceMeta{Id: id, Name: name, State: keyspacepb.KeyspaceState_ENABLED})
	return id
}

func (k *keyspaces) index(name string) int {
	return slices.IndexFunc(k.all, func(m *keyspacepb.KeyspaceMeta) bool { return m.Name == name })
}

// keyspaceService is the service on one member's port.
type keyspaceService struct {
	keyspacepb.UnimplementedKeyspaceServer
	pd *PD
}

func (s *keyspaceService) LoadKeyspace(ctx context.Context, r *keyspacepb.LoadKeyspaceRequest) (*keyspacepb.LoadKeyspaceResponse, error) {
	err := s.pd.admit(ctx, "LoadKeyspace", r.Header)
	k := s.pd.keyspaces
	k.mu.Lock()
	defer k.mu.Unlock()
	i := k.index(r.Name)
	if i < 0 {
		return &keyspacepb.LoadKeyspaceResponse{Header: s.pd.failed(pdpb.ErrorType_ENTRY_NOT_FOUND, "keyspace does not exist")}, err
	}
	return &keyspacepb.LoadKeyspaceResponse{Header: s.pd.header(), Keyspace: k.all[i]}, err
}

func (s *keyspaceService) GetAllKeyspaces(ctx context.Context, r *keyspacepb.GetAllKeyspacesRequest) (*keyspacepb.GetAllKeyspacesResponse, error) {
	err := s.pd.admit(ctx, "GetAllKeyspaces", r.Header)
	k := s.pd.keyspaces
	k.mu.Lock()
	defer k.mu.Unlock()
	response := &keyspacepb.GetAllKeyspacesResponse{Header: s.pd.header()}
	for _, m := range k.all {
		if m.Id >= r.StartId && (r.Limit == 0 || len(response.Keyspaces) < int(r.Limit)) {
			response.Keyspaces = append(response.Keyspaces, m)
		}
	}
	return response, err
}
