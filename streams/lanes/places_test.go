package lanes

import "testing"

func TestPlacesAreReservedForEachHandler(t *testing.T) {
	for _, c := range []struct{ limit, handlers, want int }{
		{limit: 64, handlers: 4, want: 8},
		{limit: 64, handlers: 1, want: 32},
		{limit: 3, handlers: 2, want: 1},
		{limit: 1, handlers: 1, want: 1},
		{limit: 2, handlers: 3, want: 0}, // not enough for all: they take turns
	} {
		if got := reservedPlaces(c.limit, c.handlers); got != c.want {
			t.Errorf("%d places for %d handlers: %d each, want %d", c.limit, c.handlers, got, c.want)
		}
	}
}
