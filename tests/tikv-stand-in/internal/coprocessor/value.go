package coprocessor

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/pingcap/tipb/go-tipb"
)

// kind is the evaluation type of a value: the subset of TiKV's types that the client uses.
type kind int

const (
	integer kind = iota
	float
	decimal
	text
	// unread is a value that TiKV cuts out of a key, and could not read as the type that it is said to have.
	unread
)

const (
	nilFlag          = 0
	bytesFlag        = 1
	compactBytesFlag = 2
	intFlag          = 3
	uintFlag         = 4
	floatFlag        = 5
	decimalFlag      = 6
	durationFlag     = 7
	varintFlag       = 8
	uvarintFlag      = 9
)

const (
	binaryCollation  = 63
	utf8mb4BinPadded = -46
	utf8mb4GeneralCi = -45
	unsignedFlag     = 32
)

// value is one of a kind, or NULL.
type value struct {
	kind     kind
	unsigned bool
	null     bool
	bits     uint64   // of an integer
	float    float64  //
	digits   *big.Int // of a decimal, times 10 to the scale
	scale    int
	text     []byte
}

// typeOf returns the kind of a field type, and whether it is unsigned.
func typeOf(t *tipb.FieldType) (kind, bool, error) {
	if t == nil {
		return 0, false, fmt.Errorf("no field type")
	}
	switch t.Tp {
	case 1, 2, 3, 8, 9:
		return integer, t.Flag&unsignedFlag != 0, nil
	case 4, 5:
		return float, false, nil
	case 246:
		return decimal, false, nil
	case 15, 249, 250, 251, 252, 253, 254:
		return text, false, nil
	}
	return 0, false, fmt.Errorf("field type %d is not known here", t.Tp)
}

// compare orders values of one kind that are not NULL.
func compare(a, b value, collation int32) int {
	switch a.kind {
	case integer:
		switch {
		case a.unsigned && !b.unsigned && int64(b.bits) < 0:
			return 1
		case b.unsigned && !a.unsigned && int64(a.bits) < 0:
			return -1
		case a.unsigned || b.unsigned:
			return cmp.Compare(a.bits, b.bits)
		}
		return cmp.Compare(int64(a.bits), int64(b.bits))
	case float:
		return cmp.Compare(a.float, b.float)
	case decimal:
		scale := max(a.scale, b.scale)
		return a.scaled(scale).Cmp(b.scaled(scale))
	default:
		switch collation {
		case utf8mb4BinPadded:
			return bytes.Compare(bytes.TrimRight(a.text, " "), bytes.TrimRight(b.text, " "))
		case utf8mb4GeneralCi:
			return slices.Compare(generalWeights(a.text), generalWeights(b.text))
		}
		return bytes.Compare(a.text, b.text)
	}
}

func compareNullsFirst(a, b value) int {
	switch {
	case a.null && b.null:
		return 0
	case a.null:
		return -1
	case b.null:
		return 1
	}
	return compare(a, b, binaryCollation)
}

func (v value) scaled(scale int) *big.Int {
	factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale-v.scale)), nil)
	return factor.Mul(factor, v.digits)
}

func (v value) asDecimal() value {
	digits := big.NewInt(int64(v.bits))
	if v.unsigned {
		digits = new(big.Int).SetUint64(v.bits)
	}
	return value{kind: decimal, digits: digits}
}

func (v value) plus(other value) value {
	if v.kind == float {
		v.float += other.float
		return v
	}
	scale := max(v.scale, other.scale)
	return value{kind: decimal, scale: scale, digits: new(big.Int).Add(v.scaled(scale), other.scaled(scale))}
}

// appendDatum appends the value with its flag, in the forms that TiKV prefers.
func (v value) appendDatum(b []byte) []byte {
	switch {
	case v.null:
		return append(b, nilFlag)
	case v.kind == integer && v.unsigned:
		return binary.BigEndian.AppendUint64(append(b, uintFlag), v.bits)
	case v.kind == integer:
		return binary.BigEndian.AppendUint64(append(b, intFlag), v.bits^1<<63)
	case v.kind == float:
		bits := math.Float64bits(v.float)
		if v.float >= 0 {
			bits |= 1 << 63
		} else {
			bits = ^bits
		}
		return binary.BigEndian.AppendUint64(append(b, floatFlag), bits)
	case v.kind == decimal:
		return appendDecimal(append(b, decimalFlag), v.digits, v.scale)
	default:
		b = binary.AppendVarint(append(b, compactBytesFlag), int64(len(v.text)))
		return append(b, v.text...)
	}
}

// readDatum reads a value of any flag.
func readDatum(b []byte) (value, error) {
	n, err := datumLength(b)
	if err != nil {
		return value{}, err
	}
	flag, payload := b[0], b[1:n]
	switch flag {
	case durationFlag:
		return value{kind: unread}, nil
	case nilFlag:
		return value{null: true}, nil
	case intFlag:
		return value{kind: integer, bits: uint64(bigEndianInt(payload))}, nil
	case uintFlag:
		return value{kind: integer, unsigned: true, bits: binary.BigEndian.Uint64(payload)}, nil
	case varintFlag:
		i, _ := binary.Varint(payload)
		return value{kind: integer, bits: uint64(i)}, nil
	case uvarintFlag:
		u, _ := binary.Uvarint(payload)
		return value{kind: integer, unsigned: true, bits: u}, nil
	case floatFlag:
		return value{kind: float, float: readFloat(payload)}, nil
	case decimalFlag:
		digits, scale, err := readDecimal(payload)
		return value{kind: decimal, digits: digits, scale: scale}, err
	case compactBytesFlag:
		_, head := binary.Varint(payload)
		return value{kind: text, text: payload[head:]}, nil
	default: // bytesFlag
		var all []byte
		for ; len(payload) > 0; payload = payload[9:] {
			all = append(all, payload[:8-(255-int(payload[8]))]...)
		}
		return value{kind: text, text: all}, nil
	}
}

func readFloat(b []byte) float64 {
	bits := binary.BigEndian.Uint64(b)
	if bits&(1<<63) != 0 {
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

// datumLength returns how many bytes the first datum has, with its flag.
func datumLength(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, fmt.Errorf("no datum")
	}
	n := 1
	switch b[0] {
	case nilFlag:
	case intFlag, uintFlag, floatFlag, durationFlag:
		n += 8
	case decimalFlag:
		if len(b) < 3 {
			return 0, fmt.Errorf("a decimal that is cut short")
		}
		n += 2 + decimalBytes(int(b[1]), int(b[2]))
	case varintFlag, uvarintFlag:
		_, length := binary.Uvarint(b[1:])
		n += max(length, 0)
	case compactBytesFlag:
		bytes, head := binary.Varint(b[1:])
		n += head + int(bytes)
	case bytesFlag:
		for n+9 <= len(b) {
			n += 9
			if b[n-1] != 255 {
				break
			}
		}
	default:
		return 0, fmt.Errorf("datum flag %d is not known here", b[0])
	}
	if n > len(b) {
		return 0, fmt.Errorf("a datum that is cut short")
	}
	return n, nil
}

// digitBytes is how many bytes so many digits of an incomplete group of nine take.
var digitBytes = [...]int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}

func groupBytes(digits int) int { return digits/9*4 + digitBytes[digits%9] }

func decimalBytes(precision, scale int) int {
	return groupBytes(max(precision-scale, 0)) + groupBytes(scale)
}

// readDecimal reads precision, scale and digits.
func readDecimal(b []byte) (*big.Int, int, error) {
	precision, scale := int(b[0]), int(b[1])
	if scale > precision || len(b) != 2+decimalBytes(precision, scale) {
		return nil, 0, fmt.Errorf("a decimal of precision %d and scale %d in %d bytes", precision, scale, len(b))
	}
	body := bytes.Clone(b[2:])
	if len(body) == 0 {
		return new(big.Int), scale, nil
	}
	negative := body[0]&0x80 == 0
	body[0] ^= 0x80
	if negative {
		for i := range body {
			body[i] = ^body[i]
		}
	}
	digits := new(big.Int)
	take := func(count int) {
		group := new(big.Int).SetBytes(body[:digitBytes[count]])
		body = body[digitBytes[count]:]
		digits.Mul(digits, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(count)), nil))
		digits.Add(digits, group)
	}
	whole := precision - scale
	take(whole % 9)
	for range whole / 9 {
		take(9)
	}
	for range scale / 9 {
		take(9)
	}
	take(scale % 9)
	if negative {
		digits.Neg(digits)
	}
	return digits, scale, nil
}

// appendDecimal writes as few digits as the number has.
func appendDecimal(b []byte, number *big.Int, scale int) []byte {
	digits := new(big.Int).Abs(number).String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	whole := len(digits) - scale
	b = append(b, byte(len(digits)), byte(scale))
	start := len(b)
	put := func(group string) {
		n, _ := new(big.Int).SetString("0"+group, 10)
		size := digitBytes[len(group)]
		b = append(b, n.FillBytes(make([]byte, size))...)
	}
	put(digits[:whole%9])
	for i := whole % 9; i < whole; i += 9 {
		put(digits[i : i+9])
	}
	i := whole
	for ; i+9 <= len(digits); i += 9 {
		put(digits[i : i+9])
	}
	put(digits[i:])
	if number.Sign() < 0 {
		for j := start; j < len(b); j++ {
			b[j] = ^b[j]
		}
	}
	b[start] ^= 0x80
	return b
}
