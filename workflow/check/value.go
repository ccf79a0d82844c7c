package check

import (
	"slices"
	"strconv"
	"strings"
)

// view is what a value of the execution's data says about the order.
type view struct {
	known int16 // the order's position when the value was made
	since first
}

// first says which event was the first that moved the order after a view of it was made, and whether a task
// with a fence that asks for the event by the view repeats that move. The task carries the id of exactly that move.
type first int16

const (
	nothing  first = 0  // the order has not been moved: the view is current
	anything first = -1 // an event that no task with a fence applies
)

// valueKind is the kind of a value.
type valueKind byte

const (
	// foreign data is trusted: the input of the execution, or the result of a task that returns no position.
	foreign valueKind = iota
	// untracked data may have had a view in it, and the check cannot follow it.
	untracked
	missing   // there is no value
	object    // with named members
	list      // with elements
	text      // a constant text
	literal   // a constant number, truth value or null
	position  // the position of the order, as a task returns it
	stateOf   // the state of a position
	partOf    // any other member of a position
	nextOf    // the transitionId after that of a position
	causeOf   // a position as text: the cause of a refusal
	maxDepth  = 8
	maxPieces = 64
)

// value is what is known of one value of the execution's data. Values are immutable.
type value struct {
	kind   valueKind
	view   view
	name   string // the content of a text or literal, or the name of a member
	names  []string
	values []*value // members of an object in the order of names, or elements of a list
	rest   *value   // what an object has beside its named members, nil for nothing

	depth          int
	viewed, recent bool // there is a view inside; there is a current one
	key            string
}

// The values without content. fixed is data of the execution's input, which does not change.
var (
	foreignValue   = &value{kind: foreign, key: "foreign"}
	fixedValue     = &value{kind: foreign, key: "input"}
	untrackedValue = &value{kind: untracked, key: "untracked"}
	missingValue   = &value{kind: missing, key: "missing"}
	numberValue    = &value{kind: literal, key: "number"}
)

// newValue completes a value. Data that is nested or listed without bound is not followed.
func newValue(v value) *value {
	switch v.kind {
	case position, stateOf, partOf, nextOf, causeOf:
		v.viewed, v.recent = true, v.view.since == nothing
	}

	inside := v.values
	if v.rest != nil {
		inside = append(slices.Clone(inside), v.rest)
	}

	for _, w := range inside {
		v.depth = max(v.depth, w.depth+1)
		v.viewed, v.recent = v.viewed || w.viewed, v.recent || w.recent
	}

	if v.depth > maxDepth || len(v.values) > maxPieces {
		if v.viewed {
			return untrackedValue
		}

		return foreignValue
	}

	var b strings.Builder
	b.WriteByte(byte('a' + v.kind))

	if v.kind >= position {
		b.WriteString(strconv.Itoa(int(v.view.known)) + "," + strconv.Itoa(int(v.view.since)))
	}

	if v.name != "" {
		b.WriteString(strconv.Quote(v.name))
	}

	b.WriteByte('(')

	for i, w := range v.values {
		if v.kind == object {
			// No name has a quotation mark or a bracket without its length before it.
			b.WriteString(strconv.Itoa(len(v.names[i])) + v.names[i])
		}
		b.WriteString(w.key)
	}
	b.WriteByte(')')

	if v.rest != nil {
		b.WriteString("+" + v.rest.key)
	}
	v.key = b.String()

	return &v
}

// positionAt returns a current position. name is the member that holds the state.
func positionAt(known int16, name string) *value {
	return newValue(value{kind: position, view: view{known: known}, name: name})
}

// objectOf returns an object that has only the members.
func objectOf(members map[string]*value) *value {
	v := value{kind: object}
	for name := range members {
		v.names = append(v.names, name)
	}

	slices.Sort(v.names)

	for _, name := range v.names {
		v.values = append(v.values, members[name])
	}

	return newValue(v)
}

func listOf(elements []*value) *value { return newValue(value{kind: list, values: elements}) }

// unfollowed returns what a calculation with the values makes of them, if the check does not know it.
func unfollowed(from ...*value) *value {
	if slices.ContainsFunc(from, func(v *value) bool { return v.viewed || v.kind == untracked }) {
		return untrackedValue
	}

	return foreignValue
}

// member returns a member of a value.
func (v *value) member(name string) *value {
	switch v.kind {
	case foreign, untracked:
		return v
	case object:
		if i, found := slices.BinarySearch(v.names, name); found {
			return v.values[i]
		}

		if v.rest != nil {
			return v.rest.member(name)
		}
	case position:
		if name == v.name {
			return newValue(value{kind: stateOf, view: v.view})
		}

		if constantPart(name) {
			return newValue(value{kind: partOf, view: view{known: lost, since: anything}, name: name})
		}

		return newValue(value{kind: partOf, view: v.view, name: name})
	case partOf:
		return foreignValue
	}

	return missingValue
}

// element returns an element of a list.
func (v *value) element(i int) *value {
	switch {
	case v.kind == foreign, v.kind == untracked:
		return v
	case v.kind == list && i >= 0 && i < len(v.values):
		return v.values[i]
	case v.kind == partOf:
		return foreignValue
	}

	return missingValue
}

// at returns the value at a path of names, and of indices like "[0]".
func (v *value) at(path []string) *value {
	for _, step := range path {
		if i, isIndex := indexOf(step); isIndex {
			v = v.element(i)
			continue
		}
		v = v.member(step)
	}

	return v
}

func indexOf(step string) (int, bool) {
	if !strings.HasPrefix(step, "[") {
		return 0, false
	}

	i, err := strconv.Atoi(strings.Trim(step, "[]"))

	return i, err == nil
}

// put returns the value with another one at a path. It fails where the path leads through a value that has
// no members.
func (v *value) put(path []string, w *value) (*value, bool) {
	if len(path) == 0 {
		return w, true
	}

	_, indexed := indexOf(path[0])

	result := value{kind: object}
	switch v.kind {
	case foreign, untracked, position:
		result.rest = v
	case object:
		result.names, result.values, result.rest = slices.Clone(v.names), slices.Clone(v.values), v.rest
	case missing:
	default:
		return v, false
	}

	if indexed {
		return unfollowed(v, w), true
	}

	inner, ok := v.member(path[0]).put(path[1:], w)
	if !ok {
		return v, false
	}

	i, found := slices.BinarySearch(result.names, path[0])
	if found {
		result.values[i] = inner
	} else {
		result.names = slices.Insert(result.names, i, path[0])
		result.values = slices.Insert(result.values, i, inner)
	}

	return newValue(result), true
}

// moved returns the value after an event has moved the order: the current views in it are of before.
func (v *value) moved(by first) *value {
	if !v.recent || by == nothing {
		return v
	}

	w := *v
	w.depth = 0
	if w.kind >= position && w.view.since == nothing {
		w.view.since = by
		// What follows from a view of before is the same, whatever it was: only a task that repeats its request
		// asks for more.
		switch {
		case w.kind == stateOf:
			w.view.since = anything
		case !by.repeatable() && (w.kind == partOf || w.kind == nextOf):
			w.view.known = lost
		}
	}

	w.values = make([]*value, len(v.values))
	for i, inner := range v.values {
		w.values[i] = inner.moved(by)
	}

	if v.rest != nil {
		w.rest = v.rest.moved(by)
	}

	w.viewed, w.recent = false, false

	return newValue(w)
}

// find calls fn for the value and everything inside it.
func (v *value) find(fn func(*value)) {
	fn(v)

	for _, inner := range v.values {
		inner.find(fn)
	}

	if v.rest != nil {
		v.rest.find(fn)
	}
}

// keep returns the value without what none of the paths leads to. Nothing reads the rest any more.
func (v *value) keep(paths [][]string) *value {
	if len(paths) == 0 {
		return foreignValue
	}

	if v.kind == position {
		return v.keepParts(paths)
	}

	composed := v.kind == object || v.kind == list
	if !composed || slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 }) {
		return v
	}

	below := func(step string) [][]string {
		var inner [][]string
		for _, p := range paths {
			if p[0] == step {
				inner = append(inner, p[1:])
			}
		}

		return inner
	}

	w := value{kind: v.kind, rest: v.rest}
	for i, inner := range v.values {
		step := "[" + strconv.Itoa(i) + "]"
		if v.kind == object {
			step = v.names[i]
		}

		read := below(step)
		switch {
		case v.kind == list:
		// The member is not read.
		case len(read) == 0:
			continue
		default:
			w.names = append(w.names, step)
		}
		w.values = append(w.values, inner.keep(read))
	}

	return newValue(w)
}

// keepParts returns a position of which only some members are read.
func (v *value) keepParts(paths [][]string) *value {
	state, id := false, false
	for _, p := range paths {
		whole := len(p) == 0
		state = state || whole || p[0] == v.name
		id = id || whole || p[0] != v.name && !constantPart(p[0])
	}

	w := *v
	if !id && w.view.since != nothing {
		w.view.since = anything
	}

	// The position itself no longer matters.
	if !state && (!id || w.view.since == anything) {
		w.view = view{known: lost, since: anything}
	}

	return newValue(w)
}

// constantPart reports whether a member of a position never changes in the life of an order.
func constantPart(name string) bool { return name == "orderId" || name == "incarnation" }

// merge returns the members of both objects; those of other take precedence.
func (v *value) merge(other *value) *value {
	if other.kind != object || other.rest != nil {
		return unfollowed(v, other)
	}

	merged := v
	for i, name := range other.names {
		var ok bool
		if merged, ok = merged.put([]string{name}, other.values[i]); !ok {
			return untrackedValue
		}
	}

	return merged
}

// contradicts reports whether two values that have become of one cannot both be.
func (v *value) contradicts(w *value) bool {
	if v == w || v.kind != w.kind || len(v.values) != len(w.values) {
		return false
	}

	// What no task asks for is anything, so it contradicts nothing.
	if v.kind >= position && v.view.since > nothing && w.view.since > nothing && v.view.since != w.view.since {
		return true
	}

	for i := range v.values {
		if v.values[i].contradicts(w.values[i]) {
			return true
		}
	}

	return v.rest != nil && w.rest != nil && v.rest.contradicts(w.rest)
}

// repeatable reports whether a task can repeat the move.
func (f first) repeatable() bool { return f > nothing && f%2 == 1 }
