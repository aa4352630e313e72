package service

import (
	"context"
	"math"

	"github.com/pingcap/kvproto/pkg/coprocessor"
	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/tipb/go-tipb"

	compute "stemdb/tests/tikv-stand-in/internal/coprocessor"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

// requestTypeDAG says that a request's data is a tipb.DAGRequest.
const requestTypeDAG = 103

// keyspaceBytes is the length of a keyspace's prefix, behind which rows are found.
const keyspaceBytes = 4

// Coprocessor computes over the region's part of ranges. A bound outside the region is refused, as TiKV does. With a page
// size, it ends early, and says which range it has read.
func (t *TiKV) Coprocessor(ctx context.Context, r *coprocessor.Request) (*coprocessor.Response, error) {
	return call(ctx, t, "Coprocessor", r, nil, func(region mvcc.Range, problem *errorpb.Error) *coprocessor.Response {
		if problem != nil {
			return &coprocessor.Response{RegionError: problem}
		}
		if r.Tp != requestTypeDAG {
			return &coprocessor.Response{OtherError: "unsupported tp"}
		}
		var request tipb.DAGRequest
		if err := request.Unmarshal(r.Data); err != nil {
			return &coprocessor.Response{OtherError: err.Error()}
		}
		var pairs []compute.Pair
		var keys [][]byte
		for _, part := range r.Ranges {
			within := mvcc.Range{Start: part.Start, End: part.End}
			if err := wrongRange(r.Context, within); err != nil {
				return &coprocessor.Response{OtherError: err.Abort}
			}
			if !covers(region, within) {
				return &coprocessor.Response{OtherError: "Error(InvalidReqRange)"}
			}
			found := t.data.Scan(mvcc.SnapshotOf(r.StartTs, r.Context), within, mvcc.ScanOptions{Limit: math.MaxInt})
			for _, pair := range found {
				if pair.Error != nil {
					return &coprocessor.Response{Locked: pair.Error.Locked}
				}
				key := pair.Key
				if len(key) > keyspaceBytes && key[0] == keyspacePrefix {
					key = key[keyspaceBytes:]
				}
				keys = append(keys, pair.Key)
				pairs = append(pairs, compute.Pair{Key: key, Value: pair.Value})
			}
		}
		page, err := compute.Run(&request, pairs, int(r.PagingSize))
		if err != nil {
			return &coprocessor.Response{OtherError: err.Error()}
		}
		data, err := page.Response.Marshal()
		if err != nil {
			return &coprocessor.Response{OtherError: err.Error()}
		}
		response := &coprocessor.Response{Data: data}
		if page.Read < len(pairs) {
			response.Range = &coprocessor.KeyRange{Start: r.Ranges[0].Start, End: compute.Successor(keys[page.Read-1])}
		}
		return response
	})
}
