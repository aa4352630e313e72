package coprocessor

import (
	"encoding/binary"
	"fmt"

	"github.com/pingcap/tipb/go-tipb"
)

// Comparisons come in tens: the first is of integers.
var comparisons = map[tipb.ScalarFuncSig]func(order int) bool{
	tipb.ScalarFuncSig_LTInt: func(order int) bool { return order < 0 },
	tipb.ScalarFuncSig_LEInt: func(order int) bool { return order <= 0 },
	tipb.ScalarFuncSig_GTInt: func(order int) bool { return order > 0 },
	tipb.ScalarFuncSig_GEInt: func(order int) bool { return order >= 0 },
	tipb.ScalarFuncSig_EQInt: func(order int) bool { return order == 0 },
	tipb.ScalarFuncSig_NEInt: func(order int) bool { return order != 0 },
}

var kindsOfComparison = []kind{integer, float, decimal, text}

var kindsOfIsNull = map[tipb.ScalarFuncSig]kind{
	tipb.ScalarFuncSig_IntIsNull:     integer,
	tipb.ScalarFuncSig_RealIsNull:    float,
	tipb.ScalarFuncSig_DecimalIsNull: decimal,
	tipb.ScalarFuncSig_StringIsNull:  text,
}

var null = value{kind: integer, null: true}

func truth(holds bool) value {
	if holds {
		return value{kind: integer, bits: 1}
	}
	return value{kind: integer}
}

func evaluate(e *tipb.Expr, r row) (value, error) {
	switch e.Tp {
	case tipb.ExprType_ColumnRef:
		if len(e.Val) != 8 {
			return value{}, fmt.Errorf("a column reference of %d bytes", len(e.Val))
		}
		offset := bigEndianInt(e.Val)
		if offset < 0 || offset >= int64(len(r)) {
			return value{}, fmt.Errorf("invalid column offset (schema has %d columns, access index %d)", len(r), offset)
		}
		// The signature is chosen by the reference's type, the value read by the column's.
		if k, unsigned, err := typeOf(e.FieldType); err != nil || k != r[offset].kind || unsigned != r[offset].unsigned {
			return value{}, fmt.Errorf("column %d has another type than its reference", offset)
		}
		return r[offset], nil
	case tipb.ExprType_ScalarFunc:
		return function(e, r)
	}
	return constant(e)
}

func constant(e *tipb.Expr) (value, error) {
	k, unsigned, err := typeOf(e.FieldType)
	if err != nil {
		return value{}, err
	}
	v := value{kind: k, unsigned: unsigned}
	fits := func(wanted kind, bytes int) error {
		if k != wanted || bytes > 0 && len(e.Val) != bytes {
			return fmt.Errorf("unexpected ExprType %v of %d bytes and type %d", e.Tp, len(e.Val), e.FieldType.Tp)
		}
		return nil
	}
	switch e.Tp {
	case tipb.ExprType_Null:
		v.null = true
	case tipb.ExprType_Int64:
		if err = fits(integer, 8); err == nil {
			v.bits = uint64(bigEndianInt(e.Val))
		}
	case tipb.ExprType_Uint64:
		if err = fits(integer, 8); err == nil {
			v.bits = binary.BigEndian.Uint64(e.Val)
		}
	case tipb.ExprType_Float64:
		if err = fits(float, 8); err == nil {
			v.float = readFloat(e.Val)
		}
	case tipb.ExprType_MysqlDecimal:
		if err = fits(decimal, 0); err == nil {
			v.digits, v.scale, err = readDecimal(e.Val)
		}
	case tipb.ExprType_Bytes, tipb.ExprType_String:
		err = fits(text, 0)
		v.text = e.Val
	default:
		err = fmt.Errorf("unexpected ExprType %v", e.Tp)
	}
	return v, err
}

func function(e *tipb.Expr, r row) (value, error) {
	args := make([]value, len(e.Children))
	for i, child := range e.Children {
		v, err := evaluate(child, r)
		if err != nil {
			return value{}, err
		}
		args[i] = v
	}
	if e.FieldType == nil {
		return value{}, fmt.Errorf("%v without a type", e.Sig)
	}
	if k, ok := kindsOfIsNull[e.Sig]; ok {
		if err := expect(e, args, 1, k); err != nil {
			return value{}, err
		}
		return truth(args[0].null), nil
	}
	switch e.Sig {
	case tipb.ScalarFuncSig_UnaryNotInt:
		if err := expect(e, args, 1, integer); err != nil || args[0].null {
			return null, err
		}
		return truth(args[0].bits == 0), nil
	case tipb.ScalarFuncSig_LogicalAnd, tipb.ScalarFuncSig_LogicalOr:
		// One such operand decides, even beside NULL.
		deciding := e.Sig == tipb.ScalarFuncSig_LogicalOr
		if err := expect(e, args, 2, integer); err != nil {
			return value{}, err
		}
		for _, v := range args {
			if !v.null && (v.bits != 0) == deciding {
				return truth(deciding), nil
			}
		}
		if args[0].null || args[1].null {
			return null, nil
		}
		return truth(!deciding), nil
	}
	if e.Sig >= tipb.ScalarFuncSig_InInt && e.Sig <= tipb.ScalarFuncSig_InString {
		return in(e, args)
	}
	kindAt := int(e.Sig) % 10
	if kindAt >= len(kindsOfComparison) {
		return value{}, fmt.Errorf("function %v is not known here", e.Sig)
	}
	if err := expect(e, args, 2, kindsOfComparison[kindAt]); err != nil {
		return value{}, err
	}
	base := e.Sig - tipb.ScalarFuncSig(kindAt)
	if base == tipb.ScalarFuncSig_NullEQInt {
		if args[0].null || args[1].null {
			return truth(args[0].null && args[1].null), nil
		}
		return truth(compare(args[0], args[1], e.FieldType.Collate) == 0), nil
	}
	holds, ok := comparisons[base]
	if !ok {
		return value{}, fmt.Errorf("function %v is not known here", e.Sig)
	}
	if args[0].null || args[1].null {
		return null, nil
	}
	return truth(holds(compare(args[0], args[1], e.FieldType.Collate))), nil
}

func in(e *tipb.Expr, args []value) (value, error) {
	k := kindsOfComparison[e.Sig-tipb.ScalarFuncSig_InInt]
	if k == decimal {
		return value{}, fmt.Errorf("%v is not known here", e.Sig)
	}
	if err := expect(e, args, len(args), k); err != nil || len(args) < 2 {
		return value{}, fmt.Errorf("%v of %d values: %v", e.Sig, len(args), err)
	}
	if args[0].null {
		return null, nil
	}
	unknown := false
	for _, v := range args[1:] {
		if v.null {
			unknown = true
		} else if compare(args[0], v, e.FieldType.Collate) == 0 {
			return truth(true), nil
		}
	}
	if unknown {
		return null, nil
	}
	return truth(false), nil
}

func expect(e *tipb.Expr, args []value, count int, k kind) error {
	if len(args) != count {
		return fmt.Errorf("%v of %d values", e.Sig, len(args))
	}
	for _, v := range args {
		if v.kind != k {
			return fmt.Errorf("%v of values of another type", e.Sig)
		}
	}
	return nil
}
