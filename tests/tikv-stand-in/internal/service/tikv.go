package service

import (
	"context"
	"fmt"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"google.golang.org/grpc"

	"stemdb/tests/tikv-stand-in/internal/faults"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
	"stemdb/tests/tikv-stand-in/internal/placement"
)

// TiKV is one store's service. All stores of a cluster share their data.
type TiKV struct {
	tikvpb.UnimplementedTikvServer
	*node
	id      uint64
	cluster *placement.Cluster
	data    *mvcc.Store
}

// NewTiKV makes the service of one store at address; it is not served before Start. The cluster, which has to know all its
// stores' addresses first, is given by Join.
func NewTiKV(options Options, address string) (*TiKV, error) {
	n, err := newNode(options, faults.AnyStore, address)
	if err != nil {
		return nil, err
	}
	t := &TiKV{node: n}
	n.register = func(server *grpc.Server) { tikvpb.RegisterTikvServer(server, t) }
	return t, nil
}

// Join makes it the store of this id. It has to be called before Start.
func (t *TiKV) Join(cluster *placement.Cluster, id uint64, data *mvcc.Store) {
	t.cluster, t.id, t.data, t.node.store = cluster, id, data, id
}

// Address is where the store listens, or did before it was stopped.
func (t *TiKV) Address() string { return t.address }

// Start offers the store's service; it does nothing when that runs.
func (t *TiKV) Start() error { return t.start() }

// Stop breaks all connections and refuses new ones, as when the process is killed. The caller must tell the
// cluster.
func (t *TiKV) Stop() { t.stop() }

// keyed is a request to one region.
type keyed interface{ GetContext() *kvrpcpb.Context }

// call serves a request to a region: faults first, then the region's checks, then the work. The work gets
// either the region's range or the error to return.
func call[Q keyed, R any](ctx context.Context, t *TiKV, name string, request Q, keys [][]byte, work func(mvcc.Range, *errorpb.Error) *R) (response *R, err error) {
	err = t.around(ctx, name, keys, func(fault faults.Rule) {
		region, problem := t.admit(request.GetContext(), keys, fault)
		response = work(region, problem)
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

func (t *TiKV) admit(request *kvrpcpb.Context, keys [][]byte, fault faults.Rule) (mvcc.Range, *errorpb.Error) {
	if fault.RegionError != "" {
		problem, err := t.cluster.InjectedError(fault.RegionError, request.GetRegionId())
		if err == nil {
			return mvcc.Range{}, problem
		}
	}
	region, problem := t.cluster.Check(t.id, request)
	if problem != nil {
		return region, problem
	}
	for _, key := range keys {
		if !region.Contains(key) {
			return region, placement.KeyNotInRegion(key, request.GetRegionId(), region)
		}
	}
	return region, nil
}

func one(key []byte) [][]byte { return [][]byte{key} }

func mutated(mutations []*kvrpcpb.Mutation) [][]byte {
	keys := make([][]byte, len(mutations))
	for i, m := range mutations {
		keys[i] = m.Key
	}
	return keys
}

func (t *TiKV) KvPrewrite(ctx context.Context, r *kvrpcpb.PrewriteRequest) (*kvrpcpb.PrewriteResponse, error) {
	return call(ctx, t, "Prewrite", r, mutated(r.Mutations), func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.PrewriteResponse {
		if problem != nil {
			return &kvrpcpb.PrewriteResponse{RegionError: problem}
		}
		if err := wrongKey(r.Context, mutated(r.Mutations)); err != nil {
			return &kvrpcpb.PrewriteResponse{Errors: []mvcc.KeyError{err}}
		}
		done, errs := t.data.Prewrite(r)
		return &kvrpcpb.PrewriteResponse{Errors: errs, MinCommitTs: done.MinCommitTS, OnePcCommitTs: done.OnePhaseCommitTS}
	})
}

func (t *TiKV) KvCommit(ctx context.Context, r *kvrpcpb.CommitRequest) (*kvrpcpb.CommitResponse, error) {
	return call(ctx, t, "Commit", r, r.Keys, func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.CommitResponse {
		if problem != nil {
			return &kvrpcpb.CommitResponse{RegionError: problem}
		}
		if err := t.data.Commit(r.Keys, r.StartVersion, r.CommitVersion); err != nil {
			return &kvrpcpb.CommitResponse{Error: err}
		}
		return &kvrpcpb.CommitResponse{CommitVersion: r.CommitVersion}
	})
}

func (t *TiKV) KvPessimisticLock(ctx context.Context, r *kvrpcpb.PessimisticLockRequest) (*kvrpcpb.PessimisticLockResponse, error) {
	return call(ctx, t, "PessimisticLock", r, mutated(r.Mutations), func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.PessimisticLockResponse {
		if problem != nil {
			return &kvrpcpb.PessimisticLockResponse{RegionError: problem}
		}
		if err := wrongKey(r.Context, mutated(r.Mutations)); err != nil {
			return &kvrpcpb.PessimisticLockResponse{Errors: []mvcc.KeyError{err}}
		}
		found, errs := t.data.AcquirePessimisticLocks(ctx, r)
		return lockResponse(r, found, errs)
	})
}

// lockResponse says what was found in the fields of the request's mode.
func lockResponse(r *kvrpcpb.PessimisticLockRequest, found []mvcc.LockedKey, errs []mvcc.KeyError) *kvrpcpb.PessimisticLockResponse {
	response := &kvrpcpb.PessimisticLockResponse{Errors: errs}
	if r.WakeUpMode == kvrpcpb.PessimisticLockWakeUpMode_WakeUpModeForceLock {
		response.Results = forceLockResults(r, found)
		return response
	}
	for _, key := range found {
		if r.ReturnValues {
			response.Values = append(response.Values, key.Value)
		}
		if r.ReturnValues || r.CheckExistence {
			response.NotFounds = append(response.NotFounds, !key.Found)
		}
	}
	return response
}

// forceLockResults has a result for each key, also when none was locked. A key locked over a conflict always comes with its
// value.
func forceLockResults(r *kvrpcpb.PessimisticLockRequest, found []mvcc.LockedKey) []*kvrpcpb.PessimisticLockKeyResult {
	results := make([]*kvrpcpb.PessimisticLockKeyResult, len(r.Mutations))
	for i := range results {
		results[i] = &kvrpcpb.PessimisticLockKeyResult{Type: kvrpcpb.PessimisticLockKeyResultType_LockResultFailed}
		if i >= len(found) {
			continue
		}
		key, result := found[i], results[i]
		result.Type = kvrpcpb.PessimisticLockKeyResultType_LockResultNormal
		if key.ConflictTS != 0 {
			result.Type = kvrpcpb.PessimisticLockKeyResultType_LockResultLockedWithConflict
			result.LockedWithConflictTs = key.ConflictTS
		}
		if r.ReturnValues || key.ConflictTS != 0 {
			result.Value = key.Value
		}
		if r.ReturnValues || r.CheckExistence || key.ConflictTS != 0 {
			result.Existence = key.Found
		}
	}
	return results
}

func (t *TiKV) KVPessimisticRollback(ctx context.Context, r *kvrpcpb.PessimisticRollbackRequest) (*kvrpcpb.PessimisticRollbackResponse, error) {
	return call(ctx, t, "PessimisticRollback", r, r.Keys, func(region mvcc.Range, problem *errorpb.Error) *kvrpcpb.PessimisticRollbackResponse {
		if problem != nil {
			return &kvrpcpb.PessimisticRollbackResponse{RegionError: problem}
		}
		t.data.PessimisticRollback(region, r.Keys, r.StartVersion, r.ForUpdateTs)
		return &kvrpcpb.PessimisticRollbackResponse{}
	})
}

func (t *TiKV) KvBatchRollback(ctx context.Context, r *kvrpcpb.BatchRollbackRequest) (*kvrpcpb.BatchRollbackResponse, error) {
	return call(ctx, t, "BatchRollback", r, r.Keys, func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.BatchRollbackResponse {
		if problem != nil {
			return &kvrpcpb.BatchRollbackResponse{RegionError: problem}
		}
		return &kvrpcpb.BatchRollbackResponse{Error: t.data.BatchRollback(r.Keys, r.StartVersion)}
	})
}

func (t *TiKV) KvCleanup(ctx context.Context, r *kvrpcpb.CleanupRequest) (*kvrpcpb.CleanupResponse, error) {
	return call(ctx, t, "Cleanup", r, one(r.Key), func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.CleanupResponse {
		if problem != nil {
			return &kvrpcpb.CleanupResponse{RegionError: problem}
		}
		committedAt, err := t.data.Cleanup(r.Key, r.StartVersion, r.CurrentTs)
		return &kvrpcpb.CleanupResponse{CommitVersion: committedAt, Error: err}
	})
}

func (t *TiKV) KvTxnHeartBeat(ctx context.Context, r *kvrpcpb.TxnHeartBeatRequest) (*kvrpcpb.TxnHeartBeatResponse, error) {
	return call(ctx, t, "TxnHeartBeat", r, one(r.PrimaryLock), func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.TxnHeartBeatResponse {
		if problem != nil {
			return &kvrpcpb.TxnHeartBeatResponse{RegionError: problem}
		}
		ttl, err := t.data.HeartBeat(r.PrimaryLock, r.StartVersion, r.AdviseLockTtl, r.MinCommitTs)
		return &kvrpcpb.TxnHeartBeatResponse{LockTtl: ttl, Error: err}
	})
}

func (t *TiKV) KvCheckTxnStatus(ctx context.Context, r *kvrpcpb.CheckTxnStatusRequest) (*kvrpcpb.CheckTxnStatusResponse, error) {
	return call(ctx, t, "CheckTxnStatus", r, one(r.PrimaryKey), func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.CheckTxnStatusResponse {
		if problem != nil {
			return &kvrpcpb.CheckTxnStatusResponse{RegionError: problem}
		}
		response, err := t.data.CheckTxnStatus(r)
		if err != nil {
			return &kvrpcpb.CheckTxnStatusResponse{Error: err}
		}
		return response
	})
}

func (t *TiKV) KvCheckSecondaryLocks(ctx context.Context, r *kvrpcpb.CheckSecondaryLocksRequest) (*kvrpcpb.CheckSecondaryLocksResponse, error) {
	return call(ctx, t, "CheckSecondaryLocks", r, r.Keys, func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.CheckSecondaryLocksResponse {
		if problem != nil {
			return &kvrpcpb.CheckSecondaryLocksResponse{RegionError: problem}
		}
		locks, committedAt := t.data.CheckSecondaryLocks(r.Keys, r.StartVersion)
		return &kvrpcpb.CheckSecondaryLocksResponse{Locks: locks, CommitTs: committedAt}
	})
}

func (t *TiKV) KvScanLock(ctx context.Context, r *kvrpcpb.ScanLockRequest) (*kvrpcpb.ScanLockResponse, error) {
	return call(ctx, t, "ScanLock", r, nil, func(region mvcc.Range, problem *errorpb.Error) *kvrpcpb.ScanLockResponse {
		if problem != nil {
			return &kvrpcpb.ScanLockResponse{RegionError: problem}
		}
		return &kvrpcpb.ScanLockResponse{Locks: t.data.ScanLocks(clip(region, r.StartKey, r.EndKey), r.MaxVersion, int(r.Limit))}
	})
}

func (t *TiKV) KvResolveLock(ctx context.Context, r *kvrpcpb.ResolveLockRequest) (*kvrpcpb.ResolveLockResponse, error) {
	return call(ctx, t, "ResolveLock", r, r.Keys, func(region mvcc.Range, problem *errorpb.Error) *kvrpcpb.ResolveLockResponse {
		if problem != nil {
			return &kvrpcpb.ResolveLockResponse{RegionError: problem}
		}
		if len(r.Keys) > 0 {
			return &kvrpcpb.ResolveLockResponse{Error: t.data.ResolveKeys(r.Keys, r.StartVersion, r.CommitVersion)}
		}
		decided := make(map[uint64]uint64)
		for _, transaction := range r.TxnInfos {
			decided[transaction.Txn] = transaction.Status
		}
		if len(decided) == 0 {
			decided[r.StartVersion] = r.CommitVersion
		}
		return &kvrpcpb.ResolveLockResponse{Error: t.data.ResolveLocks(region, decided)}
	})
}

// KvGC collects one region's garbage at once. Stores of TiKV 5 and later do it by themselves when PD's safe
// point moves, and so does this one. It serves the call all the same, as older stores did.
func (t *TiKV) KvGC(ctx context.Context, r *kvrpcpb.GCRequest) (*kvrpcpb.GCResponse, error) {
	return call(ctx, t, "GC", r, nil, func(region mvcc.Range, problem *errorpb.Error) *kvrpcpb.GCResponse {
		if problem != nil {
			return &kvrpcpb.GCResponse{RegionError: problem}
		}
		t.data.CollectGarbage(region, r.SafePoint)
		return &kvrpcpb.GCResponse{}
	})
}

func (t *TiKV) KvDeleteRange(ctx context.Context, r *kvrpcpb.DeleteRangeRequest) (*kvrpcpb.DeleteRangeResponse, error) {
	return call(ctx, t, "DeleteRange", r, nil, func(region mvcc.Range, problem *errorpb.Error) *kvrpcpb.DeleteRangeResponse {
		if problem != nil {
			return &kvrpcpb.DeleteRangeResponse{RegionError: problem}
		}
		if !r.NotifyOnly {
			t.data.Destroy(clip(region, r.StartKey, r.EndKey))
		}
		return &kvrpcpb.DeleteRangeResponse{}
	})
}

// UnsafeDestroyRange is for a whole store, whatever its regions. Stores share their data here, so that the first one asked
// destroys it for all.
func (t *TiKV) UnsafeDestroyRange(ctx context.Context, r *kvrpcpb.UnsafeDestroyRangeRequest) (*kvrpcpb.UnsafeDestroyRangeResponse, error) {
	err := t.around(ctx, "UnsafeDestroyRange", nil, func(faults.Rule) {
		t.data.Destroy(mvcc.Range{Start: r.StartKey, End: r.EndKey})
	})
	return &kvrpcpb.UnsafeDestroyRangeResponse{}, err
}

func (t *TiKV) SplitRegion(ctx context.Context, r *kvrpcpb.SplitRegionRequest) (*kvrpcpb.SplitRegionResponse, error) {
	keys := r.SplitKeys
	if len(keys) == 0 {
		keys = one(r.SplitKey)
	}
	return call(ctx, t, "SplitRegion", r, keys, func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.SplitRegionResponse {
		if problem != nil {
			return &kvrpcpb.SplitRegionResponse{RegionError: problem}
		}
		response, err := t.split(keys)
		if err != nil {
			return &kvrpcpb.SplitRegionResponse{RegionError: &errorpb.Error{Message: err.Error()}}
		}
		return response
	})
}

func (t *TiKV) split(keys [][]byte) (*kvrpcpb.SplitRegionResponse, error) {
	response := &kvrpcpb.SplitRegionResponse{}
	add := func(region *metapb.Region) {
		if n := len(response.Regions); n == 0 || response.Regions[n-1].Id != region.Id {
			response.Regions = append(response.Regions, region)
		}
	}
	for _, key := range keys {
		if _, err := t.cluster.Split(key); err != nil {
			return nil, fmt.Errorf("split: %w", err)
		}
	}
	for _, key := range keys {
		if left, found := t.cluster.RegionBefore(placement.Encode(key)); found {
			add(left.Meta)
		}
		add(t.cluster.RegionAt(placement.Encode(key)).Meta)
	}
	if n := len(response.Regions); n == 2 {
		response.Left, response.Right = response.Regions[0], response.Regions[1]
	}
	return response, nil
}
