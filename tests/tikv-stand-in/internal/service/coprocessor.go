package service

import (
	"context"
	"math"

	"github.com/pingcap/kvproto/pkg/coprocessor"
	"github.com/pingcap/tipb/go-tipb"

	compute "stemdb/tests/tikv-stand-in/internal/coprocessor"
	"stemdb/tests/tikv-stand-in/internal/faults"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

// requestTypeDAG says that a request's data is a tipb.DAGRequest.
const requestTypeDAG = 103

// keyspaceBytes is the length of a keyspace's prefix, behind which rows are found.
const keyspaceBytes = 4

// Coprocessor computes over the region's part of ranges. A bound outside the region is refused, as TiKV does. With a page
// size, it ends early, and says which range it has read.
func (t *TiKV) Coprocessor(ctx context.Context, r *coprocessor.Request) (response *coprocessor.Response, err error) {
	err = t.around(ctx, "Coprocessor", nil, func(fault faults.Rule) {
		region, problem := t.admit(r.GetContext(), nil, fault)
		switch {
		case problem != nil:
			response = &coprocessor.Response{RegionError: problem}
		case fault.Refusal == "other":
			response = &coprocessor.Response{OtherError: "unsupported tp (failpoint)"}
		case fault.Refusal == "evaluate":
			refusal := &tipb.SelectResponse{Error: &tipb.Error{Code: 1235, Msg: "it is not supported (failpoint)"}}
			response = answerOf(refusal)
		default:
			response = t.compute(r, region)
			if fault.Refusal == "stuck" && r.PagingSize > 0 && len(r.Ranges) > 0 {
				start := r.Ranges[0].Start
				response.Range = &coprocessor.KeyRange{Start: start, End: start}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

func answerOf(computed *tipb.SelectResponse) *coprocessor.Response {
	data, err := computed.Marshal()
	if err != nil {
		return &coprocessor.Response{OtherError: err.Error()}
	}
	return &coprocessor.Response{Data: data}
}

func (t *TiKV) compute(r *coprocessor.Request, region mvcc.Range) *coprocessor.Response {
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
	response := answerOf(page.Response)
	if page.Read < len(pairs) {
		response.Range = &coprocessor.KeyRange{Start: r.Ranges[0].Start, End: compute.Successor(keys[page.Read-1])}
	}
	return response
}
