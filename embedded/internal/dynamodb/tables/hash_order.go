package tables

import (
	"slices"
	"unicode/utf16"
)

// The service collects the names of attributes in hash tables of Java and lists them in the order of
// the tables. smallTable and largeTable are the initial numbers of buckets.
// Source: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/attribute_definition_messages.rs, recorded on the service
const (
	smallTable = 4
	largeTable = 16
)

// hashOrder returns the names, each once, in the order of a hash table of Java that began with that
// number of buckets.
func hashOrder(names []string, buckets uint32) []string {
	var ordered []string
	for _, name := range names {
		if !slices.Contains(ordered, name) {
			ordered = append(ordered, name)
		}
	}

	// A HashMap doubles its buckets when it is more than three quarters full.
	for int(buckets)*3/4 < len(ordered) {
		buckets *= 2
	}

	bucket := func(name string) uint32 {
		var hash uint32

		// As String.hashCode does it. HashMap then mixes in the upper half.
		for _, unit := range utf16.Encode([]rune(name)) {
			hash = 31*hash + uint32(unit)
		}

		return (hash ^ hash>>16) & (buckets - 1)
	}

	slices.SortStableFunc(ordered, func(a, b string) int { return int(bucket(a)) - int(bucket(b)) })

	return ordered
}
