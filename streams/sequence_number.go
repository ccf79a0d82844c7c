package streams

import (
	"cmp"
	"strings"
)

// compareSequence compares two sequence numbers as integers and returns -1, 0 or 1. They have up to
// 40 digits, so neither text order nor an int64 will do. Numbers of different shards are comparable
// only if one shard is an ancestor of the other.
func compareSequence(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}

	return cmp.Compare(a, b)
}
