package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ratchet/workflow"
)

// followTask follows a Task: its success, its refusal, a time-out, and every other error.
func (x *explorer) followTask(s *aslState, v view) {
	e := s.effect
	switch {
	case e.Creates:
		x.followCreation(s, v)
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
	case e.Reads:
		x.followReading(s, v)
	default:
		after := v
		after.facts = x.applyFacts(e, v.facts)
		x.leave(s, x.afterResult(s, after, false), "", false)
		x.raiseFailures(s, v)
	}
}

// followCreation follows a task that creates the order.
func (x *explorer) followCreation(s *aslState, v view) {
	if s.effect.Resumes {
		x.followResumption(s, v)
		return
	}

	if v.known != noOrder {
		x.report(SeverityWarning, "created-again", s, "the order exists already when this task creates it")
	}

	created := view{known: v.known, actual: x.order.index[x.d.Initial()], facts: v.facts}
	x.leave(s, x.afterResult(s, created, true), "", false)
	x.raiseFailures(s, v)
}

// followResumption follows a task that creates the order or takes it as it is. Before the first such task
// the order may be in any state or not exist.
func (x *explorer) followResumption(s *aslState, v view) {
	var moves []outsideMove
	switch v.actual {
	case noOrder:
		// The execution may follow another one, and finds the order where its predecessor left it.
		for i := range x.order.states {
			moves = append(moves, outsideMove{int16(i), "the order exists"})
		}
	default:
		moves = x.possibleMoves(v.actual)
	}

	initial := x.order.index[x.d.Initial()]
	for _, m := range moves {
		if m.to != initial {
			x.raiseOvertaken(s, v.moved(m), m.how)
			continue
		}

		// The task itself creates the order, so the path needs no explanation.
		if v.actual == noOrder {
			m.how = ""
		}

		created := v
		created.actual, created.facts = m.to, x.applyFacts(s.effect, v.facts)
		x.succeeds[s] = true
		x.leave(s, x.afterResult(s, created, true), m.how, false)
		x.raiseRefused(s, created)
	}

	x.raiseFailures(s, v)
}

// followReading follows a task that returns the position of the order.
func (x *explorer) followReading(s *aslState, v view) {
	for _, m := range x.possibleMoves(v.actual) {
		after := v.moved(m)
		if in := s.effect.In; len(in) > 0 && !slices.Contains(in, x.order.name(m.to)) {
			x.raiseOvertaken(s, after, m.how)
			continue
		}

		after.facts = x.applyFacts(s.effect, v.facts)
		x.leave(s, x.afterResult(s, after, true), m.how, false)
	}

	x.raiseFailures(s, v)
}

// raiseRefused raises the errors of a task that has applied an event before it
// failed, for an order at the position of the view.
func (x *explorer) raiseRefused(s *aslState, v view) {
	for _, err := range slices.Sorted(maps.Keys(s.effect.Refused)) {
		event := s.effect.Refused[err]
		for _, to := range x.order.targets(v.actual, event) {
			after := v.moved(outsideMove{to, "by this task"})
			if !x.raise(s, err, after, join(string(event), errorText(err)), false) {
				x.reportUncaught(s)
			}
		}
	}
}

// followTransition follows a task that applies an event. A task with a fence succeeds only
// if the order is where the execution knows it to be; the order may have been moved
// meanwhile.
func (x *explorer) followTransition(s *aslState, v view, event workflow.Event) {
	stale := v.known != lost && v.stale

	// A task that gave up may nevertheless have applied the event, so the errors
	// are followed with the order in both positions.
	unsure := []view{v}
	for _, m := range x.possibleMoves(v.actual) {
		targets := x.order.targets(m.to, event)
		// The fence is refused after any move, even if the order has come back to the same state.
		if len(targets) == 0 || s.effect.Fenced && (m.how != "" || stale) {
			x.raiseOvertaken(s, v.moved(m), m.how)
			continue
		}

		x.succeeds[s] = true
		x.raiseRefused(s, v.moved(m))

		// A copy for this move: v is needed unchanged for the next one.
		v := v
		v.facts = x.applyFacts(s.effect, v.facts)
		x.checkRequired(s, v, event)

		for _, to := range targets {
			after := v.moved(outsideMove{to, "by this task"})
			x.leave(s, x.afterResult(s, after, true), join(m.how, string(event)), false)
			unsure = append(unsure, after)
		}
	}

	x.raiseFailures(s, unsure...)
}

// checkRequired reports an event that may be applied although a fact that it requires does
// not hold.
func (x *explorer) checkRequired(s *aslState, v view, event workflow.Event) {
	var missing []string
	for _, fact := range x.cfg.Requires[event] {
		if v.facts&x.factBits[fact] == 0 {
			missing = append(missing, fact)
		}
	}

	if len(missing) > 0 {
		x.report(SeverityError, "missing-step", s, "event %s needs what no task on this path has done: %s",
			event, strings.Join(missing, ", "))
	}
}

// followAwait follows a task that waits for a state.
func (x *explorer) followAwait(s *aslState, v view) {
	awaited := x.order.index[s.effect.Awaits]
	for _, m := range x.possibleMoves(v.actual) {
		if m.to == awaited {
			x.succeeds[s] = true

			// The task may return late, when the order has moved on.
			for _, late := range x.possibleMoves(awaited) {
				how := join(m.how, "reached "+string(s.effect.Awaits))
				if late.how != "" {
					how = join(how, "then "+late.how)
				}

				after := v.moved(outsideMove{late.to, how})
				after.facts = x.applyFacts(s.effect, v.facts)
				x.leave(s, x.afterResult(s, after, true), how, false)
			}
		}

		// The task learns that its wait has become pointless.
		if !x.order.reachable(m.to, awaited) {
			x.raiseOvertaken(s, v.moved(m), m.how)
		}

		if v.stale || m.how != "" {
			x.raiseAll(s, s.effect.Moved, v.moved(m), m.how)
		}
	}

	x.raiseFailures(s, v)
}

// raiseOvertaken raises the errors that report that another caller has moved the order.
func (x *explorer) raiseOvertaken(s *aslState, v view, how string) {
	x.raiseAll(s, x.cfg.Overtaken, v, how)
}

// raiseAll raises the errors of a task that was refused. Each must be caught.
func (x *explorer) raiseAll(s *aslState, errors []string, v view, how string) {
	var missed []string
	for _, err := range errors {
		if !x.raise(s, err, v, join(how, errorText(err)), false) {
			missed = append(missed, err)
		}
	}

	if len(missed) == 0 {
		return
	}

	// The execution ends here, so the state counts as an end and is not reported as endless, too.
	x.ends[x.current] = true

	if how == "" {
		how = fmt.Sprintf("the order is %s", x.order.name(v.actual))
	}

	x.report(SeverityError, "overtaken-not-caught", s,
		"no Catch takes %s, with which the task is refused when %s; the execution fails and nothing continues the order",
		strings.Join(missed, ", "), how)
}

// raiseFailures raises all other errors. Time-outs and retryable errors whose attempts are used up are
// raised with each view. Permanent errors are raised with the first view only, because after a permanent
// error nothing was written.
func (x *explorer) raiseFailures(s *aslState, views ...view) {
	retryable := slices.Concat(x.cfg.Retryable, []string{"States.Timeout", "States.HeartbeatTimeout"})
	for _, v := range views {
		for _, err := range retryable {
			x.raise(s, err, v, errorText(err)+" for good", true)
		}
	}

	// Other errors are the names in some Catch, and an error that no Catch names ("").
	names := []string{""}
	for in := s; in != nil; in = in.scope.parent {
		for _, k := range in.catch {
			names = append(names, k.errors...)
		}
	}

	for _, err := range names {
		_, refused := s.effect.Refused[err]
		followed := refused || slices.Contains(x.cfg.Overtaken, err) || slices.Contains(retryable, err) || slices.Contains(s.effect.Moved, err)
		// The two catch-all names stand for others, which are raised by their own names.
		if followed || err == "States.ALL" || err == "States.TaskFailed" {
			continue
		}

		if !x.raise(s, err, views[0], errorText(err), true) && err == "" {
			x.reportUncaught(s)
		}
	}
}

func (x *explorer) reportUncaught(s *aslState) {
	x.once("failure-not-caught", s, func() {
		x.at(SeverityInfo, "failure-not-caught", s, 0, "no Catch takes an error without a known name: the execution fails here, and a redrive runs the task again")
	})
}

// raise follows the Catch that takes the error, of the state or of a state around it, and
// reports whether there is one.
func (x *explorer) raise(s *aslState, err string, v view, how string, failure bool) bool {
	// An error that left a branch lets the Parallel or Map start again by its Retry.
	if x.visits[x.current].state != s {
		retried := slices.ContainsFunc(s.retry, func(r aslRetry) bool { return r.attempts > 0 && matches(r.errors, err) })
		if retried {
			for _, b := range s.branches {
				x.addEdge(b.byName[b.startAt], v, how+", again", failure)
			}
		}
	}

	for _, k := range s.catch {
		if matches(k.errors, err) {
			x.caught = true
			x.addEdge(s.scope.byName[k.next], x.afterCatch(s, k, v), how, failure)
			x.caught = false

			return true
		}
	}

	return s.scope.parent != nil && x.raise(s.scope.parent, err, v, how, failure)
}

// afterCatch returns the view after a Catch wrote the error into the data.
func (x *explorer) afterCatch(s *aslState, k aslCatch, v view) view {
	// The error has replaced the data in which the position was.
	if !s.jsonata && v.known != noOrder && replaces(k.resultPath, x.cfg.Variable) {
		v.known = lost
	}

	return v
}

// replaces reports whether a write at a path replaces the variable. The path "" writes
// nothing.
func replaces(path, variable string) bool {
	return path == "$" || path == variable || path != "" && strings.HasPrefix(variable, path+".")
}

// afterResult returns the view after the state wrote its result. order says that the result is the
// position of the order, which then is v.actual.
func (x *explorer) afterResult(s *aslState, v view, order bool) view {
	switch {
	case v.actual == noOrder:
		return v
	case s.jsonata:
		// Assign and Output are expressions. They are trusted.
		return v.refreshed()
	case s.resultPath == "":
		if order && v.known == noOrder {
			// Created, and its position discarded.
			v.known = lost
		}
	case s.resultPath == x.base || s.resultPath == x.cfg.Variable:
		if order || s.kind == "Pass" {
			v = v.refreshed()
		} else {
			v.known = lost
		}
	case order && s.kind == "Task" && s.selector.Get(strings.TrimPrefix(x.base, s.resultPath+".")) != nil:
		// The result holds the position at the place of the variable.
		v = v.refreshed()
	case replaces(s.resultPath, x.cfg.Variable):
		v = x.afterReplacement(s, v)
	case order && v.known == noOrder:
		// Created, and its position written elsewhere.
		v.known = lost
	}

	// Only a part of the data goes on, and nothing says whether the variable is in it.
	if s.output != "$" {
		v.known = lost
	}

	return v
}

// afterReplacement returns the view after a state replaced all data above the variable. After a Pass or a
// Wait the order may still be in the data.
func (x *explorer) afterReplacement(s *aslState, v view) view {
	field := strings.TrimPrefix(x.base, s.resultPath+".")
	copied, constant := s.parameters.Get(field+".$"), s.parameters.Get(field)
	untouched := s.parameters == nil && !s.hasResult

	switch {
	case s.kind == "Wait", s.kind == "Pass" && untouched && s.input == "$":
		// The output is the input.
		return v
	case s.kind == "Pass" && copied != nil && copied.Text == x.base:
		return v
	case s.kind == "Pass" && (copied != nil || constant != nil):
		return v.refreshed()
	case s.kind == "Pass" && untouched:
		// InputPath selects an earlier copy of the data.
		return v.refreshed()
	}

	v.known = lost

	return v
}

// join joins two parts of an explanation.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// errorText describes an error for the path of a finding.
func errorText(err string) string {
	if err == "" {
		return "fails with an error without a known name"
	}
	return "fails with " + err
}
