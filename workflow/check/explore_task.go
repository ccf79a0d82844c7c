package check

import (
	"fmt"
	"slices"
	"strings"

	"ratchet/workflow"
)

// task follows a Task: success, refusal, giving up, and every other error.
func (x *explorer) followTask(s *aslState, v view) {
	e := s.effect
	switch {
	case e.Creates:
		if v.known != noOrder {
			x.report(SeverityWarning, "created-again", s, "the order exists already when this task creates it")
		}
		initial := x.order.index[x.d.Initial()]
		x.leave(s, x.afterResult(s, view{known: v.known, actual: initial, facts: v.facts}, true), "", false)
		x.raiseFailures(s, v, v)
	case e.touchesOrder() && v.actual == noOrder:
		x.ends[x.current] = true
		x.report(SeverityError, "event-before-creation", s, "the task needs the order before any task has created it")
	case e.moves():
		events := []workflow.Event{e.Event}
		if e.AnyEvent {
			events = x.d.Events()
		}

		for _, event := range events {
			x.followTransition(s, v, event)
		}
	case e.Awaits != "":
		x.followAwait(s, v)
	default:
		after := v
		after.facts = x.applyFacts(e, v.facts)
		x.leave(s, x.afterResult(s, after, false), "", false)
		x.raiseFailures(s, v, v)
	}
}

// apply follows a task that applies an event. With a fence it succeeds only where
// the execution knows the order to be; the order may have been moved meanwhile.
func (x *explorer) followTransition(s *aslState, v view, event workflow.Event) {
	stale := v.known != lost && v.stale
	unsure := []view{v} // where the order is when the task gives up: the write may have come through
	for _, d := range x.possibleMoves(v.actual) {
		targets := x.order.targets(d.to, event)
		fits := len(targets) > 0 && (!s.effect.Fenced || (d.how == "" && !stale))
		if fits {
			x.succeeds[s] = true
			x.checkRequired(s, v, event)
		}

		for _, to := range targets {
			if !fits {
				break
			}
			done := v.moved(outsideMove{to, "by this task"})
			x.leave(s, x.afterResult(s, done, true), join(d.how, string(event)), false)
			unsure = append(unsure, done)
		}

		if !fits {
			x.raiseOvertaken(s, v.moved(d), d.how)
		}
	}
	x.raiseFailures(s, unsure...)
}

// demand reports an event that may be applied though what it needs does not hold.
func (x *explorer) checkRequired(s *aslState, v view, event workflow.Event) {
	var missing []string
	for _, word := range x.cfg.Requires[event] {
		if v.facts&x.factBits[word] == 0 {
			missing = append(missing, word)
		}
	}

	if len(missing) > 0 {
		x.report(SeverityError, "missing-step", s, "event %s needs what no task on this path has seen to: %s", event, strings.Join(missing, ", "))
	}
}

// await follows a task that waits for a state. It may return late: then the order
// has gone on.
func (x *explorer) followAwait(s *aslState, v view) {
	w := x.order.index[s.effect.Awaits]
	for _, d := range x.possibleMoves(v.actual) {
		if d.to == w {
			x.succeeds[s] = true
			for _, late := range x.possibleMoves(w) {
				how := join(d.how, "reached "+string(s.effect.Awaits))
				if late.how != "" {
					how = join(how, "then "+late.how)
				}
				x.leave(s, x.afterResult(s, v.moved(outsideMove{late.to, how}), true), how, false)
			}
		}

		if !x.order.reachable(d.to, w) {
			x.raiseOvertaken(s, v.moved(d), d.how)
		}
	}
	x.raiseFailures(s, v)
}

// refuse raises what tells the execution that the order has been moved.
func (x *explorer) raiseOvertaken(s *aslState, v view, how string) {
	var missed []string
	for _, err := range x.cfg.Overtaken {
		if !x.raise(s, err, v, join(how, errorName(err)), false) {
			missed = append(missed, err)
		}
	}

	if len(missed) > 0 {
		x.ends[x.current] = true
		if how == "" {
			how = fmt.Sprintf("the order is %s", x.order.name(v.actual))
		}
		x.report(SeverityError, "overtaken-not-caught", s, "no Catch takes %s, with which the task is refused when %s; the execution fails and nobody looks at the order",
			strings.Join(missed, ", "), how)
	}
}

// fail raises everything else: time-outs and used-up retries with each view, and
// final errors with the first.
func (x *explorer) raiseFailures(s *aslState, views ...view) {
	retryable := slices.Concat(x.cfg.Retryable, []string{"States.Timeout", "States.HeartbeatTimeout"})
	for _, v := range views {
		for _, err := range retryable {
			x.raise(s, err, v, errorName(err)+" for good", true)
		}
	}

	names := []string{""}
	for in := s; in != nil; in = in.scope.parent {
		for _, k := range in.catch {
			names = append(names, k.errors...)
		}
	}

	for _, err := range names {
		if slices.Contains(x.cfg.Overtaken, err) || slices.Contains(retryable, err) || err == "States.ALL" || err == "States.TaskFailed" {
			continue
		}

		if !x.raise(s, err, views[0], errorName(err), true) && err == "" {
			x.once("failure-not-caught", s, func() {
				sev := SeverityInfo
				if s.effect.touchesOrder() || len(s.effect.Provides) > 0 {
					sev = SeverityWarning
				}
				x.at(sev, "failure-not-caught", s, 0, "no Catch takes an error that nothing names: the execution fails and nothing is undone")
			})
		}
	}
}

// raise finds the Catch that takes the error, here or around, and reports whether
// there is one.
func (x *explorer) raise(s *aslState, err string, v view, how string, failure bool) bool {
	if x.visits[x.current].state != s { // the error came out of a branch; the whole may be tried again
		for _, r := range s.retry {
			if r.attempts > 0 && matches(r.errors, err) {
				for _, b := range s.branches {
					x.addEdge(b.byName[b.startAt], v, how+", again", failure)
				}
				break
			}
		}
	}

	for _, k := range s.catch {
		if matches(k.errors, err) {
			x.addEdge(s.scope.byName[k.next], x.afterCatch(s, k, v), how, failure)
			return true
		}
	}

	return s.scope.parent != nil && x.raise(s.scope.parent, err, v, how, failure)
}

// caught is the view after a Catch put the error somewhere into the data.
func (x *explorer) afterCatch(s *aslState, k aslCatch, v view) view {
	if !s.jsonata && k.resultPath != "" && (k.resultPath == x.cfg.Variable || covers(k.resultPath, x.cfg.Variable)) && v.known != noOrder {
		v.known = lost
	}
	return v
}

// covers reports whether writing at path replaces what is at variable.
func covers(path, variable string) bool {
	return path == "$" || path == variable || strings.HasPrefix(variable, path+".")
}

// written is the view after the state wrote its result. order tells that the result
// is the order's position; v.actual is where the order then is.
func (x *explorer) afterResult(s *aslState, v view, order bool) view {
	switch {
	case v.actual == noOrder:
		return v
	case s.jsonata:
		v = v.refreshed() // Assign and Output are expressions; they are trusted
		return v
	case s.resultPath == "":
	case s.resultPath == x.base || s.resultPath == x.cfg.Variable:
		if order || s.kind == "Pass" {
			v = v.refreshed()
		} else {
			v.known = lost
		}
	case covers(s.resultPath, x.cfg.Variable):
		v = x.afterReplacement(s, v)
	case order && v.known == noOrder:
		v.known = lost // created, and its position thrown away
	}

	if s.resultPath == "" && order && v.known == noOrder {
		v.known = lost
	}

	if s.output != "$" {
		v.known = lost
	}

	return v
}

// replaced is the view after a state replaced the whole data. A Pass may carry the
// order over.
func (x *explorer) afterReplacement(s *aslState, v view) view {
	field := strings.TrimPrefix(x.base, s.resultPath+".")
	switch {
	case s.kind == "Wait", s.kind == "Pass" && !s.hasResult && s.parameters == nil && s.input == "$":
		return v // the input goes through as it is
	case s.kind == "Pass" && s.parameters.Get(field+".$") != nil && s.parameters.Get(field+".$").Text == x.base:
		return v
	case s.kind == "Pass" && (s.parameters.Get(field+".$") != nil || s.parameters.Get(field) != nil):
		v = v.refreshed()
	case s.kind == "Pass" && s.input != "$" && s.parameters == nil && !s.hasResult:
		v = v.refreshed() // an earlier copy of the data
	default:
		v.known = lost
	}

	return v
}

// join puts two halves of an explanation together.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
