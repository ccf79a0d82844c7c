package check

import (
	"fmt"
	"slices"
	"strings"
)

// maxNodes bounds the exploration. Ratchet's own state machine needs a few hundred.
const maxNodes = 1 << 20

// view is the knowledge about the order at a point of an execution.
type view struct {
	// known is the position of the order according to the data of the execution, actual its real position.
	known, actual int16
	// facts are bits of explorer.factBits.
	facts uint16
	// stale says that the order has been moved since the data was written. It may have come back to the
	// same state in the meantime.
	stale bool
}

// moved returns the view after a move of the order.
func (v view) moved(m outsideMove) view {
	v.actual = m.to
	v.stale = v.stale || m.how != ""

	return v
}

// refreshed returns the view after the position of the order was written into the data.
func (v view) refreshed() view {
	v.known, v.stale = v.actual, false
	return v
}

// node is one node of the product of the two graphs.
type node struct {
	state *aslState
	view
}

// visit is a node with the way by which the search first came there. The search is
// breadth first, so that following prev gives a shortest path.
type visit struct {
	node
	prev int32 // index of a visit, -1 for a start
	how  string
}

// edge leads from visit to visit, directly or through a Catch. Only an unplanned error takes a failure
// edge: a task that gave up, or an error with an unknown name.
type edge struct {
	from, to int32
	failure  bool
	caught   bool // by a Catch
}

// explorer walks the product of the ASL graph and the order's table.
type explorer struct {
	*checker

	order        orderTable
	base         string // the variable without its last name, like "$.order"
	outside      [][]outsideMove
	siblingMoves map[*aslScope][][]outsideMove // by events of the other branches
	factBits     map[string]uint16

	visits  []visit
	index   map[node]int32 // of visits
	edges   []edge
	current int32 // the visit being expanded
	caught  bool  // the next edges lead through a Catch

	ends         map[int32]bool             // visits where an execution ends
	accepted     map[int16]bool             // positions with which an execution ends well
	appliedRules map[*aslState]map[int]bool // rules of a Choice that can apply
	succeeds     map[*aslState]bool         // tasks that can succeed somewhere
	reported     map[string]bool            // code and path of findings
}

func (c *checker) explore(report *Report) error {
	x := &explorer{
		checker:      c,
		order:        newOrderTable(c.d),
		siblingMoves: map[*aslScope][][]outsideMove{},
		factBits:     map[string]uint16{},
		index:        map[node]int32{},
		ends:         map[int32]bool{},
		accepted:     map[int16]bool{},
		appliedRules: map[*aslState]map[int]bool{},
		succeeds:     map[*aslState]bool{},
		reported:     map[string]bool{},
	}

	if dot := strings.LastIndexByte(c.cfg.Variable, '.'); dot > 0 {
		x.base = c.cfg.Variable[:dot]
	}

	for i, fact := range c.cfg.facts() {
		x.factBits[fact] = 1 << i
	}

	x.outside = x.order.outsideMoves("another caller", c.d.Events())
	x.start()

	// visits grows in the loop: expand appends the nodes that are new.
	for i := 0; i < len(x.visits); i++ {
		if len(x.visits) > maxNodes {
			return fmt.Errorf("more than %d combinations of states; the machine is too large to explore", maxNodes)
		}

		x.current = int32(i)
		x.expand(x.visits[i].node)
	}

	x.addFindings()

	report.Explored = len(x.visits)
	for _, v := range x.visits {
		path := v.state.path()
		if s := x.order.name(v.known); !slices.Contains(report.Possible[path], s) {
			report.Possible[path] = append(report.Possible[path], s)
		}
	}

	return nil
}

// start adds the first visits: without an order if some task creates it, else with an
// order in any state.
func (x *explorer) start() {
	first := x.m.top.byName[x.m.top.startAt]

	positions := []int16{noOrder}
	if !slices.ContainsFunc(x.m.all, func(s *aslState) bool { return s.effect.Creates }) {
		positions = positions[:0]
		for i := range x.order.states {
			positions = append(positions, int16(i))
		}
	}

	for i, position := range positions {
		n := node{first, view{known: position, actual: position}}
		x.index[n] = int32(i)
		x.visits = append(x.visits, visit{node: n, prev: -1})
	}
}

// possibleMoves lists where the order can be when the execution takes its next step: where
// it is, and wherever events from outside can bring it.
func (x *explorer) possibleMoves(from int16) []outsideMove {
	return append([]outsideMove{{to: from}}, x.outside[from]...)
}

// addEdge leads from the current visit to a state with a view.
func (x *explorer) addEdge(to *aslState, v view, how string, failure bool) {
	n := node{to, v}
	i, known := x.index[n]
	// Only the first way to a node is kept. It is a shortest one.
	if !known {
		i = int32(len(x.visits))
		x.index[n] = i
		x.visits = append(x.visits, visit{n, x.current, how})
	}

	x.edges = append(x.edges, edge{x.current, i, failure, x.caught})

	// A planned way into a Fail is a good end, too.
	if to.kind == "Fail" && to.scope.parent == nil && !failure {
		x.accept(v)
	}
}

// accept records that an execution ends well, unless its data has a wrong position of the order.
func (x *explorer) accept(v view) {
	if v.known == v.actual || v.known == lost {
		x.accepted[v.actual] = true
	}
}

// checkReleased reports an execution that ends well while a fact still holds.
func (x *explorer) checkReleased(v view) {
	var open []string
	for _, fact := range x.cfg.Released {
		// Something else has released the fact in this state of the order.
		elsewhere := v.actual >= 0 && slices.Contains(x.cfg.ReleasedIn[fact], x.order.name(v.actual))
		if v.facts&x.factBits[fact] != 0 && !elsewhere {
			open = append(open, fact)
		}
	}

	if len(open) > 0 {
		x.report(SeverityWarning, "left-open", x.visits[x.current].state,
			"an execution can end here with %q still holding, and nothing releases it later", strings.Join(open, ", "))
	}
}

// expand adds an edge to every successor of the node.
func (x *explorer) expand(n node) {
	s := n.state
	switch s.kind {
	case "Succeed":
		x.leaveScope(s.scope, n.view, "")
	case "Fail":
		// The end of a branch is not the end of the execution: a state around it may catch the failure.
		if s.scope.parent == nil {
			x.ends[x.current] = true
			return
		}

		x.raise(s.scope.parent, "", n.view, "a branch fails", true)
	case "Choice":
		x.followChoice(s, n.view)
	case "Parallel", "Map":
		for _, b := range s.branches {
			x.addEdge(b.byName[b.startAt], n.view, "", false)
		}

		// The list may be empty.
		if s.kind == "Map" {
			x.leave(s, x.afterResult(s, n.view, false), "without an item", false)
		}
	case "Task":
		x.followTask(s, n.view)
	default:
		x.leave(s, x.afterResult(s, n.view, false), "", false)
	}
}

// leave goes on after a state that succeeded.
func (x *explorer) leave(s *aslState, v view, how string, failure bool) {
	if s.next != "" {
		x.addEdge(s.scope.byName[s.next], v, how, failure)
		return
	}

	x.leaveScope(s.scope, v, how)
}

// followChoice follows the rules in order, with what is known of the order.
func (x *explorer) followChoice(s *aslState, v view) {
	if x.appliedRules[s] == nil {
		x.appliedRules[s] = map[int]bool{}
	}

	undecided := false
	for i, r := range s.rules {
		applies := maybe
		// Only a rule about the variable itself can be decided, and only if the position is known.
		if v.known >= 0 && s.input == "$" && !s.jsonata {
			applies = r.cond.evaluate(x.cfg.Variable, x.order.name(v.known))
		}

		if applies == no {
			continue
		}

		x.appliedRules[s][i] = true
		x.addEdge(s.scope.byName[r.next], v, fmt.Sprintf("rule %d", i+1), false)

		// The rules after it are not reached from here.
		if applies == yes {
			return
		}

		undecided = true
	}

	switch {
	case s.hasDefault:
		x.addEdge(s.scope.byName[s.defaults], v, "default", false)
	// Perhaps an undecided rule applies, so this is a warning and not an error.
	case undecided:
		x.once("choice-without-default", s, func() {
			x.at(SeverityWarning, "choice-without-default", s, 0,
				"no Default: input that no rule matches ends the execution with States.NoChoiceMatched, which nothing can catch")
		})
	default:
		x.ends[x.current] = true
		x.report(SeverityError, "no-choice-matched", s,
			"no rule matches and there is no Default; the execution ends with States.NoChoiceMatched")
	}
}

// once runs fn the first time that a state has the finding.
func (x *explorer) once(code string, s *aslState, fn func()) {
	key := code + " " + s.path()
	if !x.reported[key] {
		x.reported[key] = true
		fn()
	}
}

// report adds a finding with the path to the current visit, once per state.
func (x *explorer) report(sev Severity, code string, s *aslState, format string, args ...any) {
	x.once(code, s, func() {
		x.add(Finding{
			Severity: sev,
			Code:     code,
			State:    s.path(),
			Line:     s.line,
			Message:  fmt.Sprintf(format, args...),
			Path:     x.pathTo(x.current),
		})
	})
}

// pathTo returns the path to a visit from the start of the execution.
func (x *explorer) pathTo(i int32) []PathState {
	var path []PathState
	for ; i >= 0; i = x.visits[i].prev {
		path = append(path, x.stepAt(i))
	}

	slices.Reverse(path)

	return path
}

// stepAt describes a visit as a step of a path.
func (x *explorer) stepAt(i int32) PathState {
	v := x.visits[i]

	step := PathState{State: v.state.path(), Order: x.order.name(v.known), How: v.how}
	if v.actual != v.known {
		step.Actual = x.order.name(v.actual)
	}

	return step
}
