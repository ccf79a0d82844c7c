package diagram

import (
	"cmp"
	"slices"
)

// orderRounds is how often the columns are ordered. Later rounds hardly ever find a better order.
const orderRounds = 24

// order sorts the columns so that few lines cross. It tries several ways, and keeps the best one.
func (r *grid) order() {
	best, fewest := r.snapshot(), r.crossings()

	for round := range orderRounds {
		// From left to right and from right to left in turn, with ties broken in both ways.
		forward, reverse := round%2 == 0, round/2%2 == 1

		for i := range r.columns {
			column := r.columns[i]
			if !forward {
				column = r.columns[len(r.columns)-1-i]
			}
			sortByNeighbors(column, forward, reverse)
		}
		r.exchange()

		if n := r.crossings(); n < fewest {
			best, fewest = r.snapshot(), n
		}
	}
	r.restore(best)
}

func (r *grid) snapshot() [][]*place {
	kept := make([][]*place, len(r.columns))
	for i, column := range r.columns {
		kept[i] = slices.Clone(column)
	}

	return kept
}

func (r *grid) restore(kept [][]*place) {
	r.columns = kept
	for _, column := range r.columns {
		number(column)
	}
}

func number(column []*place) {
	for i, p := range column {
		p.at = i
	}
}

// sortByNeighbors sorts a column by the medians of the places' neighbors on one side. A place without any
// stays where it is.
func sortByNeighbors(column []*place, forward, reverse bool) {
	medians := map[*place]float64{}
	var movable []*place
	for _, p := range column {
		near := p.after
		if forward {
			near = p.before
		}

		if len(near) > 0 {
			medians[p] = median(near)
			movable = append(movable, p)
		}
	}

	slices.SortStableFunc(movable, func(a, b *place) int {
		order := cmp.Compare(medians[a], medians[b])
		if order == 0 && reverse {
			return cmp.Compare(b.at, a.at)
		}

		return order
	})

	next := 0
	for i, p := range column {
		if _, moves := medians[p]; moves {
			column[i] = movable[next]
			next++
		}
	}
	number(column)
}

// median is the weighted one of Gansner et al.: between two middle neighbors, the side where they are
// closer together weighs more.
func median(near []*place) float64 {
	at := make([]float64, len(near))
	for i, p := range near {
		at[i] = float64(p.at)
	}
	slices.Sort(at)

	middle := len(at) / 2
	switch {
	case len(at)%2 == 1:
		return at[middle]
	case len(at) == 2:
		return (at[0] + at[1]) / 2
	}

	left, right := at[middle-1]-at[0], at[len(at)-1]-at[middle]
	if left+right == 0 {
		return (at[middle-1] + at[middle]) / 2
	}

	return (at[middle-1]*right + at[middle]*left) / (left + right)
}

// exchange swaps neighbors in a column as long as that makes crossings fewer.
func (r *grid) exchange() {
	for better := true; better; {
		better = false
		for _, column := range r.columns {
			for i := 1; i < len(column); i++ {
				a, b := column[i-1], column[i]
				if crossed(b.before, a.before)+crossed(b.after, a.after) >= crossed(a.before, b.before)+crossed(a.after, b.after) {
					continue
				}
				column[i-1], column[i] = b, a
				a.at, b.at, better = i, i-1, true
			}
		}
	}
}

// crossed returns how often the lines of two places cross if the first one stands above the second one.
func crossed(above, below []*place) (n int) {
	for _, a := range above {
		for _, b := range below {
			if a.at > b.at {
				n++
			}
		}
	}

	return n
}

func (r *grid) crossings() (n int) {
	for _, column := range r.columns {
		for i, a := range column {
			for _, b := range column[i+1:] {
				n += crossed(a.after, b.after)
			}
		}
	}

	return n
}
