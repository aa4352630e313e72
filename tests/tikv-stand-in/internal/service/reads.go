package service

import (
	"bytes"
	"context"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"

	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

func (t *TiKV) KvGet(ctx context.Context, r *kvrpcpb.GetRequest) (*kvrpcpb.GetResponse, error) {
	return call(ctx, t, "Get", r, one(r.Key), func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.GetResponse {
		if problem != nil {
			return &kvrpcpb.GetResponse{RegionError: problem}
		}
		if err := wrongKey(r.Context, one(r.Key)); err != nil {
			return &kvrpcpb.GetResponse{Error: err}
		}
		value, found, err := t.data.Get(mvcc.SnapshotOf(r.Version, r.Context), r.Key)
		return &kvrpcpb.GetResponse{Value: value, NotFound: !found && err == nil, Error: err}
	})
}

func (t *TiKV) KvBatchGet(ctx context.Context, r *kvrpcpb.BatchGetRequest) (*kvrpcpb.BatchGetResponse, error) {
	return call(ctx, t, "BatchGet", r, r.Keys, func(_ mvcc.Range, problem *errorpb.Error) *kvrpcpb.BatchGetResponse {
		if problem != nil {
			return &kvrpcpb.BatchGetResponse{RegionError: problem}
		}
		if err := wrongKey(r.Context, r.Keys); err != nil {
			return &kvrpcpb.BatchGetResponse{Error: err}
		}
		return &kvrpcpb.BatchGetResponse{Pairs: t.data.BatchGet(mvcc.SnapshotOf(r.Version, r.Context), r.Keys)}
	})
}

// KvScan reads from start_key up to end_key, or with reverse from below start_key down to end_key. A bound outside the
// region is refused, as TiKV does; an empty one means the region's own only at the end of a forward scan and of a
// backward one (there is no way to say "from the last key of the region" but its end key).
func (t *TiKV) KvScan(ctx context.Context, r *kvrpcpb.ScanRequest) (*kvrpcpb.ScanResponse, error) {
	return call(ctx, t, "Scan", r, nil, func(region mvcc.Range, problem *errorpb.Error) *kvrpcpb.ScanResponse {
		if problem != nil {
			return &kvrpcpb.ScanResponse{RegionError: problem}
		}
		keys := mvcc.Range{Start: r.StartKey, End: r.EndKey}
		if r.Reverse {
			keys = mvcc.Range{Start: r.EndKey, End: r.StartKey}
		}
		if err := wrongRange(r.Context, keys); err != nil {
			return &kvrpcpb.ScanResponse{Error: err}
		}
		switch {
		case r.Reverse && len(keys.End) == 0:
			return &kvrpcpb.ScanResponse{} // nothing is below the empty key
		case r.Reverse && len(keys.Start) == 0:
			keys.Start = region.Start
		case len(keys.End) == 0:
			keys.End = region.End
		}
		if !covers(region, keys) {
			return &kvrpcpb.ScanResponse{Error: &kvrpcpb.KeyError{Abort: "Error(Txn(Error(InvalidReqRange)))"}}
		}
		return &kvrpcpb.ScanResponse{Pairs: t.data.Scan(mvcc.SnapshotOf(r.Version, r.Context), keys, mvcc.ScanOptions{
			Limit: int(r.Limit), KeyOnly: r.KeyOnly, Reverse: r.Reverse, SampleStep: int(r.SampleStep),
		})}
	})
}

// covers reports whether keys lie within region.
func covers(region, keys mvcc.Range) bool {
	if bytes.Compare(keys.Start, region.Start) < 0 {
		return false
	}
	return len(region.End) == 0 || len(keys.End) > 0 && bytes.Compare(keys.End, region.End) <= 0
}

// clip returns the part of start to end that lies in region.
func clip(region mvcc.Range, start, end []byte) mvcc.Range {
	if bytes.Compare(start, region.Start) > 0 {
		region.Start = start
	}
	if len(end) > 0 && (len(region.End) == 0 || bytes.Compare(end, region.End) < 0) {
		region.End = end
	}
	return region
}
