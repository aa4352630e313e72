package placement

import "errors"

// Region bounds are stored and sent in TiKV's memory-comparable form, while requests name plain keys. The
// form has groups of eight bytes, each followed by 0xFF minus the number of zero bytes that fill it up.
const (
	groupSize = 8
	marker    = 0xFF
)

var errNotEncoded = errors.New("not a memory-comparable key")

// Encode returns key in memory-comparable form. An empty key stays empty: as a bound, both mean
// "unbounded".
func Encode(key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	out := make([]byte, 0, (len(key)/groupSize+1)*(groupSize+1))
	for start := 0; start <= len(key); start += groupSize {
		group := key[start:min(start+groupSize, len(key))]
		fill := groupSize - len(group)
		out = append(out, group...)
		out = append(out, make([]byte, fill)...)
		out = append(out, byte(marker-fill))
	}
	return out
}

// Decode is the inverse of [Encode].
func Decode(encoded []byte) ([]byte, error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	var key []byte
	for {
		if len(encoded) < groupSize+1 {
			return nil, errNotEncoded
		}
		group, fill := encoded[:groupSize], int(marker-encoded[groupSize])
		encoded = encoded[groupSize+1:]
		if fill > groupSize {
			return nil, errNotEncoded
		}
		for _, b := range group[groupSize-fill:] {
			if b != 0 {
				return nil, errNotEncoded
			}
		}
		key = append(key, group[:groupSize-fill]...)
		if fill > 0 {
			if len(encoded) > 0 {
				return nil, errNotEncoded
			}
			return key, nil
		}
	}
}
