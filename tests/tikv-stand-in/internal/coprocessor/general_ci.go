package coprocessor

import (
	"bytes"
	_ "embed" // for the table
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"
	"unicode/utf8"
)

// generalPlanes has MySQL's weights of utf8mb4_general_ci: for each plane of 256 characters in which one has another weight than
// its code point, the plane and all 256.
//
//go:embed general_ci.txt
var generalPlanes string

var generalTable = sync.OnceValue(func() map[rune][]byte {
	table := make(map[rune][]byte)
	for line := range strings.Lines(generalPlanes) {
		plane, weights, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, err := hex.DecodeString(plane)
		if err != nil {
			panic(err)
		}
		if table[rune(number[0])], err = hex.DecodeString(weights); err != nil {
			panic(err)
		}
	}
	return table
})

// generalWeights returns the weights of a text without the spaces at its end.
func generalWeights(text []byte) (weights []uint16) {
	table := generalTable()
	for text = bytes.TrimRight(text, " "); len(text) > 0; {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		plane, found := table[r>>8]
		switch {
		case r > 0xffff:
			weights = append(weights, 0xfffd)
		case found:
			weights = append(weights, binary.BigEndian.Uint16(plane[r&0xff*2:]))
		default:
			weights = append(weights, uint16(r))
		}
	}
	return weights
}
