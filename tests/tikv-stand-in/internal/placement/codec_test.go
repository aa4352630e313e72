package placement

import (
	"bytes"
	"testing"
)

func TestEncodingKeepsTheOrderAndComesBack(t *testing.T) {
	keys := []string{"", "\x00", "\x00\x00", "a", "a\x00", "abcdefg", "abcdefgh", "abcdefgh\x00", "abcdefghi", "b", "\xff\xff"}
	for i, key := range keys {
		encoded := Encode([]byte(key))
		decoded, err := Decode(encoded)
		if err != nil || string(decoded) != key {
			t.Errorf("%q comes back as %q, %v", key, decoded, err)
		}
		if i > 0 && bytes.Compare(Encode([]byte(keys[i-1])), encoded) >= 0 {
			t.Errorf("%q is not before %q", keys[i-1], key)
		}
	}
	if got := Encode([]byte("abcdefgh")); string(got) != "abcdefgh\xff\x00\x00\x00\x00\x00\x00\x00\x00\xf7" {
		t.Errorf("a full group: %q", got)
	}
}

func TestDecodeRefusesWhatIsNotEncoded(t *testing.T) {
	for _, bad := range []string{"a", "abcdefgh", "abcdefgh\xff", "a\x00\x00\x00\x00\x00\x00\x01\xf8", "abcdefgh\x10", "a\x00\x00\x00\x00\x00\x00\x00\xf8z"} {
		if key, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is taken for %q", bad, key)
		}
	}
}
