package coprocessor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pingcap/tipb/go-tipb"
)

// A row's key is t{table: 8}_r{handle}.
const handleAt = 11

// scanner makes rows of pairs.
type scanner interface {
	row(pair Pair) (row, error)
}

// rowVersion is the first byte of a row in TiDB's format 2.
const rowVersion = 128

type column struct {
	id       int64
	isHandle bool
	kind     kind
	unsigned bool
	notNull  bool
	// missing is the value in rows that lack the column.
	missing []byte
}

type tableScan struct {
	columns []column
	// primary are the columns whose datums a common handle is made of.
	primary []int64
	// keyOnly says that the values of rows are not read: the client says that keys hold each column completely.
	keyOnly bool
}

func newTableScan(t *tipb.TableScan) (*tableScan, error) {
	if t == nil || len(t.Columns) == 0 {
		return nil, fmt.Errorf("a scan without columns: its batches would have no rows")
	}
	if t.Desc {
		return nil, fmt.Errorf("a backward scan is not known here")
	}
	s := &tableScan{primary: t.PrimaryColumnIds, keyOnly: true}
	for _, c := range t.Columns {
		kind, unsigned, err := typeOf(&tipb.FieldType{Tp: c.Tp, Flag: uint32(c.Flag)})
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, column{
			id: c.ColumnId, isHandle: c.PkHandle, kind: kind, unsigned: unsigned,
			notNull: c.Flag&1 != 0, missing: c.DefaultVal,
		})
		// Text that is not binary may have to be restored from the value.
		isRestored := kind == text && c.Collation != binaryCollation && c.Collation != -binaryCollation
		inKey := slices.Contains(t.PrimaryColumnIds, c.ColumnId) && !slices.Contains(t.PrimaryPrefixColumnIds, c.ColumnId)
		if !c.PkHandle && (!inKey || isRestored) {
			s.keyOnly = false
		}
	}
	return s, nil
}

func (s *tableScan) row(pair Pair) (row, error) {
	if len(pair.Key) < handleAt || pair.Key[0] != 't' || !bytes.Equal(pair.Key[9:handleAt], []byte("_r")) {
		return nil, fmt.Errorf("%X is no key of a row", pair.Key)
	}
	stored := &cells{}
	if !s.keyOnly {
		var err error
		if stored, err = cellsOf(pair.Value); err != nil {
			return nil, err
		}
	}
	inHandle, err := s.handle(pair.Key[handleAt:])
	if err != nil {
		return nil, err
	}
	r := make(row, len(s.columns))
	for i, c := range s.columns {
		cell, isNull, found := stored.find(c.id)
		switch {
		case c.isHandle:
			if len(pair.Key) != handleAt+8 {
				return nil, fmt.Errorf("%X has no integer handle", pair.Key)
			}
			r[i] = value{kind: integer, unsigned: c.unsigned, bits: uint64(bigEndianInt(pair.Key[handleAt:]))}
		case isNull:
			r[i] = value{kind: c.kind, unsigned: c.unsigned, null: true}
		case found:
			r[i], err = c.cell(cell)
		case inHandle[c.id] != nil:
			r[i], err = c.datum(inHandle[c.id])
		case len(c.missing) > 0:
			r[i], err = c.datum(c.missing)
		case c.notNull:
			err = fmt.Errorf("missing data for NOT NULL column %d", c.id)
		default:
			r[i] = value{kind: c.kind, unsigned: c.unsigned, null: true}
		}
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", c.id, err)
		}
	}
	return r, nil
}

// handle cuts a common handle into the datums of its columns.
func (s *tableScan) handle(rest []byte) (map[int64][]byte, error) {
	all, _, err := cutDatums(rest, len(s.primary))
	datums := make(map[int64][]byte)
	for i, datum := range all {
		datums[s.primary[i]] = datum
	}
	return datums, err
}

// cutDatums cuts a number of datums off the front, and returns what is behind them.
func cutDatums(rest []byte, count int) (datums [][]byte, behind []byte, err error) {
	for range count {
		n, err := datumLength(rest)
		if err != nil {
			return nil, nil, err
		}
		datums, rest = append(datums, rest[:n]), rest[n:]
	}
	return datums, rest, nil
}

// cell reads a value as a row has it.
func (c column) cell(b []byte) (value, error) {
	v := value{kind: c.kind, unsigned: c.unsigned}
	switch c.kind {
	case integer:
		switch len(b) {
		case 1:
			v.bits = uint64(b[0])
			if !c.unsigned {
				v.bits = uint64(int64(int8(b[0])))
			}
		case 2:
			v.bits = uint64(binary.LittleEndian.Uint16(b))
			if !c.unsigned {
				v.bits = uint64(int64(int16(v.bits)))
			}
		case 4:
			v.bits = uint64(binary.LittleEndian.Uint32(b))
			if !c.unsigned {
				v.bits = uint64(int64(int32(v.bits)))
			}
		case 8:
			v.bits = binary.LittleEndian.Uint64(b)
		default:
			return v, fmt.Errorf("an integer of %d bytes", len(b))
		}
		return v, nil
	case float:
		return c.datum(append([]byte{floatFlag}, b...))
	case decimal:
		return c.datum(append([]byte{decimalFlag}, b...))
	default:
		v.text = slices.Clone(b)
		return v, nil
	}
}

// datum reads a value with its flag.
func (c column) datum(b []byte) (value, error) {
	v, err := readDatum(b)
	if err == nil && !v.null && v.kind != c.kind {
		return v, fmt.Errorf("a value of another type")
	}
	v.kind, v.unsigned = c.kind, c.unsigned
	return v, err
}

// cells are the columns of a row: ids and where each value ends.
type cells struct {
	ids    []uint32
	nulls  []uint32
	ends   []uint32
	values []byte
}

func cellsOf(b []byte) (*cells, error) {
	if len(b) < 6 || b[0] != rowVersion {
		return nil, fmt.Errorf("no row in format 2")
	}
	isLarge := b[1]&1 != 0
	present, absent := int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint16(b[4:]))
	rest := b[6:]
	number := func(bytes int) (uint32, error) {
		if len(rest) < bytes {
			return 0, fmt.Errorf("a row that is cut short")
		}
		var n uint32
		for i := bytes - 1; i >= 0; i-- {
			n = n<<8 | uint32(rest[i])
		}
		rest = rest[bytes:]
		return n, nil
	}
	idBytes, endBytes := 1, 2
	if isLarge {
		idBytes, endBytes = 4, 4
	}
	c := &cells{}
	for _, part := range []struct {
		list         *[]uint32
		count, bytes int
	}{{&c.ids, present, idBytes}, {&c.nulls, absent, idBytes}, {&c.ends, present, endBytes}} {
		for range part.count {
			n, err := number(part.bytes)
			if err != nil {
				return nil, err
			}
			*part.list = append(*part.list, n)
		}
	}
	c.values = rest
	return c, nil
}

func (c *cells) find(id int64) (cell []byte, isNull, found bool) {
	if i := slices.Index(c.ids, uint32(id)); i >= 0 {
		start := uint32(0)
		if i > 0 {
			start = c.ends[i-1]
		}
		return c.values[start:c.ends[i]], false, true
	}
	return nil, slices.Contains(c.nulls, uint32(id)), false
}
