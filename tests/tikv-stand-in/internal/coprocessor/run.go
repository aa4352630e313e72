// Package coprocessor computes what a client pushes down: table and index scan, selection, aggregation, top-n and limit over rows in
// TiDB's format, as TiKV's coprocessor does for the expressions that are known here. It shares no code with the client and
// is written from TiKV's sources, so that both are tested by each other.
//
// It refuses what it does not know, as TiKV does. If TiKV does not define an order, rows come in an order that a client cannot
// expect by chance.
//
// Reading order: run.go (the executors), row.go and entry.go (from a pair to values), expression.go, value.go.
package coprocessor

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pingcap/tipb/go-tipb"
)

// rowsPerChunk is how many rows TiKV puts into a chunk.
const rowsPerChunk = 64

// Pair is a stored row.
type Pair struct{ Key, Value []byte }

type row []value

// Page is the result of a request.
type Page struct {
	Response *tipb.SelectResponse
	// Read is how many of the pairs have been read: all, unless the page is full.
	Read int
}

// Run executes a request over pairs in key order. A page is full with pageRows rows; 0 means that there are no pages.
func Run(request *tipb.DAGRequest, pairs []Pair, pageRows int) (Page, error) {
	if len(request.Executors) == 0 {
		return Page{}, fmt.Errorf("no executors")
	}
	if request.EncodeType != tipb.EncodeType_TypeDefault {
		return Page{}, fmt.Errorf("encode type %v is not known here", request.EncodeType)
	}
	scan, err := newScanner(request.Executors[0])
	if err != nil {
		return Page{}, err
	}
	rest := request.Executors[1:]
	for _, e := range rest {
		if err := checkDepth(e); err != nil {
			return Page{}, err
		}
	}
	streams := pageRows > 0 && !slices.ContainsFunc(rest, func(e *tipb.Executor) bool { return e.Tp != tipb.ExecType_TypeSelection })
	var rows []row
	read := 0
	for _, pair := range pairs {
		if streams && len(rows) >= pageRows {
			break
		}
		read++
		r, err := scan.row(pair)
		if err != nil {
			return Page{}, err
		}
		if !streams {
			rows = append(rows, r)
			continue
		}
		kept, err := execute(rest, []row{r})
		if err != nil {
			return Page{}, err
		}
		rows = append(rows, kept...)
	}
	if !streams {
		if rows, err = execute(rest, rows); err != nil {
			return Page{}, err
		}
	}
	response, err := encode(rows, request.OutputOffsets)
	return Page{response, read}, err
}

func newScanner(e *tipb.Executor) (scanner, error) {
	switch e.Tp {
	case tipb.ExecType_TypeTableScan:
		return newTableScan(e.TblScan)
	case tipb.ExecType_TypeIndexScan:
		return newIndexScan(e.IdxScan)
	}
	return nil, fmt.Errorf("unexpected first executor %v", e.Tp)
}

func execute(executors []*tipb.Executor, rows []row) ([]row, error) {
	var err error
	for _, e := range executors {
		switch e.Tp {
		case tipb.ExecType_TypeSelection:
			rows, err = selection(e.Selection.Conditions, rows)
		case tipb.ExecType_TypeAggregation:
			rows, err = aggregation(e.Aggregation, rows)
		case tipb.ExecType_TypeTopN:
			rows, err = topN(e.TopN, rows)
		case tipb.ExecType_TypeLimit:
			rows = rows[:min(uint64(len(rows)), e.Limit.Limit)]
		default:
			err = fmt.Errorf("unexpected non-first executor %v", e.Tp)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// depthMax is the largest depth of nested messages that TiKV reads.
const depthMax = 1000

func checkDepth(e *tipb.Executor) error {
	var all []*tipb.Expr
	switch e.Tp {
	case tipb.ExecType_TypeSelection:
		all = e.Selection.Conditions
	case tipb.ExecType_TypeAggregation:
		all = slices.Concat(e.Aggregation.GroupBy, e.Aggregation.AggFunc)
	}
	// Level by level, so that no depth overflows the stack.
	for depth := 0; len(all) > 0; depth++ {
		if depth == depthMax {
			return fmt.Errorf("over recursion limit")
		}
		var below []*tipb.Expr
		for _, expr := range all {
			below = append(below, expr.Children...)
		}
		all = below
	}
	return nil
}

func selection(conditions []*tipb.Expr, rows []row) ([]row, error) {
	var kept []row
	for _, r := range rows {
		holds := true
		for _, condition := range conditions {
			v, err := evaluate(condition, r)
			if err != nil {
				return nil, err
			}
			if v.kind != integer {
				return nil, fmt.Errorf("a condition that is no integer")
			}
			if holds = !v.null && v.bits != 0; !holds {
				break
			}
		}
		if holds {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// group is the state of an aggregation for the rows with equal keys.
type group struct {
	keys   row
	states []value
	counts []uint64
}

// aggregation returns the results and then the keys, as TiKV does. Without keys it returns one row, whatever the input.
func aggregation(a *tipb.Aggregation, rows []row) ([]row, error) {
	groups := map[string]*group{}
	var order []*group
	find := func(keys row) *group {
		var name []byte
		for _, key := range keys {
			name = key.appendDatum(name)
		}
		g := groups[string(name)]
		if g == nil {
			g = &group{keys: keys, states: make([]value, len(a.AggFunc)), counts: make([]uint64, len(a.AggFunc))}
			groups[string(name)] = g
			order = append(order, g)
		}
		return g
	}
	if len(a.GroupBy) == 0 {
		find(nil)
	}
	for _, r := range rows {
		keys := make(row, len(a.GroupBy))
		for i, expr := range a.GroupBy {
			v, err := evaluate(expr, r)
			if err != nil {
				return nil, err
			}
			keys[i] = v
		}
		g := find(keys)
		for i, call := range a.AggFunc {
			if len(call.Children) != 1 {
				return nil, fmt.Errorf("%v of %d arguments", call.Tp, len(call.Children))
			}
			v, err := evaluate(call.Children[0], r)
			if err != nil {
				return nil, err
			}
			if err := g.add(i, call, v); err != nil {
				return nil, err
			}
		}
	}
	results := make([]row, len(order))
	for i, g := range order {
		for j, call := range a.AggFunc {
			result, err := g.result(j, call)
			if err != nil {
				return nil, err
			}
			results[i] = append(results[i], result)
		}
		results[i] = append(results[i], g.keys...)
	}
	return results, nil
}

func (g *group) add(i int, call *tipb.Expr, v value) error {
	if v.null {
		return nil
	}
	first := g.counts[i] == 0
	g.counts[i]++
	switch call.Tp {
	case tipb.ExprType_Count:
	case tipb.ExprType_Sum:
		if v.kind == integer {
			v = v.asDecimal()
		}
		if !first {
			v = g.states[i].plus(v)
		}
		g.states[i] = v
	case tipb.ExprType_Min, tipb.ExprType_Max:
		order := 0
		if !first {
			order = compare(v, g.states[i], binaryCollation)
		}
		if first || call.Tp == tipb.ExprType_Min && order < 0 || call.Tp == tipb.ExprType_Max && order > 0 {
			g.states[i] = v
		}
	default:
		return fmt.Errorf("aggregate %v is not known here", call.Tp)
	}
	return nil
}

func (g *group) result(i int, call *tipb.Expr) (value, error) {
	if call.Tp == tipb.ExprType_Count {
		return value{kind: integer, unsigned: true, bits: g.counts[i]}, nil
	}
	kind, unsigned, err := typeOf(call.FieldType)
	if err != nil {
		return value{}, err
	}
	if g.counts[i] == 0 {
		return value{kind: kind, unsigned: unsigned, null: true}, nil
	}
	if g.states[i].kind != kind {
		return value{}, fmt.Errorf("unexpected return field type %v of %v", call.FieldType.Tp, call.Tp)
	}
	return g.states[i], nil
}

// topN is not stable, as TiKV's heap is not: here rows with equal keys come in the opposite order.
func topN(t *tipb.TopN, rows []row) ([]row, error) {
	type keyed struct {
		row  row
		keys row
	}
	all := make([]keyed, len(rows))
	for i, r := range rows {
		all[i].row = r
		for _, item := range t.OrderBy {
			v, err := evaluate(item.Expr, r)
			if err != nil {
				return nil, err
			}
			all[i].keys = append(all[i].keys, v)
		}
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b keyed) int {
		for i, item := range t.OrderBy {
			order := compareNullsFirst(a.keys[i], b.keys[i])
			if item.Desc {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
	first := make([]row, min(uint64(len(all)), t.Limit))
	for i := range first {
		first[i] = all[i].row
	}
	return first, nil
}

func encode(rows []row, offsets []uint32) (*tipb.SelectResponse, error) {
	response := &tipb.SelectResponse{}
	for len(rows) > 0 {
		n := min(len(rows), rowsPerChunk)
		var data []byte
		for _, r := range rows[:n] {
			for _, offset := range offsets {
				if int(offset) >= len(r) {
					return nil, fmt.Errorf("invalid output offset (schema has %d columns, access index %d)", len(r), offset)
				}
				if r[offset].kind == unread {
					return nil, fmt.Errorf("column %d cannot be sent on", offset)
				}
				data = r[offset].appendDatum(data)
			}
		}
		response.Chunks = append(response.Chunks, tipb.Chunk{RowsData: data})
		rows = rows[n:]
	}
	return response, nil
}

// Successor is the first key after a key.
func Successor(key []byte) []byte { return append(slices.Clone(key), 0) }

func bigEndianInt(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ 1<<63) }
