package store

import (
	"cmp"
	"strings"
)

// CompareSequence compares two sequence numbers as integers and returns -1, 0 or 1. They have up to
// 40 digits, so neither text order nor an int64 will do. Numbers of different shards are comparable
// only if one shard is an ancestor of the other.
func CompareSequence(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}

	return cmp.Compare(a, b)
}

// sequenceDigits is how many digits a sequence number may have.
const sequenceDigits = 40

// PaddedSequence returns the sequence number with leading zeros, so that sequence
// numbers sort as text. They have up to 40 digits.
func PaddedSequence(sequence string) string {
	sequence = strings.TrimLeft(sequence, "0")
	return strings.Repeat("0", max(0, sequenceDigits-len(sequence))) + sequence
}
