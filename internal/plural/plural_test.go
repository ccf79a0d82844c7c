package plural_test

import (
	"testing"

	"ratchet/internal/plural"
)

func TestOf(t *testing.T) {
	for _, row := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "order", "0 orders"},
		{1, "order", "1 order"},
		{2, "order", "2 orders"},
		{-1, "order", "-1 orders"},
		{1, "entry", "1 entry"},
		{3, "entry", "3 entries"},
		{3, "delay", "3 delays"},
		{3, "process", "3 processes"},
		{3, "batch", "3 batches"},
		{5, "dead letter", "5 dead letters"},
	} {
		if have := plural.Of(row.n, row.noun); have != row.want {
			t.Errorf("%q, want %q", have, row.want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", -999: "-999", 1000: "1,000", -123456: "-123,456", 1234567: "1,234,567"} {
		if got := plural.Thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestFirst(t *testing.T) {
	for want, all := range map[string][]string{"": nil, "a, b": {"a", "b"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		if got := plural.First(all, 2); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}
