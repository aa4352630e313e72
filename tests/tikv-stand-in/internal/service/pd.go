package service

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"stemdb/tests/tikv-stand-in/internal/faults"
)

// PD is one member of the placement driver: timestamps, where regions are, safe points. Only the group's leader answers most
// calls. The keyspaces' service shares its port.
type PD struct {
	pdpb.UnimplementedPDServer
	*node
	*PDGroup
	index int
}

// admit checks every call but a client's first two: faults, then leadership, then the cluster's identity.
func (p *PD) admit(ctx context.Context, call string, header *pdpb.RequestHeader) error {
	var refused error
	err := p.around(ctx, call, nil, func(faults.Rule) {
		switch asked := header.GetClusterId(); {
		case p.Leader() != p.index:
			refused = status.Error(codes.Unavailable, "not leader")
		case asked != p.cluster.ID:
			refused = status.Errorf(codes.FailedPrecondition, "mismatch cluster id, need %d but got %d", p.cluster.ID, asked)
		}
	})
	return errors.Join(err, refused)
}

// GetMembers is served by every member, with the leader it knows.
func (p *PD) GetMembers(ctx context.Context, _ *pdpb.GetMembersRequest) (*pdpb.GetMembersResponse, error) {
	err := p.around(ctx, "GetMembers", nil, func(faults.Rule) {})
	response := &pdpb.GetMembersResponse{Header: p.header()}
	for i := range p.members {
		response.Members = append(response.Members, p.describe(i))
	}
	if leader := p.Leader(); leader != noLeader {
		response.Leader = response.Members[leader]
		response.EtcdLeader = response.Leader
	}
	return response, err
}

func (p *PD) GetClusterInfo(ctx context.Context, _ *pdpb.GetClusterInfoRequest) (*pdpb.GetClusterInfoResponse, error) {
	err := p.around(ctx, "GetClusterInfo", nil, func(faults.Rule) {})
	return &pdpb.GetClusterInfoResponse{Header: p.header(), ServiceModes: []pdpb.ServiceMode{pdpb.ServiceMode_PD_SVC_MODE}}, err
}

func (p *PD) IsBootstrapped(ctx context.Context, r *pdpb.IsBootstrappedRequest) (*pdpb.IsBootstrappedResponse, error) {
	err := p.admit(ctx, "IsBootstrapped", r.Header)
	return &pdpb.IsBootstrappedResponse{Header: p.header(), Bootstrapped: true}, err
}

func (p *PD) AllocID(ctx context.Context, r *pdpb.AllocIDRequest) (*pdpb.AllocIDResponse, error) {
	err := p.admit(ctx, "AllocID", r.Header)
	return &pdpb.AllocIDResponse{Header: p.header(), Id: p.cluster.NewID()}, err
}

func (p *PD) GetClusterConfig(ctx context.Context, r *pdpb.GetClusterConfigRequest) (*pdpb.GetClusterConfigResponse, error) {
	err := p.admit(ctx, "GetClusterConfig", r.Header)
	return &pdpb.GetClusterConfigResponse{Header: p.header(), Cluster: &metapb.Cluster{Id: p.cluster.ID, MaxPeerCount: 3}}, err
}

// Tso hands out timestamps. A request for n of them gets the last; the ones before it in the same millisecond are its too.
func (p *PD) Tso(stream pdpb.PD_TsoServer) error {
	ctx := stream.Context()
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if r.Count == 0 {
			return status.Error(codes.Unknown, "tso count should be positive")
		}
		if err := p.admit(ctx, "Tso", r.Header); err != nil {
			return err
		}
		p.options.Faults.Count("Timestamps", uint64(r.Count))
		physical, logical := p.clock.Take(int64(r.Count))
		response := &pdpb.TsoResponse{Header: p.header(), Count: r.Count, Timestamp: &pdpb.Timestamp{Physical: physical, Logical: logical}}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func (p *PD) GetMinTS(ctx context.Context, r *pdpb.GetMinTSRequest) (*pdpb.GetMinTSResponse, error) {
	err := p.admit(ctx, "GetMinTS", r.Header)
	physical, logical := p.clock.Take(1)
	return &pdpb.GetMinTSResponse{Header: p.header(), Timestamp: &pdpb.Timestamp{Physical: physical, Logical: logical}}, err
}

func (p *PD) GetStore(ctx context.Context, r *pdpb.GetStoreRequest) (*pdpb.GetStoreResponse, error) {
	err := p.admit(ctx, "GetStore", r.Header)
	store := p.cluster.Store(r.StoreId)
	if store == nil {
		message := fmt.Sprintf("invalid store ID %d, not found", r.StoreId)
		return &pdpb.GetStoreResponse{Header: p.failed(pdpb.ErrorType_UNKNOWN, message)}, err
	}
	return &pdpb.GetStoreResponse{Header: p.header(), Store: store}, err
}

func (p *PD) GetAllStores(ctx context.Context, r *pdpb.GetAllStoresRequest) (*pdpb.GetAllStoresResponse, error) {
	err := p.admit(ctx, "GetAllStores", r.Header)
	return &pdpb.GetAllStoresResponse{Header: p.header(), Stores: p.cluster.Stores()}, err
}
