package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// maxSpots bounds the exploration; Ratchet's own machine needs a few hundred.
const maxSpots = 1 << 20

// The order states of a spot beside the definition's indices.
const (
	noOrder = -1 // there is no order yet
	lost    = -2 // the execution's data does not say where the order is
)

// view is what a spot knows beside its ASL state: where the data says the order is,
// where it is, which of the needed facts hold, and whether the order has been moved
// since the data was written. It may have come back to the same state.
type view struct {
	known, actual int16
	facts         uint16
	stale         bool
}

// moved is the view after somebody brought the order elsewhere.
func (v view) moved(d drift) view {
	v.actual = d.to
	v.stale = v.stale || d.how != ""
	return v
}

// adopted is the view after the order's position was written into the data.
func (v view) adopted() view {
	v.known, v.stale = v.actual, false
	return v
}

// spot is one point of the product.
type spot struct {
	state *aslState
	view
}

// visit is a spot with the way by which the search first came there. The search is
// breadth first, so following prev gives a shortest path.
type visit struct {
	spot
	prev int32
	how  string
}

// edge leads from spot to spot. Failure edges are those that only an error which
// nobody plans for takes: a step that gave up, an unknown name.
type edge struct {
	from, to int32
	failure  bool
}

// drift is somewhere that outside events can bring the order.
type drift struct {
	to  int16
	how string
}

// explorer walks the product of the ASL graph and the order's table.
type explorer struct {
	*checker
	base, last string // of the variable: "$.order" and "state"
	outside    [][]drift
	beside     map[*aslScope][][]drift // by the events of a branch's siblings
	words      map[string]uint16       // needed facts by bit
	visits     []visit
	index      map[spot]int32
	edges      []edge
	ends       map[int32]bool
	accepted   map[int16]bool
	at         int32 // the spot being expanded
	rules      map[*aslState]map[int]bool
	ok         map[*aslState]bool // a task that can succeed somewhere
	reported   map[string]bool
}

func (c *checker) explore(report *Report) error {
	x := &explorer{checker: c, index: map[spot]int32{}, beside: map[*aslScope][][]drift{}, ends: map[int32]bool{}, accepted: map[int16]bool{}, words: map[string]uint16{},
		rules: map[*aslState]map[int]bool{}, ok: map[*aslState]bool{}, reported: map[string]bool{}}
	if dot := strings.LastIndexByte(c.opts.Variable, '.'); dot > 0 {
		x.base, x.last = c.opts.Variable[:dot], c.opts.Variable[dot+1:]
	}

	if err := x.listWords(); err != nil {
		return err
	}
	x.outside = x.drifts(c.opts.Outside)
	x.start()

	for i := 0; i < len(x.visits); i++ {
		if len(x.visits) > maxSpots {
			return fmt.Errorf("more than %d combinations of states; the machine is too large to explore", maxSpots)
		}
		x.at = int32(i)
		x.expand(x.visits[i].spot)
	}
	x.judge()

	report.Explored = len(x.visits)
	for _, v := range x.visits {
		name := v.state.path()
		if s := x.stateName(v.known); !slices.Contains(report.Possible[name], s) {
			report.Possible[name] = append(report.Possible[name], s)
		}
	}

	return nil
}

// listWords gives every word of the options a bit.
func (x *explorer) listWords() error {
	lists := [][]string{x.opts.Settle}
	for _, event := range append(x.d.Events(), x.d.Place()) {
		lists = append(lists, x.opts.Needs[event])
	}

	for _, word := range slices.Concat(lists...) {
		if _, known := x.words[word]; known {
			continue
		}

		if len(x.words) == 16 {
			return fmt.Errorf("the options name more than 16 different words in Needs and Settle")
		}
		x.words[word] = 1 << len(x.words)
	}

	return nil
}

// start puts the first spots down: no order when some task creates it, else an order
// in any state.
func (x *explorer) start() {
	first := x.m.top.byName[x.m.top.startAt]
	if slices.ContainsFunc(x.m.all, func(s *aslState) bool { return s.effect.Creates }) {
		x.visits = append(x.visits, visit{spot{first, view{known: noOrder, actual: noOrder}}, -1, ""})
		x.index[x.visits[0].spot] = 0
		return
	}

	for i := range x.d.spec.States {
		p := spot{first, view{known: int16(i), actual: int16(i)}}
		x.index[p] = int32(i)
		x.visits = append(x.visits, visit{p, -1, ""})
	}
}

// drifts computes for every state where the events can bring an order, by the
// shortest way. The state itself is among its drifts when they can bring it back.
func (x *explorer) drifts(events []Event) [][]drift {
	all := make([][]drift, len(x.d.spec.States))
	for from := range all {
		queue := []drift{{int16(from), "somebody"}}
		seen := map[int16]bool{}
		for i := 0; i < len(queue); i++ {
			if i > 0 && queue[i].to == queue[0].to {
				continue // back again; from here on it is the same
			}

			for _, e := range events {
				for _, to := range x.after(queue[i].to, e) {
					if seen[to] {
						continue
					}
					seen[to] = true

					joint := ", "
					if i == 0 {
						joint = " applies "
					}
					queue = append(queue, drift{to, queue[i].how + joint + string(e)})
				}
			}
		}
		all[from] = queue[1:]
	}

	return all
}

// after lists where the event can lead from the state; several with guards.
func (x *explorer) after(from int16, e Event) []int16 {
	if from < 0 {
		return nil
	}

	col, known := x.d.events[e]
	if !known {
		return nil
	}

	var to []int16
	for _, t := range x.d.targets(int(from), col) {
		to = append(to, int16(t))
	}

	return to
}

// somewhere is the state itself and its drifts.
func (x *explorer) somewhere(from int16) []drift {
	return append([]drift{{from, ""}}, x.outside[from]...)
}

func (x *explorer) stateName(i int16) State {
	switch i {
	case noOrder:
		return ""
	case lost:
		return "?"
	}

	return x.d.spec.States[i].State
}

// emit leads from the spot being expanded to another.
func (x *explorer) emit(to *aslState, v view, how string, failure bool) {
	p := spot{to, v}
	i, known := x.index[p]
	if !known {
		i = int32(len(x.visits))
		x.index[p] = i
		x.visits = append(x.visits, visit{p, x.at, how})
	}

	x.edges = append(x.edges, edge{x.at, i, failure})
	if to.kind == "Fail" && to.scope.parent == nil && !failure {
		x.accept(v)
	}
}

// accept notes that an execution ends knowing where its order is.
func (x *explorer) accept(v view) {
	if v.known == v.actual || v.known == lost {
		x.accepted[v.actual] = true
	}
}

// settle reports an execution that ends well and leaves something open.
func (x *explorer) settle(v view) {
	var open []string
	for _, word := range x.opts.Settle {
		if v.facts&x.words[word] != 0 {
			open = append(open, word)
		}
	}

	if len(open) > 0 {
		x.blame(SeverityWarning, "left-open", x.visits[x.at].state, "an execution can end here with %q still holding, and nobody else will see to it", strings.Join(open, ", "))
	}
}

// expand emits every successor of the spot.
func (x *explorer) expand(p spot) {
	s := p.state
	switch s.kind {
	case "Succeed":
		x.leaveScope(s.scope, p.view, "")
	case "Fail":
		if s.scope.parent == nil {
			x.ends[x.at] = true
			return
		}
		x.raise(s.scope.parent, "", p.view, "a branch fails", true)
	case "Choice":
		x.choose(s, p.view)
	case "Parallel", "Map":
		for _, b := range s.branches {
			x.emit(b.byName[b.startAt], p.view, "", false)
		}

		if s.kind == "Map" { // nothing to do for an empty list
			x.leave(s, x.written(s, p.view, false), "without an item", false)
		}
	case "Task":
		x.task(s, p.view)
	default:
		x.leave(s, x.written(s, p.view, false), "", false)
	}
}

// leave goes on after a state that went well.
func (x *explorer) leave(s *aslState, v view, how string, failure bool) {
	if s.next != "" {
		x.emit(s.scope.byName[s.next], v, how, failure)
		return
	}
	x.leaveScope(s.scope, v, how)
}

// choose follows the rules in order, with what is known of the order.
func (x *explorer) choose(s *aslState, v view) {
	if x.rules[s] == nil {
		x.rules[s] = map[int]bool{}
	}

	open := false
	for i, r := range s.rules {
		is := maybe
		if v.known >= 0 && s.input == "$" && !s.jsonata {
			is = r.cond.judge(x.opts.Variable, x.stateName(v.known))
		}

		if is == no {
			continue
		}
		x.rules[s][i] = true
		x.emit(s.scope.byName[r.next], v, fmt.Sprintf("rule %d", i+1), false)

		if is == yes {
			return
		}
		open = true
	}

	switch {
	case s.hasDefault:
		x.emit(s.scope.byName[s.defaults], v, "default", false)
	case open:
		x.once("choice-without-default", s, func() {
			x.checker.at(SeverityWarning, "choice-without-default", s, 0, "no Default: input that no rule matches ends the execution with States.NoChoiceMatched, which nothing can catch")
		})
	default:
		x.ends[x.at] = true
		x.blame(SeverityError, "no-choice-matched", s, "no rule matches and there is no Default; the execution ends with States.NoChoiceMatched")
	}
}

// once runs fn for the first spot of a state with the code.
func (x *explorer) once(code string, s *aslState, fn func()) {
	key := code + " " + s.path()
	if !x.reported[key] {
		x.reported[key] = true
		fn()
	}
}

// blame reports a fault at the spot being expanded, once per state, with the way there.
func (x *explorer) blame(sev Severity, code string, s *aslState, format string, args ...any) {
	at := x.at
	x.once(code, s, func() {
		x.add(Finding{Severity: sev, Code: code, State: s.path(), Line: s.line, Message: fmt.Sprintf(format, args...), Path: x.way(at)})
	})
}

// way is the path to a spot.
func (x *explorer) way(i int32) []Step {
	var steps []Step
	for ; i >= 0; i = x.visits[i].prev {
		v := x.visits[i]
		step := Step{State: v.state.path(), Order: x.stateName(v.known), How: v.how}
		if v.actual != v.known {
			step.Actual = x.stateName(v.actual)
		}
		steps = append(steps, step)
	}
	slices.Reverse(steps)

	return steps
}
