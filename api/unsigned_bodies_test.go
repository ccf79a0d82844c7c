package api

import (
	"slices"
	"testing"
)

// TestTheNetworkWithTheMostBodiesGivesWay: beyond the bound, the oldest body of the network that has the most is
// ended, and a network with one body keeps it.
func TestTheNetworkWithTheMostBodiesGivesWay(t *testing.T) {
	t.Parallel()

	var ended []string
	u := newUnsignedBodies(4)
	enter := func(network, name string) func() {
		return u.enter(network, func() { ended = append(ended, name) })
	}

	arrived := enter("single", "s")
	enter("flood", "f1")
	enter("flood", "f2")
	enter("flood", "f3")
	enter("flood", "f4")
	enter("other", "o")

	if !slices.Equal(ended, []string{"f1", "f2"}) {
		t.Errorf("%q were ended", ended)
	}

	arrived()
	enter("flood", "f5")

	if !slices.Equal(ended, []string{"f1", "f2"}) || len(u.arriving) != 4 {
		t.Errorf("%q were ended although a place was free, %d arrive", ended, len(u.arriving))
	}
}
