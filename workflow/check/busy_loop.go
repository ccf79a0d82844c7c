package check

import "slices"

// findBusyLoop reports the nearest loop that an execution goes round at once and again and again, as long as
// nobody moves the order: no state of it waits, no error is needed, and the data decides the same way each time.
// It ends with States.Runtime when the history is full.
func (x *explorer) findBusyLoop() {
	next := make([][]int32, len(x.visits))
	for _, e := range x.edges {
		if !e.chance && !e.failure && e.from >= 0 {
			next[e.from] = append(next[e.from], e.to)
		}
	}

	for _, i := range looping(next) {
		loop := wayBack(i, next)
		if loop == nil || x.hasFatalFinding(x.visits[i].state) {
			continue
		}

		path := x.pathTo(i)
		for _, j := range loop {
			path = append(path, x.stepAt(j))
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
func looping(next [][]int32) []int32 {
	into := make([]int, len(next))
	for _, to := range next {
		for _, i := range to {
			into[i]++
		}
	}

	var free []int32
	for i := range next {
		if into[i] == 0 {
			free = append(free, int32(i))
		}
	}

	for ; len(free) > 0; free = free[1:] {
		for _, i := range next[free[0]] {
			if into[i]--; into[i] == 0 {
				free = append(free, i)
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
func wayBack(start int32, next [][]int32) []int32 {
	before := map[int32]int32{}
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		for _, to := range next[queue[0]] {
			if to == start {
				way := []int32{start}
				for i := queue[0]; i != start; i = before[i] {
					way = append(way, i)
				}
				slices.Reverse(way)

				return way
			}

			if _, seen := before[to]; !seen {
				before[to] = queue[0]
				queue = append(queue, to)
			}
		}
	}

	return nil
}
