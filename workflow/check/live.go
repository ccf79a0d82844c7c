package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ratchet/workflow/internal/document"
)

// maxSteps is how deep the paths are that live follows. A longer path stands for all that it leads to.
const maxSteps = 6

// pathSet is a set of paths into the data of a scope. The first step of each is its root: "$", or "$name" for a
// variable.
type pathSet map[string][]string

func (ps pathSet) add(path []string) bool {
	path = path[:min(len(path), maxSteps)]

	key := strings.Join(path, "\x00")
	if _, known := ps[key]; known {
		return false
	}
	ps[key] = path

	return true
}

// below returns what follows a prefix in the paths of the set.
func (ps pathSet) below(prefix ...string) [][]string {
	var inner [][]string
	for _, p := range ps {
		n := min(len(p), len(prefix))
		if slices.Equal(p[:n], prefix[:n]) {
			// A path that ends above the prefix means everything below it.
			inner = append(inner, p[n:])
		}
	}

	return inner
}

// live finds out which data of an execution is read later. The explorer forgets the rest: what no state
// reads makes no difference.
type live struct {
	*explorer

	reads   map[*aslState]pathSet // what each state and those after it read of the state's input
	results map[*aslState]pathSet // what is read of a Parallel's result
	names   bool                  // some state may read the name of an error
	grown   bool
}

func (x *explorer) findLive() *live {
	l := &live{explorer: x, reads: map[*aslState]pathSet{}, results: map[*aslState]pathSet{}}
	for _, s := range x.m.all {
		l.reads[s], l.results[s] = pathSet{}, pathSet{}
		// Where an execution ends, the findings ask whether it knows the order's position.
		if s.scope.parent == nil && (s.end || s.kind == "Succeed" || s.kind == "Fail") {
			l.reads[s].add(append([]string{"$"}, x.base...))
			l.reads[s].add(append([]string{"$" + x.base[0]}, x.base[1:]...))
		}
		l.addOwn(s)
	}

	for l.grown = true; l.grown; {
		l.grown = false
		for _, s := range slices.Backward(x.m.all) {
			l.addLater(s)
		}
	}

	for _, read := range l.reads {
		for _, path := range read {
			l.names = l.names || slices.Contains(path, "Error") || len(path) == 1
		}
	}

	return l
}

func (l *live) add(s *aslState, path []string) {
	if l.reads[s].add(path) {
		l.grown = true
	}
}

// jsonPath matches a path inside a field or an intrinsic function.
var jsonPath = regexp.MustCompile(`\$\$?[A-Za-z0-9_.\-\[\]'*@?]*`)

// queryRead matches what an expression of JSONata may read: $states, and any other variable.
var queryRead = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]+\])*)`)

// addOwn adds what the state itself reads.
func (l *live) addOwn(s *aslState) {
	if s.jsonata {
		for _, n := range []*document.Node{s.parameters, s.itemSelector, s.assign, s.outputs} {
			l.addQueries(s, n)
		}

		for _, k := range s.catch {
			l.addQueries(s, k.assign)
			l.addQueries(s, k.outputs)
		}

		for _, r := range s.rules {
			l.addQueries(s, r.assign)
			l.addQueries(s, r.outputs)
			r.cond.walk(func(c *condition) { l.addQuery(s, c.operand) })
		}

		return
	}

	input := l.inputOf(s)
	if s.input != "$" && s.input != "" {
		l.add(s, input)
	}

	for _, n := range []*document.Node{s.parameters, s.itemSelector} {
		eachPath(n, func(path string) { l.addPath(s, input, path) })
	}

	if s.itemsPath != "$" {
		l.addPath(s, input, s.itemsPath)
	}

	// In these fields, $ is the result, or the input of a Choice.
	for _, n := range append([]*document.Node{s.assign, s.selector}, s.assigns()...) {
		eachPath(n, func(path string) {
			if s.kind == "Parallel" {
				l.addResult(s, path)
			}

			if strings.HasPrefix(path, "$.") && s.kind != "Choice" && s.kind != "Pass" && s.kind != "Wait" {
				return
			}
			l.addPath(s, input, path)
		})
	}

	for _, r := range s.rules {
		r.cond.walk(func(c *condition) {
			l.addPath(s, input, c.variable)

			if strings.HasSuffix(c.op, "Path") {
				l.addPath(s, input, c.operand)
			}
		})
	}

	// A task without Parameters gets its whole input, and a fence in it.
	if s.kind == "Task" && s.parameters == nil {
		l.add(s, slices.Concat(input, l.base))
	}
}

// assigns returns the Assign fields of the rules and catchers of a state.
func (s *aslState) assigns() []*document.Node {
	var all []*document.Node
	for _, r := range s.rules {
		all = append(all, r.assign)
	}

	for _, k := range s.catch {
		all = append(all, k.assign)
	}

	return all
}

// inputOf returns the path of the state's effective input.
func (l *live) inputOf(s *aslState) []string {
	ref := readReference(s.input)
	if s.input == "" || ref.root == "$$" {
		return []string{"$$"}
	}

	return append([]string{ref.root}, ref.steps...)
}

// addPath adds a path of JSONPath, which begins at the effective input.
func (l *live) addPath(s *aslState, input []string, path string) {
	switch ref := readReference(path); ref.root {
	case "", "$$":
	case "$":
		l.add(s, slices.Concat(input, ref.steps))
	default:
		l.add(s, append([]string{ref.root}, ref.steps...))
	}
}

func (l *live) addResult(s *aslState, path string) {
	if ref := readReference(path); ref.root == "$" && l.results[s].add(ref.steps) {
		l.grown = true
	}
}

// eachPath calls fn for every path in the computed members of a template.
func eachPath(n *document.Node, fn func(path string)) {
	if n == nil {
		return
	}

	for _, m := range n.Members {
		if strings.HasSuffix(m.Name, ".$") {
			for _, path := range jsonPath.FindAllString(m.Value.Text, -1) {
				fn(path)
			}
		}
		eachPath(m.Value, fn)
	}

	for _, item := range n.Items {
		eachPath(item, fn)
	}
}

func (l *live) addQueries(s *aslState, n *document.Node) {
	if n == nil {
		return
	}

	if n.Kind == document.String && isQuery(n.Text) {
		l.addQuery(s, n.Text)
	}

	for _, m := range n.Members {
		l.addQueries(s, m.Value)
	}

	for _, item := range n.Items {
		l.addQueries(s, item)
	}
}

// addQuery adds what an expression of JSONata may read.
func (l *live) addQuery(s *aslState, text string) {
	for _, m := range queryRead.FindAllStringSubmatch(text, -1) {
		steps := readReference("$" + m[2]).steps
		switch {
		case m[1] != "states":
			l.add(s, append([]string{"$" + m[1]}, steps...))
		case len(steps) == 0:
			l.add(s, []string{"$"})
			l.addResult(s, "$")
		case steps[0] == "input":
			l.add(s, append([]string{"$"}, steps[1:]...))
		case steps[0] == "result":
			if l.results[s].add(steps[1:]) {
				l.grown = true
			}
		}
	}
}

// addLater adds what the states after a state read of what it leaves as it is.
func (l *live) addLater(s *aslState) {
	if s.next != "" {
		l.addThrough(s, l.reads[s.scope.byName[s.next]])
	} else if (s.end || s.kind == "Succeed") && s.scope.parent != nil {
		l.addThrough(s, l.readAtEnd(s.scope))
	}

	for _, k := range s.catch {
		after := l.reads[s.scope.byName[k.next]]
		if s.jsonata {
			l.addVariables(s, after)
			continue
		}
		l.addKept(s, k.resultPath, after, []string{"$"})
	}

	for _, next := range append(ruleTargets(s), s.defaults) {
		if next != "" {
			l.addThrough(s, l.reads[s.scope.byName[next]])
		}
	}

	// The branches begin with the effective input, unless a template makes theirs.
	for _, b := range s.branches {
		start := l.reads[b.byName[b.startAt]]
		l.addVariables(s, start)

		if s.kind == "Parallel" && s.parameters == nil {
			for _, p := range start.below("$") {
				l.add(s, slices.Concat(l.inputOf(s), p))
			}
		}
	}
}

func ruleTargets(s *aslState) []string {
	var next []string
	for _, r := range s.rules {
		next = append(next, r.next)
	}

	return next
}

// readAtEnd returns what is read of the output of a scope, and of the variables around it.
func (l *live) readAtEnd(sc *aslScope) pathSet {
	read := pathSet{}
	p := sc.parent
	if p.kind != "Parallel" {
		return read
	}

	for i, b := range p.branches {
		if b == sc {
			for _, path := range l.results[p].below("[" + strconv.Itoa(i) + "]") {
				read.add(append([]string{"$"}, path...))
			}
		}
	}

	return read
}

// addVariables adds the variables of a set.
func (l *live) addVariables(s *aslState, after pathSet) {
	for _, p := range after {
		if p[0] != "$" {
			l.add(s, p)
		}
	}
}

// addThrough adds what is read after a state that succeeded.
func (l *live) addThrough(s *aslState, after pathSet) {
	l.addVariables(s, after)

	if s.jsonata {
		for _, p := range after.below("$") {
			switch {
			case s.outputs != nil:
			case s.kind == "Parallel":
				if l.results[s].add(p) {
					l.grown = true
				}
			case s.kind != "Task" && s.kind != "Map":
				l.add(s, append([]string{"$"}, p...))
			}
		}

		return
	}

	output := readReference(s.output)
	if s.output == "" || output.root == "$$" {
		return
	}

	// Behind an OutputPath, the data begins further inside.
	inside := pathSet{}
	if s.output != "$" {
		inside.add(append([]string{output.root}, output.steps...))
	}

	for _, p := range after.below("$") {
		inside.add(slices.Concat([]string{output.root}, output.steps, p))
	}

	if s.kind == "Choice" || s.kind == "Wait" || s.kind == "Succeed" {
		for _, p := range inside.below("$") {
			l.add(s, slices.Concat(l.inputOf(s), p))
		}

		return
	}

	l.addKept(s, s.resultPath, inside, l.inputOf(s))
}

// addKept adds what is read of the input after a result was written at a path of it. of is the input of a
// Pass that copies it.
func (l *live) addKept(s *aslState, resultPath string, after pathSet, of []string) {
	ref := readReference(resultPath)
	at := append([]string{"$"}, ref.steps...)

	for _, p := range after {
		switch {
		case p[0] != "$":
		case resultPath == "":
			l.add(s, p)
		case len(p) >= len(at) && slices.Equal(p[:len(at)], at):
			if s.kind == "Parallel" && l.results[s].add(p[len(at):]) {
				l.grown = true
			}

			if s.kind == "Pass" && s.parameters == nil && s.result == nil {
				l.add(s, slices.Concat(of, p[len(at):]))
			}
		default:
			l.add(s, p)
		}
	}

	// A selector says itself what it reads of the result.
	if s.kind == "Parallel" && s.selector == nil && resultPath != "" {
		for _, p := range after.below(at...) {
			if l.results[s].add(p) {
				l.grown = true
			}
		}
	}
}

// prune returns the frame without the data that no state reads from a state on.
func (l *live) prune(s *aslState, f *frame) *frame {
	if s == nil || f == nil {
		return f
	}

	read := l.reads[s]

	g := *f
	g.input = f.input.keep(read.below("$"))
	g.up = l.prune(s.scope.parent, f.up)
	if len(f.vars.names) == 0 {
		return l.frames.of(g)
	}

	vars := value{kind: object}
	for i, name := range f.vars.names {
		vars.names = append(vars.names, name)
		vars.values = append(vars.values, f.vars.values[i].keep(read.below("$"+name)))
	}
	g.vars = newValue(vars)

	return l.frames.of(g)
}
