package check

import "slices"

// findDeadEnds reports every Catch from which a path leads to a Fail state, or to a state that cannot be
// left. An execution that failed in a task is redriven in that task. After a Catch that led to a Fail
// state, a redrive only fails again.
func (x *explorer) findDeadEnds() {
	from := map[int32][]edge{}
	for _, e := range x.edges {
		from[e.from] = append(from[e.from], e)
	}

	// Computed once: it walks the whole graph.
	ending := x.endingVisits()
	for _, e := range x.edges {
		s := x.visits[e.from].state
		if !e.caught || x.reported["catch-dead-ends "+s.path()] {
			continue
		}

		way := x.wayToDeadEnd(e.to, from, ending)
		if way == nil {
			continue
		}

		end := x.visits[way[len(way)-1]]
		what := "which cannot be left"
		if end.state.kind == "Fail" {
			what = "where a redrive only fails again"
		}

		path := x.pathTo(e.from)
		for _, i := range way {
			path = append(path, x.stepAt(i))
		}

		x.once("catch-dead-ends", s, func() {
			x.add(Finding{
				Severity: SeverityError,
				Code:     "catch-dead-ends",
				State:    s.path(),
				Line:     s.line,
				Message:  "a Catch leads to " + end.state.path() + ", " + what + "; let the error end the execution in this task",
				Path:     path,
			})
		})
	}
}

// wayToDeadEnd returns the shortest way from a visit to a dead end, without another Catch.
func (x *explorer) wayToDeadEnd(start int32, from map[int32][]edge, ending []bool) []int32 {
	before := map[int32]int32{start: -1}

	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		// A Fail inside a Parallel or Map is no end: a state around it may catch it.
		if fails := x.visits[i].state; fails.kind == "Fail" && fails.scope.parent == nil || !ending[i] {
			var way []int32
			for ; i >= 0; i = before[i] {
				way = append(way, i)
			}
			slices.Reverse(way)

			return way
		}

		for _, e := range from[i] {
			// An edge of another Catch is left out: findDeadEnds looks at that Catch itself.
			if _, seen := before[e.to]; !seen && !e.caught {
				before[e.to] = i
				queue = append(queue, e.to)
			}
		}
	}

	return nil
}
