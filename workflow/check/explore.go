package check

import (
	"fmt"
	"slices"
	"strings"

	"ratchet/workflow"
)

// maxNodes bounds the exploration. Ratchet's own state machine needs a few thousand.
const maxNodes = 1 << 20

// point is where an execution and its order are, beside the state that the execution enters.
type point struct {
	frame  *frame
	actual int16  // the position of the order
	facts  uint16 // bits of explorer.factBits
}

// node is one node of the product of the two graphs.
type node struct {
	state *aslState
	point
}

// visit is a node with the way by which the search first came there. The search is
// breadth first, so that following prev gives a shortest path.
type visit struct {
	node
	prev  int32 // index of a visit, -1 for a start
	how   string
	known int16 // the order's position according to the data
}

// way says how an execution goes from a visit to the next.
type way struct {
	how     string // for the path of a finding
	failure bool   // an unplanned error: a task that gave up, or an error with an unknown name
	caught  bool   // by a Catch
	// chance says that the way needs more than the order and the data as they are: a move from outside, time, or
	// data that changes. An execution that comes to the same node again need not go the same way.
	chance bool
}

// and returns the way with a further explanation.
func (w way) and(how string) way {
	w.how = join(w.how, how)
	return w
}

// edge leads from visit to visit. Its last members are those of its way.
type edge struct {
	from, to                int32
	failure, caught, chance bool
	how                     string
}

// explorer walks the product of the ASL graph and the order's table.
type explorer struct {
	*checker

	order    orderTable
	base     []string // the variable without its last name, like "order"
	last     string   // the last name of the variable, like "state"
	outside  [][]outsideMove
	byTime   [][]outsideMove // those that need no caller
	factBits map[string]uint16
	frames   frames
	live     *live

	visits  []visit
	index   map[node]int32 // of visits
	edges   []edge
	current int32         // the visit being expanded
	leaving map[edge]bool // the edges that leave it
	handled map[handled]bool

	possible   map[*aslState][]int16 // positions with which a state is entered
	references map[string]reference
	queries    map[string]*query

	joins        map[joinKey]*parallelJoin
	ends         map[int32]bool             // visits where an execution ends
	accepted     map[int16]bool             // positions with which an execution ends well
	appliedRules map[*aslState]map[int]bool // rules of a Choice that can apply
	tasks        map[*aslState]*taskRecord
	reported     map[string]bool // code and path of findings
	faulty       bool            // some path was not followed to its end
}

// taskRecord is what the exploration has learned about a task.
type taskRecord struct {
	succeeds bool     // somewhere
	fresh    bool     // somewhere its data is current, so that a refusal does not come from old data
	refused  []string // states of the order where its event is refused
	guarded  []string // states of the order where a guard may refuse it
}

func (c *checker) explore(report *Report) error {
	x := &explorer{
		checker:      c,
		order:        newOrderTable(c.d, c.fencedEvents()),
		factBits:     map[string]uint16{},
		frames:       frames{},
		index:        map[node]int32{},
		joins:        map[joinKey]*parallelJoin{},
		ends:         map[int32]bool{},
		accepted:     map[int16]bool{},
		appliedRules: map[*aslState]map[int]bool{},
		tasks:        map[*aslState]*taskRecord{},
		reported:     map[string]bool{},
		leaving:      map[edge]bool{},
		handled:      map[handled]bool{},
		possible:     map[*aslState][]int16{},
		references:   map[string]reference{},
		queries:      map[string]*query{},
	}

	steps := readReference(c.cfg.Variable).steps
	x.base, x.last = steps[:len(steps)-1], steps[len(steps)-1]

	for i, fact := range c.cfg.facts() {
		x.factBits[fact] = 1 << i
	}

	x.byTime = x.order.movesByTime(c.d.Events())
	x.outside = x.order.allMoves(c.d.Events(), x.byTime)
	x.live = x.findLive()
	x.start()

	// visits grows in the loop: expand appends the nodes that are new.
	for i := 0; i < len(x.visits); i++ {
		if len(x.visits) > maxNodes {
			return fmt.Errorf("more than %d combinations of states; the machine is too large to explore", maxNodes)
		}

		x.current = int32(i)
		clear(x.leaving)
		clear(x.handled)
		x.expand(x.visits[i].node)
	}

	x.addFindings()

	report.Explored = len(x.visits)
	for s, positions := range x.possible {
		for _, at := range positions {
			report.Possible[s.path()] = append(report.Possible[s.path()], x.order.name(at))
		}
	}

	return nil
}

// fencedEvents returns the events that tasks with a fence apply.
func (c *checker) fencedEvents() []workflow.Event {
	var events []workflow.Event
	for _, s := range c.m.all {
		switch e := s.effect; {
		case e.Fenced && e.AnyEvent:
			return c.d.Events()
		case e.Fenced && !slices.Contains(events, e.Event):
			events = append(events, e.Event)
		}
	}

	return events
}

// start adds the first visits: without an order if some task creates it, else with an
// order in any state, whose position is in the input.
func (x *explorer) start() {
	positions := []int16{noOrder}
	if !slices.ContainsFunc(x.m.all, func(s *aslState) bool { return s.effect.Creates }) {
		positions = positions[:0]
		for i := range x.order.states {
			positions = append(positions, int16(i))
		}
	}

	for _, at := range positions {
		input := fixedValue
		if at != noOrder {
			input, _ = input.put(x.base, positionAt(at, x.last))
		}

		f := x.frames.of(frame{input: input, vars: objectOf(nil), entry: -1})
		x.current = -1
		x.addEdge(x.m.top.byName[x.m.top.startAt], point{frame: f, actual: at}, way{})
	}
}

// seen returns the value at the place of the order's position, in the data or in a variable.
func (x *explorer) seen(p point) *value {
	v := p.frame.input.at(x.base)
	if v.kind == missing || v.kind == foreign || v.kind == untracked {
		v = p.frame.variable(x.base[0]).at(x.base[1:])
	}

	return v
}

// known returns the position of the order according to the data.
func (x *explorer) known(p point) int16 {
	switch v := x.seen(p).member(x.last); v.kind {
	case stateOf:
		return v.view.known
	case text:
		if i, found := x.order.index[workflow.State(v.name)]; found {
			return i
		}
	}

	if p.actual == noOrder {
		return noOrder
	}

	return lost
}

// possibleMoves lists where the order can be when the execution takes its next step: where
// it is, and wherever events from outside can bring it.
func (x *explorer) possibleMoves(from int16) []outsideMove {
	return append([]outsideMove{{to: from}}, x.outside[from]...)
}

// moved returns the point after a move of the order.
func (x *explorer) moved(p point, m outsideMove) point {
	p.frame, p.actual = x.frames.moved(p.frame, m.by), m.to
	return p
}

// addEdge leads from the current visit to a state.
func (x *explorer) addEdge(to *aslState, p point, w way) {
	seen := x.known(p)
	if !slices.Contains(x.possible[to], seen) {
		x.possible[to] = append(x.possible[to], seen)
	}

	p.frame = x.live.prune(to, p.frame)

	n := node{to, p}
	i, known := x.index[n]
	// Only the first way to a node is kept. It is a shortest one.
	if !known {
		i = int32(len(x.visits))
		x.index[n] = i
		x.visits = append(x.visits, visit{n, x.current, w.how, seen})
	}

	e := edge{from: x.current, to: i, failure: w.failure, caught: w.caught, chance: w.chance}
	if x.current >= 0 && !x.leaving[e] {
		x.leaving[e] = true
		e.how = w.how
		x.edges = append(x.edges, e)
	}

	// A planned way into a Fail is a good end, too.
	if to.kind == "Fail" && to.scope.parent == nil && !w.failure {
		x.accept(p)
	}
}

// accept records that an execution ends well, unless its data has a wrong position of the order.
func (x *explorer) accept(p point) {
	if known := x.known(p); known == p.actual || known == lost {
		x.accepted[p.actual] = true
	}
}

// checkReleased reports an execution that ends well while a fact still holds.
func (x *explorer) checkReleased(p point) {
	var open []string
	for _, fact := range x.cfg.Released {
		// Something else has released the fact in this state of the order.
		elsewhere := p.actual >= 0 && slices.Contains(x.cfg.ReleasedIn[fact], x.order.name(p.actual))
		if p.facts&x.factBits[fact] != 0 && !elsewhere {
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
	s, p := n.state, n.point
	switch s.kind {
	case "Succeed":
		x.leave(s, p, nil, way{})
	case "Fail":
		x.followFail(s, p)
	case "Choice":
		x.followChoice(s, p)
	case "Parallel":
		x.enterParallel(s, p)
	case "Map":
		x.enterMap(s, p)
	case "Task":
		x.followTask(s, p)
	case "Wait":
		x.leave(s, p, nil, way{chance: s.waits})
	default:
		x.leave(s, p, nil, way{})
	}
}

// followFail ends the execution, or raises the error of a branch in the state around it.
func (x *explorer) followFail(s *aslState, p point) {
	if s.scope.parent == nil {
		x.ends[x.current] = true
		return
	}

	names := []string{s.failure}
	if s.computed {
		names = append(x.caughtNames(s), "")
	}

	for _, name := range names {
		if !x.raise(s, name, foreignValue, p, way{how: "a branch fails" + named(name)}) {
			x.ends[x.current] = true
		}
	}
}

func named(err string) string {
	if err == "" {
		return ""
	}
	return " with " + err
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

// once runs fn the first time that a state has the finding.
func (x *explorer) once(code string, s *aslState, fn func()) {
	key := code + " " + s.path()
	if !x.reported[key] {
		x.reported[key] = true
		fn()
	}
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
