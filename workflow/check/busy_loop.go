package check

import "slices"

// findBusyLoop reports the nearest loop that an execution goes round at once and again and again, as long as
// nothing moves the order: no state of it waits, no error is needed, and the data decides the same way each time.
// It ends with States.Runtime when the history is full.
func (x *explorer) findBusyLoop() {
	next := make([][]edge, len(x.visits))
	for _, e := range x.edges {
		if !e.chance && !e.failure && e.from >= 0 {
			next[e.from] = append(next[e.from], e)
		}
	}

	for _, i := range looping(next) {
		loop := wayBack(i, next)
		if loop == nil || x.hasFatalFinding(x.visits[i].state) {
			continue
		}

		path := x.pathTo(i)
		for _, e := range loop {
			step := x.stepAt(e.to)
			step.How = e.how
			path = append(path, step)
		}

		x.once("busy-loop", x.visits[i].state, func() {
			x.add(Finding{
				Severity: SeverityError,
				Code:     "busy-loop",
				State:    x.visits[i].state.path(),
				Line:     x.visits[i].state.line,
				Message:  "the execution comes back to this state at once and goes round until its history is full, unless somebody moves the order; let it wait, or end",
				Path:     path,
			})
		})

		// The other visits of the loop would say the same.
		return
	}
}

// looping lists the visits that may be on a loop: those that are left when every visit to which nothing leads
// is taken away, one after the other.
func looping(next [][]edge) []int32 {
	into := make([]int, len(next))
	for _, edges := range next {
		for _, e := range edges {
			into[e.to]++
		}
	}

	var free []int32
	for i := range next {
		if into[i] == 0 {
			free = append(free, int32(i))
		}
	}

	for ; len(free) > 0; free = free[1:] {
		for _, e := range next[free[0]] {
			if into[e.to]--; into[e.to] == 0 {
				free = append(free, e.to)
			}
		}
	}

	var left []int32
	for i, n := range into {
		if n > 0 {
			left = append(left, int32(i))
		}
	}

	return left
}

// wayBack returns the shortest way from a visit back to it, nil if there is none.
func wayBack(start int32, next [][]edge) []edge {
	before := map[int32]edge{}
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		for _, e := range next[queue[0]] {
			if e.to == start {
				way := []edge{e}
				for i := e.from; i != start; i = before[i].from {
					way = append(way, before[i])
				}
				slices.Reverse(way)

				return way
			}

			if _, seen := before[e.to]; !seen {
				before[e.to] = e
				queue = append(queue, e.to)
			}
		}
	}

	return nil
}
