package streams

import (
	"cmp"
	"strings"
)

// CompareSequence orders two sequence numbers as the integers that they are:
// -1, 0 or 1. They have up to 40 digits, so neither text order nor an int64
// will do. The answer means something only inside one shard lineage.
func CompareSequence(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}

	return cmp.Compare(a, b)
}
