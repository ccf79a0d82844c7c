package dynamodb

import (
	"testing"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/expiries"
)

func TestExpiry(t *testing.T) {
	for number, want := range map[string]int64{"1763712000": 1763712000, "1763712000.9": 1763712000, "0": 0, "-5": 0, "1E+50": 0} {
		got, has := expiries.Of(attr.Item{"ttl": {Kind: attr.N, Str: number}}, "ttl")
		if has != (want > 0) || has && got != want {
			t.Errorf("%s: %d, %v", number, got, has)
		}
	}

	if _, has := expiries.Of(attr.Item{"ttl": {Kind: attr.S, Str: "1763712000"}}, "ttl"); has {
		t.Error("a string is no expiry")
	}
}
