package service

import (
	"bytes"
	"context"

	"github.com/pingcap/kvproto/pkg/pdpb"

	"stemdb/tests/tikv-stand-in/internal/placement"
)

// PD's calls about regions. Keys are encoded here, and requests may contain bytes that are not an encoded
// key.

func (p *PD) found(region placement.Region) *pdpb.GetRegionResponse {
	return &pdpb.GetRegionResponse{Header: p.header(), Region: region.Meta, Leader: region.Leader, DownPeers: down(region)}
}

func down(region placement.Region) []*pdpb.PeerStats {
	var stats []*pdpb.PeerStats
	for _, peer := range region.Down {
		stats = append(stats, &pdpb.PeerStats{Peer: peer, DownSeconds: 1})
	}
	return stats
}

func (p *PD) GetRegion(ctx context.Context, r *pdpb.GetRegionRequest) (*pdpb.GetRegionResponse, error) {
	err := p.admit(ctx, "GetRegion", r.Header)
	return p.found(p.cluster.RegionAt(r.RegionKey)), err
}

func (p *PD) GetPrevRegion(ctx context.Context, r *pdpb.GetRegionRequest) (*pdpb.GetRegionResponse, error) {
	err := p.admit(ctx, "GetPrevRegion", r.Header)
	if region, found := p.cluster.RegionBefore(r.RegionKey); found {
		return p.found(region), err
	}
	return &pdpb.GetRegionResponse{Header: p.header()}, err
}

func (p *PD) GetRegionByID(ctx context.Context, r *pdpb.GetRegionByIDRequest) (*pdpb.GetRegionResponse, error) {
	err := p.admit(ctx, "GetRegionByID", r.Header)
	if region, found := p.cluster.RegionByID(r.RegionId); found {
		return p.found(region), err
	}
	return &pdpb.GetRegionResponse{Header: p.header()}, err
}

func (p *PD) ScanRegions(ctx context.Context, r *pdpb.ScanRegionsRequest) (*pdpb.ScanRegionsResponse, error) {
	err := p.admit(ctx, "ScanRegions", r.Header)
	response := &pdpb.ScanRegionsResponse{Header: p.header()}
	for _, region := range p.cluster.Regions(r.StartKey, r.EndKey, int(r.Limit)) {
		leader := region.Leader
		response.RegionMetas = append(response.RegionMetas, region.Meta)
		response.Leaders = append(response.Leaders, leader)
		response.Regions = append(response.Regions, extended(region))
	}
	return response, err
}

func (p *PD) BatchScanRegions(ctx context.Context, r *pdpb.BatchScanRegionsRequest) (*pdpb.BatchScanRegionsResponse, error) {
	err := p.admit(ctx, "BatchScanRegions", r.Header)
	response := &pdpb.BatchScanRegionsResponse{Header: p.header()}
	for i, keys := range r.Ranges {
		if i > 0 && bytes.Compare(keys.StartKey, r.Ranges[i-1].EndKey) < 0 {
			message := "the input ranges are not in order or overlap"
			return &pdpb.BatchScanRegionsResponse{Header: p.failed(pdpb.ErrorType_UNKNOWN, message)}, err
		}
		limit := 0
		if r.Limit > 0 {
			// One more, since the first may be the last of the range before.
			if limit = int(r.Limit) - len(response.Regions) + 1; limit == 1 {
				break
			}
		}
		for _, region := range p.cluster.Regions(keys.StartKey, keys.EndKey, limit) {
			n := len(response.Regions)
			if n > 0 && response.Regions[n-1].Region.Id == region.Meta.Id || r.Limit > 0 && n == int(r.Limit) {
				continue
			}
			response.Regions = append(response.Regions, extended(region))
		}
	}
	return response, err
}

func extended(region placement.Region) *pdpb.Region {
	return &pdpb.Region{Region: region.Meta, Leader: region.Leader, DownPeers: down(region)}
}

// SplitRegions splits at encoded keys.
func (p *PD) SplitRegions(ctx context.Context, r *pdpb.SplitRegionsRequest) (*pdpb.SplitRegionsResponse, error) {
	err := p.admit(ctx, "SplitRegions", r.Header)
	if err != nil {
		return nil, err
	}
	response := &pdpb.SplitRegionsResponse{Header: p.header(), FinishedPercentage: 100}
	for _, encoded := range r.SplitKeys {
		key, err := placement.Decode(encoded)
		if err != nil {
			return &pdpb.SplitRegionsResponse{Header: p.failed(pdpb.ErrorType_UNKNOWN, err.Error())}, nil
		}
		region, err := p.cluster.Split(key)
		if err != nil {
			return &pdpb.SplitRegionsResponse{Header: p.failed(pdpb.ErrorType_UNKNOWN, err.Error())}, nil
		}
		response.RegionsId = append(response.RegionsId, region.Meta.Id)
	}
	return response, nil
}

func (p *PD) ScatterRegion(ctx context.Context, r *pdpb.ScatterRegionRequest) (*pdpb.ScatterRegionResponse, error) {
	err := p.admit(ctx, "ScatterRegion", r.Header)
	ids := r.RegionsId
	if len(ids) == 0 {
		//lint:ignore SA1019 clients still send it
		ids = []uint64{r.RegionId}
	}
	if found := p.cluster.Scatter(ids); found < len(ids) {
		return &pdpb.ScatterRegionResponse{Header: p.failed(pdpb.ErrorType_REGION_NOT_FOUND, "region not found")}, err
	}
	return &pdpb.ScatterRegionResponse{Header: p.header(), FinishedPercentage: 100}, err
}

// GetOperator never finds an operator: PD does everything at once here.
func (p *PD) GetOperator(ctx context.Context, r *pdpb.GetOperatorRequest) (*pdpb.GetOperatorResponse, error) {
	err := p.admit(ctx, "GetOperator", r.Header)
	return &pdpb.GetOperatorResponse{Header: p.failed(pdpb.ErrorType_REGION_NOT_FOUND, "Not Found"), RegionId: r.RegionId}, err
}
