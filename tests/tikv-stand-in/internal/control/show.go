package control

import (
	"bytes"
	"fmt"
	"net/url"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"

	"stemdb/tests/tikv-stand-in/internal/mvcc"
	"stemdb/tests/tikv-stand-in/internal/placement"
)

type shownStore struct {
	ID      uint64 `json:"id"`
	Address string `json:"address"`
	Up      bool   `json:"up"`
	Leaders int    `json:"leaders"`
}

func (s *Server) status(url.Values) (any, error) {
	leaders := make(map[uint64]int)
	regions := s.Cluster.Regions(nil, nil, 0)
	for _, region := range regions {
		leaders[region.Leader.GetStoreId()]++
	}
	var stores []shownStore
	for _, store := range s.Cluster.Stores() {
		stores = append(stores, shownStore{store.Id, store.Address, s.Cluster.Up(store.Id), leaders[store.Id]})
	}
	counts := s.Data.Counts()
	return map[string]any{
		"cluster_id": s.Cluster.ID,
		"pd":         s.PD.Addresses(),
		"pd_leader":  s.PD.Leader(),
		"stores":     stores,
		"regions":    len(regions),
		"keys":       counts.Keys,
		"versions":   counts.Versions,
		"locks":      counts.Locks,
		"waiters":    counts.Waiters,
		"max_ts":     s.Data.MaxTS(),
		"faults":     s.Faults.Pending(),
	}, nil
}

// region's bounds are plain keys in hexadecimal; no end is the empty string.
type region struct {
	ID      uint64   `json:"id"`
	Start   string   `json:"start"`
	End     string   `json:"end"`
	ConfVer uint64   `json:"conf_ver"`
	Version uint64   `json:"version"`
	Leader  uint64   `json:"leader_store"` // 0 when there is none
	Stores  []uint64 `json:"stores"`
}

func describe(r placement.Region) region {
	start, _ := placement.Decode(r.Meta.StartKey)
	end, _ := placement.Decode(r.Meta.EndKey)
	shown := region{
		ID: r.Meta.Id, Start: fmt.Sprintf("%x", start), End: fmt.Sprintf("%x", end),
		ConfVer: r.Meta.RegionEpoch.ConfVer, Version: r.Meta.RegionEpoch.Version, Leader: r.Leader.GetStoreId(),
	}
	for _, peer := range r.Meta.Peers {
		shown.Stores = append(shown.Stores, peer.StoreId)
	}
	return shown
}

func (s *Server) regions(url.Values) (any, error) {
	shown := []region{}
	for _, r := range s.Cluster.Regions(nil, nil, 0) {
		shown = append(shown, describe(r))
	}
	return shown, nil
}

type shownLock struct {
	Key         string `json:"key"` // hexadecimal, as is the primary
	Primary     string `json:"primary"`
	Kind        string `json:"kind"`
	StartTS     uint64 `json:"start_ts"`
	ForUpdateTS uint64 `json:"for_update_ts"`
	MinCommitTS uint64 `json:"min_commit_ts"`
	TTL         uint64 `json:"ttl_ms"`
	AsyncCommit bool   `json:"async_commit"`
}

// locks shows every lock, so that a test can check that none is left behind.
func (s *Server) locks(url.Values) (any, error) {
	shown := []shownLock{}
	for _, l := range s.Data.Locks(mvcc.Range{}) {
		shown = append(shown, shownLock{
			Key: fmt.Sprintf("%x", l.Key), Primary: fmt.Sprintf("%x", l.PrimaryLock), Kind: kvrpcpb.Op_name[int32(l.LockType)],
			StartTS: l.LockVersion, ForUpdateTS: l.LockForUpdateTs, MinCommitTS: l.MinCommitTs, TTL: l.LockTtl,
			AsyncCommit: l.UseAsyncCommit,
		})
	}
	return shown, nil
}

// loseLocks removes the pessimistic lock of a key.
func (s *Server) loseLocks(form url.Values) (any, error) {
	key, err := keyOf(form)
	if err != nil {
		return nil, err
	}
	only := mvcc.Range{Start: key, End: append(bytes.Clone(key), 0)}
	return map[string]int{"lost": s.Data.LoseLocks(only)}, nil
}

// counters shows how often each call was made; reset=1 sets the counts to 0 after showing them.
func (s *Server) counters(form url.Values) (any, error) {
	return s.Faults.Counts(form.Get("reset") == "1"), nil
}

// atOnce shows how many calls of each kind were served at the same time, at most; reset=1 as for the counters.
func (s *Server) atOnce(form url.Values) (any, error) {
	return s.Faults.AtOnce(form.Get("reset") == "1"), nil
}
