package coprocessor

import (
	"encoding/binary"
	"math/big"
	"slices"
	"testing"

	"github.com/pingcap/tipb/go-tipb"
)

func TestDecimalsAreReadBack(t *testing.T) {
	for _, text := range []string{"0", "1", "-1", "1234567890", "-99999999999999999999", "123456789012345678901234567890"} {
		for _, scale := range []int{0, 1, 4, 9, 12, 30} {
			number, _ := new(big.Int).SetString(text, 10)
			b := value{kind: decimal, digits: number, scale: scale}.appendDatum(nil)
			got, err := readDatum(b)
			if err != nil || got.scale != scale || got.digits.Cmp(number) != 0 {
				t.Errorf("%s at scale %d: %v at %d, %v", text, scale, got.digits, got.scale, err)
			}
		}
	}
}

// The example of docs/format.md.
func TestADecimalsBytes(t *testing.T) {
	stored := []byte{decimalFlag, 0x0e, 0x04, 0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2}
	got, err := readDatum(stored)
	if err != nil || got.digits.Int64() != 12345678901234 || got.scale != 4 {
		t.Fatal(got, err)
	}
	if written := got.appendDatum(nil); !slices.Equal(written, stored) {
		t.Errorf("% x", written)
	}
}

func integerType(unsigned bool) *tipb.FieldType {
	if unsigned {
		return &tipb.FieldType{Tp: 8, Flag: unsignedFlag}
	}
	return &tipb.FieldType{Tp: 8}
}

func number(n int64) *tipb.Expr {
	return &tipb.Expr{Tp: tipb.ExprType_Int64, FieldType: integerType(false), Val: binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63)}
}

func ref(offset int64) *tipb.Expr {
	return &tipb.Expr{Tp: tipb.ExprType_ColumnRef, FieldType: integerType(false), Val: binary.BigEndian.AppendUint64(nil, uint64(offset)^1<<63)}
}

func call(sig tipb.ScalarFuncSig, children ...*tipb.Expr) *tipb.Expr {
	return &tipb.Expr{Tp: tipb.ExprType_ScalarFunc, Sig: sig, FieldType: integerType(false), Children: children}
}

func unknown() *tipb.Expr { return &tipb.Expr{Tp: tipb.ExprType_Null, FieldType: integerType(false)} }

func TestThreeValues(t *testing.T) {
	yes, no := number(1), number(0)
	for _, c := range []struct {
		expr *tipb.Expr
		want string
	}{
		{call(tipb.ScalarFuncSig_LogicalAnd, unknown(), no), "0"},
		{call(tipb.ScalarFuncSig_LogicalAnd, unknown(), yes), "null"},
		{call(tipb.ScalarFuncSig_LogicalOr, unknown(), yes), "1"},
		{call(tipb.ScalarFuncSig_LogicalOr, unknown(), no), "null"},
		{call(tipb.ScalarFuncSig_UnaryNotInt, unknown()), "null"},
		{call(tipb.ScalarFuncSig_IntIsNull, unknown()), "1"},
		{call(tipb.ScalarFuncSig_InInt, number(3), number(2), unknown()), "null"},
		{call(tipb.ScalarFuncSig_InInt, number(3), unknown(), number(3)), "1"},
		{call(tipb.ScalarFuncSig_NullEQInt, unknown(), unknown()), "1"},
		{call(tipb.ScalarFuncSig_LTInt, number(-3), number(2)), "1"},
	} {
		v, err := evaluate(c.expr, nil)
		got := "null"
		if !v.null {
			got = big.NewInt(int64(v.bits)).String()
		}
		if err != nil || got != c.want {
			t.Errorf("%v: %s, %v", c.expr, got, err)
		}
	}
	for _, wrong := range []*tipb.Expr{
		call(tipb.ScalarFuncSig_LTDecimal, number(1), number(2)),
		call(tipb.ScalarFuncSig_LTInt, number(1)),
		call(tipb.ScalarFuncSig_AbsInt, number(1)),
		ref(0),
	} {
		if v, err := evaluate(wrong, nil); err == nil {
			t.Errorf("%v: %v", wrong, v)
		}
	}
}

func pairs(n int) []Pair {
	all := make([]Pair, n)
	for i := range all {
		key := binary.BigEndian.AppendUint64([]byte("t\x80\x00\x00\x00\x00\x00\x00\x01_r"), uint64(i)|1<<63)
		all[i] = Pair{key, []byte{128, 0, 1, 0, 0, 0, 2, 1, 0, byte(i % 3)}}
	}
	return all
}

func request(executors ...*tipb.Executor) *tipb.DAGRequest {
	scan := &tipb.Executor{Tp: tipb.ExecType_TypeTableScan, TblScan: &tipb.TableScan{Columns: []*tipb.ColumnInfo{
		{ColumnId: 1, Tp: 8, PkHandle: true}, {ColumnId: 2, Tp: 8},
	}}}
	return &tipb.DAGRequest{Executors: append([]*tipb.Executor{scan}, executors...), OutputOffsets: []uint32{0, 1}}
}

// numbers reads the rows of a response, which have two integers each.
func numbers(t *testing.T, page Page, err error) (rows [][2]int64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, chunk := range page.Response.Chunks {
		for rest := []byte(chunk.RowsData); len(rest) > 0; {
			var r [2]int64
			for i := range r {
				n, err := datumLength(rest)
				if err != nil {
					t.Fatal(err)
				}
				v, err := readDatum(rest[:n])
				if err != nil {
					t.Fatal(err)
				}
				r[i], rest = int64(v.bits), rest[n:]
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func TestExecutors(t *testing.T) {
	selection := &tipb.Executor{Tp: tipb.ExecType_TypeSelection, Selection: &tipb.Selection{
		Conditions: []*tipb.Expr{call(tipb.ScalarFuncSig_GTInt, ref(1), number(0))},
	}}
	page, err := Run(request(selection), pairs(6), 0)
	if rows := numbers(t, page, err); !slices.Equal(rows, [][2]int64{{1, 1}, {2, 2}, {4, 1}, {5, 2}}) {
		t.Error(rows)
	}
	page, err = Run(request(selection), pairs(6), 3)
	if rows := numbers(t, page, err); page.Read != 5 || !slices.Equal(rows, [][2]int64{{1, 1}, {2, 2}, {4, 1}}) {
		t.Error(page.Read, rows)
	}
	groups := &tipb.Executor{Tp: tipb.ExecType_TypeAggregation, Aggregation: &tipb.Aggregation{
		GroupBy: []*tipb.Expr{ref(1)},
		AggFunc: []*tipb.Expr{{Tp: tipb.ExprType_Max, FieldType: integerType(false), Children: []*tipb.Expr{ref(0)}}},
	}}
	page, err = Run(request(groups), pairs(6), 1)
	if rows := numbers(t, page, err); page.Read != 6 || !slices.Equal(rows, [][2]int64{{3, 0}, {4, 1}, {5, 2}}) {
		t.Error(page.Read, rows)
	}
	first := &tipb.Executor{Tp: tipb.ExecType_TypeTopN, TopN: &tipb.TopN{
		OrderBy: []*tipb.ByItem{{Expr: ref(1), Desc: true}}, Limit: 3,
	}}
	page, err = Run(request(first), pairs(6), 0)
	if rows := numbers(t, page, err); !slices.Equal(rows, [][2]int64{{5, 2}, {2, 2}, {4, 1}}) {
		t.Error(rows)
	}
	if page, err := Run(&tipb.DAGRequest{}, nil, 0); err == nil {
		t.Error(page)
	}
}

// A column that the client says is in the keys is not read from the values, even if they have more of it.
func TestScansOfKeysOnly(t *testing.T) {
	key := append([]byte("t\x80\x00\x00\x00\x00\x00\x00\x01_r"), value{kind: integer, bits: 7}.appendDatum(nil)...)
	pair := Pair{key, []byte{128, 0, 1, 0, 0, 0, 2, 1, 0, 9}}
	for _, c := range []struct {
		columns  []int64
		prefixes []int64
		want     uint64
	}{{[]int64{2}, nil, 7}, {[]int64{2}, []int64{2}, 9}, {[]int64{2, 3}, nil, 9}} {
		table := &tipb.TableScan{PrimaryColumnIds: []int64{2}, PrimaryPrefixColumnIds: c.prefixes}
		for _, id := range c.columns {
			table.Columns = append(table.Columns, &tipb.ColumnInfo{ColumnId: id, Tp: 8})
		}
		scan, err := newTableScan(table)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := scan.row(pair); err != nil || r[0].bits != c.want {
			t.Errorf("%v, prefixes %v: %v, %v", c.columns, c.prefixes, r, err)
		}
	}
}

func TestDepth(t *testing.T) {
	for depth, ok := range map[int]bool{500: true, 3000: false} {
		condition := number(1)
		for range depth {
			condition = call(tipb.ScalarFuncSig_LogicalOr, condition, number(1))
		}
		selection := &tipb.Executor{Tp: tipb.ExecType_TypeSelection, Selection: &tipb.Selection{Conditions: []*tipb.Expr{condition}}}
		if _, err := Run(request(selection), pairs(2), 0); (err == nil) != ok {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func integerDatum(n int64) []byte {
	return value{kind: integer, bits: uint64(n)}.appendDatum(nil)
}

// Entries of an index over columns 2 and 3, and the rows' handles behind them.
func TestIndexScans(t *testing.T) {
	prefix := []byte("t\x80\x00\x00\x00\x00\x00\x00\x01_i\x80\x00\x00\x00\x00\x00\x00\x02")
	key := func(parts ...[]byte) []byte { return slices.Concat(append([][]byte{prefix}, parts...)...) }
	text := []byte{bytesFlag, 'S', 0, 0, 0, 0, 0, 0, 0, 248}
	duration := append([]byte{durationFlag}, make([]byte, 8)...)
	// Column 2 is 9, column 3 "s".
	restored := []byte{128, 0, 2, 0, 0, 0, 2, 3, 1, 0, 2, 0, 9, 's'}
	common := value{kind: integer, bits: 7}.appendDatum(nil)
	in := func(tail byte, head []byte, parts ...[]byte) []byte {
		return slices.Concat(append([][]byte{{tail}, head}, parts...)...)
	}
	seven := binary.BigEndian.AppendUint64(nil, 7)
	own := []*tipb.ColumnInfo{{ColumnId: 2, Tp: 8}, {ColumnId: 3, Tp: 252, Collation: binaryCollation}}
	intHandle := &tipb.ColumnInfo{ColumnId: 1, Tp: 8, PkHandle: true}
	commonHandle := &tipb.ColumnInfo{ColumnId: 1, Tp: 8}
	for name, c := range map[string]struct {
		handle *tipb.ColumnInfo
		pair   Pair
		text   string
	}{
		"plain":           {intHandle, Pair{key(integerDatum(9), text, common), []byte{'0'}}, "S"},
		"plain, distinct": {intHandle, Pair{key(integerDatum(9), text), seven}, "S"},
		"restored":        {intHandle, Pair{key(integerDatum(8), text, common), in(0, nil, restored)}, "s"},
		"restored, distinct": {intHandle, Pair{key(integerDatum(8), text),
			in(8, nil, restored, seven)}, "s"},
		"common":           {commonHandle, Pair{key(integerDatum(9), text, common), in(0, []byte{125, 1})}, "S"},
		"common, distinct": {commonHandle, Pair{key(integerDatum(9), text), in(0, []byte{125, 1, 127, 0, 9}, common)}, "S"},
		"common, restored": {commonHandle, Pair{key(integerDatum(9), text, common), in(0, []byte{125, 1}, restored)}, "S"},
	} {
		scan := &tipb.IndexScan{Columns: append(slices.Clone(own), c.handle)}
		if !c.handle.PkHandle {
			scan.PrimaryColumnIds = []int64{1}
		}
		s, err := newIndexScan(scan)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.row(c.pair)
		if err != nil || r[0].bits != 9 || string(r[1].text) != c.text || r[2].bits != 7 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	// What cannot be read is an error only where it is used.
	scan := &tipb.IndexScan{Columns: []*tipb.ColumnInfo{{ColumnId: 2, Tp: 8}, intHandle}}
	entry := []Pair{{key(duration, common), []byte{'0'}}}
	for offset, ok := range map[uint32]bool{0: false, 1: true} {
		_, err := Run(&tipb.DAGRequest{
			Executors:     []*tipb.Executor{{Tp: tipb.ExecType_TypeIndexScan, IdxScan: scan}},
			OutputOffsets: []uint32{offset},
		}, entry, 0)
		if (err == nil) != ok {
			t.Errorf("%d: %v", offset, err)
		}
	}
}
