package placement

import (
	"fmt"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"

	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

// Check decides whether the store may serve a request with this context, in TiKV's order. It returns the
// region's range of plain keys, or the error with which the client corrects its region cache.
func (c *Cluster) Check(storeID uint64, request *kvrpcpb.Context) (mvcc.Range, *errorpb.Error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if asked := request.GetPeer().GetStoreId(); asked != storeID {
		return mvcc.Range{}, &errorpb.Error{
			Message:       fmt.Sprintf("store %d was asked for store %d", storeID, asked),
			StoreNotMatch: &errorpb.StoreNotMatch{RequestStoreId: asked, ActualStoreId: storeID},
		}
	}
	id := request.GetRegionId()
	r := c.byID[id]
	if r == nil || r.peerOn(storeID) == nil {
		return mvcc.Range{}, &errorpb.Error{
			Message:        fmt.Sprintf("region %d is not on store %d", id, storeID),
			RegionNotFound: &errorpb.RegionNotFound{RegionId: id},
		}
	}
	peer := r.peerOn(storeID)
	followerRead := request.GetReplicaRead() || request.GetStaleRead()
	if r.leader != peer && !followerRead {
		return mvcc.Range{}, notLeader(r)
	}
	if asked := request.GetPeer().GetId(); asked != peer.Id {
		return mvcc.Range{}, &errorpb.Error{
			Message:        fmt.Sprintf("peer %d of region %d was asked for peer %d", peer.Id, id, asked),
			MismatchPeerId: &errorpb.MismatchPeerId{RequestPeerId: asked, StorePeerId: peer.Id},
		}
	}
	if term := request.GetTerm(); term != 0 && r.term > term+1 {
		return mvcc.Range{}, &errorpb.Error{Message: "stale command", StaleCommand: &errorpb.StaleCommand{}}
	}
	epoch := request.GetRegionEpoch()
	if epoch.GetVersion() != r.version || epoch.GetConfVer() != r.confVer {
		return mvcc.Range{}, c.epochNotMatch(r)
	}
	return mvcc.Range{Start: r.start, End: r.end}, nil
}

func notLeader(r *region) *errorpb.Error {
	return &errorpb.Error{
		Message:   fmt.Sprintf("peer is not leader for region %d", r.id),
		NotLeader: &errorpb.NotLeader{RegionId: r.id, Leader: r.leader},
	}
}

// epochNotMatch returns the error with r and the region before it, which a split would have made from its
// left part.
func (c *Cluster) epochNotMatch(r *region) *errorpb.Error {
	current := []*metapb.Region{r.meta()}
	if i := c.at(r.start); i > 0 {
		current = append(current, c.regions[i-1].meta())
	}
	return &errorpb.Error{
		Message:       fmt.Sprintf("epoch of region %d has changed", r.id),
		EpochNotMatch: &errorpb.EpochNotMatch{CurrentRegions: current},
	}
}

// KeyNotInRegion is the answer for a key outside the region its request names.
func KeyNotInRegion(key []byte, regionID uint64, keys mvcc.Range) *errorpb.Error {
	return &errorpb.Error{
		Message: fmt.Sprintf("key %x is not in region %d", key, regionID),
		KeyNotInRegion: &errorpb.KeyNotInRegion{
			Key: Encode(key), RegionId: regionID, StartKey: Encode(keys.Start), EndKey: Encode(keys.End),
		},
	}
}

// InjectedError makes the region error that a test requests by name, for the region that a request named.
func (c *Cluster) InjectedError(kind string, regionID uint64) (*errorpb.Error, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := &errorpb.Error{Message: "injected: " + kind}
	switch kind {
	case "not-leader": // without saying who is
		e.NotLeader = &errorpb.NotLeader{RegionId: regionID}
	case "region-not-found":
		e.RegionNotFound = &errorpb.RegionNotFound{RegionId: regionID}
	case "epoch-not-match":
		if r := c.byID[regionID]; r != nil {
			return c.epochNotMatch(r), nil
		}
		e.EpochNotMatch = &errorpb.EpochNotMatch{}
	case "server-is-busy":
		e.ServerIsBusy = &errorpb.ServerIsBusy{Reason: "injected", BackoffMs: 10}
	case "stale-command":
		e.StaleCommand = &errorpb.StaleCommand{}
	case "max-timestamp-not-synced":
		e.MaxTimestampNotSynced = &errorpb.MaxTimestampNotSynced{}
	case "read-index-not-ready":
		e.ReadIndexNotReady = &errorpb.ReadIndexNotReady{RegionId: regionID, Reason: "injected"}
	case "proposal-in-merging-mode":
		e.ProposalInMergingMode = &errorpb.ProposalInMergingMode{RegionId: regionID}
	case "raft-entry-too-large":
		e.RaftEntryTooLarge = &errorpb.RaftEntryTooLarge{RegionId: regionID}
	case "disk-full":
		e.DiskFull = &errorpb.DiskFull{Reason: "injected"}
	default:
		return nil, fmt.Errorf("no region error is called %q", kind)
	}
	return e, nil
}
