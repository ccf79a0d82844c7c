package streams

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ratchet/embedded/internal/attr"
)

// Texts and numbers have the same order, and a text gives its number back.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := sequence(rapid.Uint64().Draw(t, "a")), sequence(rapid.Uint64().Draw(t, "b"))
		if back, err := parseSequence(a.String()); err != nil || back != a {
			t.Fatalf("%d is %s is %d, %v", a, a, back, err)
		}

		x, _ := new(big.Int).SetString(a.String(), 10)
		y, _ := new(big.Int).SetString(b.String(), 10)
		want := 0
		if a < b {
			want = -1
		} else if a > b {
			want = 1
		}

		if x.Cmp(y) != want || strings.Compare(a.String(), b.String()) != want || len(a.String()) != 21 {
			t.Fatalf("%s against %s", a, b)
		}
	})

	for _, bad := range []string{"", "0", "abc", "20000000000000000000x", "099999999999999999999", strings.Repeat("1", 22)} {
		if _, err := parseSequence(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Sequences grow even while the clock steps back.
func TestClockStepsBack(t *testing.T) {
	var c sequencer
	start := time.UnixMilli(1_800_000_000_000)
	last := sequence(0)
	for _, step := range []time.Duration{0, 0, time.Second, -time.Hour, -time.Hour, time.Millisecond, 2 * time.Second} {
		seq := c.next(start.Add(step))
		if seq <= last {
			t.Fatalf("at %v: %d follows %d", step, seq, last)
		}
		last = seq
	}

	if !last.time().Equal(start.Add(2 * time.Second)) {
		t.Errorf("the last sequence tells %v", last.time())
	}
}

// The ranges of any number of shards cover all hashes without overlap.
func TestHashRanges(t *testing.T) {
	for n := 1; n <= 1000; n++ {
		bounds := hashRanges(n)
		if len(bounds) != n || bounds[0][0] != 0 || bounds[n-1][1] != math.MaxUint64 {
			t.Fatalf("%d shards: %v", n, bounds)
		}

		for i := 1; i < n; i++ {
			if bounds[i][0] != bounds[i-1][1]+1 {
				t.Fatalf("%d shards: gap or overlap at %d", n, i)
			}
		}
	}
}

func TestIteratorText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := iterator{
			shard: rapid.Uint64().Draw(t, "shard"), next: sequence(rapid.Uint64().Draw(t, "next")),
			issued: time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "issued")),
		}
		text := it.text("arn:x/stream/1")
		arn, back, err := parseIterator(text)
		if err != nil || arn != "arn:x/stream/1" || back.shard != it.shard || back.next != it.next || !back.issued.Equal(it.issued) {
			t.Fatalf("%+v came back as %s %+v, %v", it, arn, back, err)
		}

		if _, _, err := parseIterator("arn:y/stream/1" + strings.TrimPrefix(text, "arn:x/stream/1")); err == nil {
			t.Fatal("another stream's iterator is accepted")
		}
	})
}

func TestChangeCodec(t *testing.T) {
	image := func(s string) []byte { return attr.AppendBinary(nil, attr.Item{"id": {Kind: attr.S, Str: s}}) }

	c := Change{Event: Modify, Expired: true, Keys: image("k"), New: image("new"), Old: image("old"), Size: 77}
	for view, want := range map[View][2][]byte{
		KeysOnly:        {nil, nil},
		NewImage:        {c.New, nil},
		OldImage:        {nil, c.Old},
		NewAndOldImages: {c.New, c.Old},
	} {
		raw := c.encode(nil, view)
		if size := c.encodedSize(view); size != len(raw) {
			t.Errorf("%s: %d bytes, foreseen were %d", view, len(raw), size)
		}

		var back Change
		err := back.decode(raw)
		if err != nil || back.Event != Modify || !back.Expired || back.Size != 77 || !slices.Equal(back.Keys, c.Keys) ||
			!slices.Equal(back.New, want[0]) || !slices.Equal(back.Old, want[1]) {
			t.Errorf("%s: %+v, %v", view, back, err)
		}
	}

	whole := c.encode(nil, NewAndOldImages)
	for n := range whole {
		if err := new(Change).decode(whole[:n]); err == nil {
			t.Errorf("%d bytes of %d are accepted", n, len(whole))
		}
	}
}

// TestEncodedSize foresees the bytes of lengths and sizes on both sides of each place where they take one
// more.
func TestEncodedSize(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 1<<21 - 1, 1 << 21} {
		for _, c := range []Change{{Size: n}, {Keys: make([]byte, n)}, {Size: 1, New: make([]byte, n), Old: make([]byte, n/2)}} {
			if got, want := c.encodedSize(NewAndOldImages), len(c.encode(nil, NewAndOldImages)); got != want {
				t.Errorf("%d: %d, want %d", n, got, want)
			}
		}
	}
}

func FuzzDecodeChange(f *testing.F) {
	f.Add((&Change{Event: Insert, Keys: []byte("k"), New: []byte("n")}).encode(nil, NewImage))
	f.Fuzz(func(_ *testing.T, raw []byte) { _ = new(Change).decode(raw) })
}

func FuzzParseIterator(f *testing.F) {
	f.Add(iterator{1, 2, time.UnixMilli(3)}.text("arn"))
	f.Fuzz(func(t *testing.T, text string) {
		if arn, it, err := parseIterator(text); err == nil && it.text(arn) != text {
			t.Fatalf("%q is read as %q", text, it.text(arn))
		}
	})
}
