package machines

import "testing"

// An alias gives each version its share of a hundred draws, and none to a version with the weight 0.
func TestAnAliasPicksByWeight(t *testing.T) {
	for _, row := range []struct {
		weights []int
		firsts  int // draws that pick the first version
	}{
		{weights: []int{100}, firsts: 100},
		{weights: []int{30, 70}, firsts: 30},
		{weights: []int{1, 99}, firsts: 1},
		{weights: []int{0, 100}, firsts: 0},
		{weights: []int{100, 0}, firsts: 100},
	} {
		a := &alias{}
		for i, weight := range row.weights {
			a.Routes = append(a.Routes, route{Version: uint64(i + 1), Weight: weight})
		}

		firsts := 0
		for draw := range 100 {
			if a.pick(draw) == 1 {
				firsts++
			}
		}

		if firsts != row.firsts {
			t.Errorf("weights %v: the first version has %d of 100 draws", row.weights, firsts)
		}
	}
}
