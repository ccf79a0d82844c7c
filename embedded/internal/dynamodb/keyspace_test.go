package dynamodb

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/store"
)

func testSpace() *keyspace.Space {
	return &keyspace.Space{
		Keys:   keyspace.Schema{Hash: keyspace.Attr{Name: "id", Kind: attr.S}, Range: keyspace.Attr{Name: "sk", Kind: attr.S}},
		Prefix: keyspace.TablePrefix(keyspace.KindItem, 7),
	}
}

// TestBoundsOfAKeyCondition: a key condition covers exactly the sort keys that satisfy it.
func TestBoundsOfAKeyCondition(t *testing.T) {
	s := testSpace()
	any3 := rapid.StringMatching(`[ab\x00\xff]{1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		sk, lo, hi := any3.Draw(t, "sk"), any3.Draw(t, "lo"), any3.Draw(t, "hi")
		key, err := s.KeyOf(attr.Item{"id": text("p"), "sk": text(sk)})
		if err != nil {
			t.Fatal(err)
		}

		for op, want := range map[expression.RangeOp]bool{
			expression.RangeNone: true, expression.RangeEqual: sk == lo, expression.RangeLess: sk < lo,
			expression.RangeLessEqual: sk <= lo, expression.RangeGreater: sk > lo, expression.RangeGreaterEqual: sk >= lo,
			expression.RangeBetween:    lo <= sk && sk <= hi,
			expression.RangeBeginsWith: len(sk) >= len(lo) && sk[:len(lo)] == lo,
		} {
			from, to, err := s.Bounds(&expression.KeyCondition{Hash: text("p"), Range: expression.Range{Op: op, Lo: text(lo), Hi: text(hi)}})
			if err != nil {
				t.Fatal(err)
			}

			if got := bytes.Compare(key.Bytes, from) >= 0 && bytes.Compare(key.Bytes, to) < 0; got != want {
				t.Fatalf("operator %d, key %q, bounds %q %q: inside %v, want %v", op, sk, lo, hi, got, want)
			}
		}
	})
}

// TestSegmentsOfAScan: the segments of any division follow on each other without gap.
func TestSegmentsOfAScan(t *testing.T) {
	s := testSpace()
	for _, total := range []int64{1, 2, 3, 7, 1000, 999_983, 1_000_000} {
		boundary := s.Prefix
		for n := range total {
			if total > 1000 && n > 5 && n < total-5 {
				n = total - 5
			}

			lo, hi := s.Segment(&n, &total)
			if n <= 5 && bytes.Compare(lo, boundary) < 0 || bytes.Compare(lo, hi) >= 0 {
				t.Fatalf("segment %d of %d: %x to %x behind %x", n, total, lo, hi, boundary)
			}
			boundary = hi
		}

		if !bytes.Equal(boundary, store.PrefixEnd(s.Prefix)) {
			t.Fatalf("the last of %d segments ends at %x", total, boundary)
		}
	}
}
