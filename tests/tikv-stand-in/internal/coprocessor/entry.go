package coprocessor

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/pingcap/tipb/go-tipb"
)

// partsAt is where the parts begin in an entry's key, t{table: 8}_i{index: 8}{part}...
const partsAt = 19

// Flags of what a value has, and the longest value of the old form, which has none.
const (
	versionFlag      = 125
	partitionFlag    = 126
	commonHandleFlag = 127
	plainValueMax    = 9
)

// indexScan reads entries of one index, as TiKV's BatchIndexScanExecutor does.
type indexScan struct {
	columns []column
	// own is how many of them are the index's; the handle's follow.
	own       int
	hasCommon bool
	hasInt    bool
	// version is that of the first value: TiKV takes the others to be of the same.
	version int
}

func newIndexScan(i *tipb.IndexScan) (*indexScan, error) {
	if i == nil || len(i.Columns) == 0 {
		return nil, fmt.Errorf("a scan without columns")
	}
	if i.Desc {
		return nil, fmt.Errorf("a backward scan is not known here")
	}
	s := &indexScan{hasCommon: len(i.PrimaryColumnIds) > 0, hasInt: i.Columns[len(i.Columns)-1].PkHandle, version: -1}
	handle := len(i.PrimaryColumnIds)
	if s.hasInt {
		if s.hasCommon {
			return nil, fmt.Errorf("Both int handle and common handle are push downed")
		}
		handle = 1
	}
	if s.own = len(i.Columns) - handle; s.own < 0 {
		return nil, fmt.Errorf("The number of handle columns exceeds the length of `columns_info`")
	}
	for _, c := range i.Columns {
		kind, unsigned, err := typeOf(&tipb.FieldType{Tp: c.Tp, Flag: uint32(c.Flag)})
		if err != nil {
			return nil, err
		}
		if kind == text && c.Collation != binaryCollation && c.Collation != -binaryCollation {
			return nil, fmt.Errorf("column %d: text is not restored here", c.ColumnId)
		}
		s.columns = append(s.columns, column{id: c.ColumnId, kind: kind, unsigned: unsigned})
	}
	return s, nil
}

func (s *indexScan) row(pair Pair) (row, error) {
	key, v := pair.Key, pair.Value
	if len(key) < partsAt || key[0] != 't' || !bytes.Equal(key[9:11], []byte("_i")) {
		return nil, fmt.Errorf("%X is no key of an entry", key)
	}
	if len(v) == 0 {
		return nil, fmt.Errorf("an entry without a value")
	}
	if s.version < 0 {
		s.version = versionOf(v)
	}
	parts, behind, err := cutDatums(key[partsAt:], s.own)
	if err != nil {
		return nil, err
	}
	var restored *cells
	common, handle := behind, []byte(nil)
	if len(v) > plainValueMax {
		if restored, common, handle, err = s.parse(v, behind); err != nil {
			return nil, err
		}
	} else if len(behind) == 0 {
		handle = v
	}
	r := make(row, 0, len(s.columns))
	for i, c := range s.columns[:s.own] {
		var cell value
		switch {
		case restored == nil || s.version == 1:
			// No column is said to have another collation than the binary one, so none is restored.
			cell, err = c.lazily(parts[i])
		default:
			bytes, isNull, found := restored.find(c.id)
			switch {
			case isNull:
				cell = value{kind: c.kind, unsigned: c.unsigned, null: true}
			case found:
				cell, err = c.cell(bytes)
			default:
				err = fmt.Errorf("Unexpected missing column %d", c.id)
			}
		}
		if err != nil {
			return nil, err
		}
		r = append(r, cell)
	}
	switch {
	case s.hasInt:
		n, err := intHandle(handle, behind)
		if err != nil {
			return nil, err
		}
		r = append(r, value{kind: integer, unsigned: s.columns[s.own].unsigned, bits: n})
	case s.hasCommon:
		datums, _, err := cutDatums(common, len(s.columns)-s.own)
		if err != nil {
			return nil, err
		}
		for i, c := range s.columns[s.own:] {
			cell, err := c.lazily(datums[i])
			if err != nil {
				return nil, err
			}
			r = append(r, cell)
		}
	}
	return r, nil
}

// versionOf is TiKV's get_index_version.
func versionOf(v []byte) int {
	switch {
	case len(v) == 3 || len(v) == 4:
		return 1
	case len(v) > plainValueMax && v[0] <= 1 && v[1] == versionFlag:
		return int(v[2])
	}
	return 0
}

// parse reads a value that is not plain: the restored row, the common handle, from there or from what is behind the key's
// parts, and an integer handle, if it is there.
func (s *indexScan) parse(v, behind []byte) (restored *cells, common, handle []byte, err error) {
	tail := int(v[0])
	start := 1
	if s.version == 1 {
		start = 3
	}
	if start+tail > len(v) {
		return nil, nil, nil, fmt.Errorf("`tail_len`: %d is corrupted", tail)
	}
	rest, common := v[start:len(v)-tail], behind
	if tail >= 8 {
		handle = v[len(v)-tail:]
	}
	if len(rest) > 0 && rest[0] == commonHandleFlag {
		if !s.hasCommon {
			return nil, nil, nil, fmt.Errorf("Expect to decode index values with common handles in `DecodeCommonHandle` mode.")
		}
		if len(rest) < 3 || 3+int(binary.BigEndian.Uint16(rest[1:])) > len(rest) {
			return nil, nil, nil, fmt.Errorf("`handle_len` is corrupted")
		}
		end := 3 + int(binary.BigEndian.Uint16(rest[1:]))
		common, rest = rest[3:end], rest[end:]
	}
	if len(rest) > 0 && rest[0] == partitionFlag {
		return nil, nil, nil, fmt.Errorf("global indexes are not known here")
	}
	if len(rest) > 0 {
		if rest[0] != rowVersion {
			return nil, nil, nil, fmt.Errorf("Unexpected corrupted extra bytes: %X", rest)
		}
		restored, err = cellsOf(rest)
	}
	return restored, common, handle, err
}

// intHandle reads an integer handle from the value, where it has one, or from behind the key's parts.
func intHandle(inValue, behind []byte) (uint64, error) {
	if len(inValue) > 0 {
		if len(inValue) < 8 {
			return 0, fmt.Errorf("Failed to decode handle in value as i64")
		}
		return binary.BigEndian.Uint64(inValue), nil
	}
	if len(behind) < 9 {
		return 0, fmt.Errorf("Key is empty, cannot decode handle")
	}
	switch behind[0] {
	case intFlag:
		return uint64(bigEndianInt(behind[1:9])), nil
	case uintFlag:
		return binary.BigEndian.Uint64(behind[1:9]), nil
	}
	return 0, fmt.Errorf("Unexpected handle flag %d", behind[0])
}

// lazily reads a part of a key. That it has another type than it is said to have is an error only where it is used.
func (c column) lazily(datum []byte) (value, error) {
	v, err := readDatum(datum)
	if err != nil || v.null || v.kind == c.kind {
		v.kind, v.unsigned = c.kind, c.unsigned
		return v, err
	}
	return value{kind: unread}, nil
}
