package check

import (
	"strconv"
	"strings"

	"ratchet/workflow/internal/document"
)

// scopeOf returns what the expressions of a state see. In JSONPath, $ is data.
func (x *explorer) scopeOf(p point, data *value, faults *[]fault) scope {
	return scope{explorer: x, frame: p.frame, data: data, faults: faults}
}

// reportFaults reports references of a state that lead nowhere, and whether there are any. The execution is
// then not followed any further: it ends there, or nothing is known of it.
func (x *explorer) reportFaults(s *aslState, p point, faults []fault) bool {
	for _, f := range faults {
		x.ends[x.current], x.faulty = true, true

		switch {
		case !f.lost:
			x.report(SeverityError, "missing-data", s, "%s leads to nothing here: the execution ends with States.Runtime", f.path)
		case p.actual == noOrder:
			x.report(SeverityError, "lost-position", s, "%s is read before any task has created the order", f.path)
		default:
			x.report(SeverityError, "lost-position", s,
				"%s is read, and nothing says that the order's position is there: a state on the path left it out or wrote over it, or the check cannot follow it", f.path)
		}
	}

	return len(faults) > 0
}

// effectiveInput applies InputPath.
func (x *explorer) effectiveInput(s *aslState, p point, faults *[]fault) *value {
	switch {
	case s.jsonata, s.input == "$":
		return p.frame.input
	case s.input == "":
		return objectOf(nil)
	}

	return x.scopeOf(p, p.frame.input, faults).path(s.input)
}

// argumentsOf evaluates Parameters or Arguments, which replace the effective input.
func (x *explorer) argumentsOf(s *aslState, p point, faults *[]fault) *value {
	in := x.effectiveInput(s, p, faults)
	sc := x.scopeOf(p, in, faults)

	switch {
	case s.parameters == nil || s.kind == "Map":
		return in
	case s.jsonata:
		return sc.queryTemplate(s.parameters)
	}

	return sc.template(s.parameters)
}

// outputOf returns the output of a state with its variables assigned. Without a result, the state is one
// that passes its input on, or a Pass with a result of its own. ok is false if the execution cannot go on.
func (x *explorer) outputOf(s *aslState, p point, result *value) (out *value, after point, ok bool) {
	var faults []fault
	out, after = x.evaluateOutput(s, p, result, &faults)

	return out, after, !x.reportFaults(s, p, faults)
}

func (x *explorer) evaluateOutput(s *aslState, p point, result *value, faults *[]fault) (*value, point) {
	sc := x.scopeOf(p, p.frame.input, faults)
	if s.jsonata {
		out := p.frame.input
		if result != nil {
			sc.result, out = result, result
		}

		return x.queryOutput(sc, p, out, s.assign, s.outputs)
	}

	passes := s.kind == "Succeed" || s.kind == "Wait"
	switch {
	case result != nil:
	case s.result != nil:
		result = constantOf(s.result)
	default:
		result = x.argumentsOf(s, p, faults)
	}

	sc.data = result
	after := p
	if s.assign != nil {
		after.frame = x.frames.assigned(p.frame, sc.template(s.assign))
	}

	if s.selector != nil {
		result = sc.template(s.selector)
	}

	out := result
	if !passes {
		out = x.put(p, s.resultPath, result, faults)
	}

	return x.selectOutput(s, p, out, faults), after
}

// queryOutput evaluates an Assign and an Output of JSONata.
func (x *explorer) queryOutput(sc scope, p point, out *value, assign, outputs *document.Node) (*value, point) {
	after := p
	if assign != nil {
		after.frame = x.frames.assigned(p.frame, sc.queryTemplate(assign))
	}

	if outputs != nil {
		out = sc.queryTemplate(outputs)
	}

	return out, after
}

// selectOutput applies OutputPath.
func (x *explorer) selectOutput(s *aslState, p point, out *value, faults *[]fault) *value {
	switch s.output {
	case "$":
		return out
	case "":
		return objectOf(nil)
	}

	return x.scopeOf(p, out, faults).path(s.output)
}

// put writes a result into the data of the state.
func (x *explorer) put(p point, path string, result *value, faults *[]fault) *value {
	switch path {
	case "":
		return p.frame.input
	case "$":
		return result
	}

	ref := x.reference(path)

	out, ok := p.frame.input.put(ref.steps, result)
	if !ok || !ref.simple || ref.root != "$" {
		*faults = append(*faults, fault{path: path})
		return untrackedValue
	}

	return out
}

// leave goes on after a state that succeeded.
func (x *explorer) leave(s *aslState, p point, result *value, w way) {
	if out, after, ok := x.outputOf(s, p, result); ok {
		x.goOn(s, after, out, s.next, w)
	}
}

// goOn enters the next state with an input, or leaves the scope.
func (x *explorer) goOn(s *aslState, p point, input *value, next string, w way) {
	p.frame = x.frames.with(p.frame, input)
	if next != "" {
		x.addEdge(s.scope.byName[next], p, w)
		return
	}

	x.leaveScope(s.scope, p, w)
}

// catch goes on after a Catch took an error.
func (x *explorer) catch(s *aslState, k aslCatch, err string, cause *value, p point, w way) {
	name := foreignValue
	if err != "" && x.live.names {
		name = newValue(value{kind: text, name: err})
	}

	var faults []fault
	failure := objectOf(map[string]*value{"Error": name, "Cause": cause})
	sc := x.scopeOf(p, p.frame.input, &faults)

	var out *value
	after := p
	switch {
	case s.jsonata:
		sc.failure = failure
		out, after = x.queryOutput(sc, p, failure, k.assign, k.outputs)
	default:
		out = x.put(p, k.resultPath, failure, &faults)
		if k.assign != nil {
			sc.data = failure
			after.frame = x.frames.assigned(p.frame, sc.template(k.assign))
		}
	}

	if !x.reportFaults(s, p, faults) {
		w.caught = true
		x.goOn(s, after, out, k.next, w)
	}
}

// followChoice follows the rules in order, with what is known of the data.
func (x *explorer) followChoice(s *aslState, p point) {
	if x.appliedRules[s] == nil {
		x.appliedRules[s] = map[int]bool{}
	}

	var faults []fault
	in := x.effectiveInput(s, p, &faults)
	sc := x.scopeOf(p, in, &faults)
	w := way{}

	undecided := false
	for i, r := range s.rules {
		applies, steady := r.cond.evaluate(sc)

		if x.reportFaults(s, p, faults) {
			return
		}

		if applies == no {
			continue
		}

		w.chance = w.chance || !steady
		w.how = "rule " + strconv.Itoa(i+1)
		x.appliedRules[s][i] = true
		x.follow(s, p, in, r.assign, r.outputs, r.next, w)

		// The rules after it are not reached from here.
		if applies == yes {
			return
		}

		undecided = true
	}

	if s.hasDefault {
		w.how = "default"
		x.follow(s, p, in, s.assign, s.outputs, s.defaults, w)

		return
	}

	x.reportNoRule(s, p, undecided)
}

// reportNoRule reports that no rule of a Choice may apply, unless a Catch around it takes the error.
func (x *explorer) reportNoRule(s *aslState, p point, undecided bool) {
	const err = "States.NoChoiceMatched"
	if x.raise(s, err, foreignValue, p, way{how: "fails with " + err, chance: undecided}) {
		return
	}

	x.ends[x.current] = true

	switch {
	case undecided:
		x.report(SeverityError, "choice-without-default", s,
			"no Default: data that no rule matches ends the execution with %s", err)
	default:
		x.report(SeverityError, "no-choice-matched", s,
			"no rule matches and there is no Default; the execution ends with %s", err)
	}
}

// follow leaves a Choice.
func (x *explorer) follow(s *aslState, p point, in *value, assign, outputs *document.Node, next string, w way) {
	var faults []fault
	sc := x.scopeOf(p, in, &faults)

	var out *value
	after := p
	switch {
	case s.jsonata:
		out, after = x.queryOutput(sc, p, in, assign, outputs)
	default:
		out = x.selectOutput(s, p, in, &faults)
		if assign != nil {
			after.frame = x.frames.assigned(p.frame, sc.template(assign))
		}
	}

	if !x.reportFaults(s, p, faults) {
		x.goOn(s, after, out, next, w)
	}
}

// join joins two parts of an explanation.
func join(a, b string) string {
	if a == "" || b == "" {
		return strings.TrimSpace(a + b)
	}
	return a + "; " + b
}
