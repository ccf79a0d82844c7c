package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// task follows a Task: success, refusal, giving up, and every other error.
func (x *explorer) task(s *aslState, v view) {
	e := s.effect
	switch {
	case e.Creates:
		if v.known != noOrder {
			x.blame(SeverityWarning, "created-again", s, "the order exists already when this task creates it")
		}
		initial := int16(x.d.states[x.d.Initial()])
		x.leave(s, x.written(s, view{known: v.known, actual: initial, facts: v.facts}, true), "", false)
		x.fail(s, v, v)
	case e.order() && v.actual == noOrder:
		x.ends[x.at] = true
		x.blame(SeverityError, "event-before-creation", s, "the task needs the order before any task has created it")
	case e.moves():
		events := []Event{e.Event}
		if e.AnyEvent {
			events = x.d.Events()
		}

		for _, event := range events {
			x.apply(s, v, event)
		}
	case e.Awaits != "":
		x.await(s, v)
	default:
		after := v
		after.facts = x.succeeded(e, v.facts)
		x.leave(s, x.written(s, after, false), "", false)
		x.fail(s, v, v)
	}
}

// apply follows a task that applies an event. With a fence it succeeds only where
// the execution knows the order to be; the order may have been moved meanwhile.
func (x *explorer) apply(s *aslState, v view, event Event) {
	stale := v.known != lost && v.stale
	unsure := []view{v} // where the order is when the task gives up: the write may have come through
	for _, d := range x.somewhere(v.actual) {
		targets := x.after(d.to, event)
		fits := len(targets) > 0 && (!s.effect.Fenced || (d.how == "" && !stale))
		if fits {
			x.ok[s] = true
			x.demand(s, v, event)
		}

		for _, to := range targets {
			if !fits {
				break
			}
			done := v.moved(drift{to, "by this task"})
			x.leave(s, x.written(s, done, true), join(d.how, string(event)), false)
			unsure = append(unsure, done)
		}

		if !fits {
			x.refuse(s, v.moved(d), d.how)
		}
	}
	x.fail(s, unsure...)
}

// demand reports an event that may be applied though what it needs does not hold.
func (x *explorer) demand(s *aslState, v view, event Event) {
	var missing []string
	for _, word := range x.opts.Needs[event] {
		if v.facts&x.words[word] == 0 {
			missing = append(missing, word)
		}
	}

	if len(missing) > 0 {
		x.blame(SeverityError, "missing-step", s, "event %s needs what no task on this path has seen to: %s", event, strings.Join(missing, ", "))
	}
}

// await follows a task that waits for a state. It may return late: then the order
// has gone on.
func (x *explorer) await(s *aslState, v view) {
	w := int16(x.d.states[s.effect.Awaits])
	for _, d := range x.somewhere(v.actual) {
		if d.to == w {
			x.ok[s] = true
			for _, late := range x.somewhere(w) {
				how := join(d.how, "reached "+string(s.effect.Awaits))
				if late.how != "" {
					how = join(how, "then "+late.how)
				}
				x.leave(s, x.written(s, v.moved(drift{late.to, how}), true), how, false)
			}
		}

		if !x.d.reach[d.to][w] {
			x.refuse(s, v.moved(d), d.how)
		}
	}
	x.fail(s, v)
}

// refuse raises what tells the execution that the order has been moved.
func (x *explorer) refuse(s *aslState, v view, how string) {
	var missed []string
	for _, err := range x.opts.Overtaken {
		if !x.raise(s, err, v, join(how, errorName(err)), false) {
			missed = append(missed, err)
		}
	}

	if len(missed) > 0 {
		x.ends[x.at] = true
		if how == "" {
			how = fmt.Sprintf("the order is %s", x.stateName(v.actual))
		}
		x.blame(SeverityError, "overtaken-not-caught", s, "no Catch takes %s, with which the task is refused when %s; the execution fails and nobody looks at the order",
			strings.Join(missed, ", "), how)
	}
}

// fail raises everything else: time-outs and used-up retries with each view, and
// final errors with the first.
func (x *explorer) fail(s *aslState, views ...view) {
	retryable := slices.Concat(x.opts.Retryable, []string{"States.Timeout", "States.HeartbeatTimeout"})
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
		if slices.Contains(x.opts.Overtaken, err) || slices.Contains(retryable, err) || err == "States.ALL" || err == "States.TaskFailed" {
			continue
		}

		if !x.raise(s, err, views[0], errorName(err), true) && err == "" {
			x.once("failure-not-caught", s, func() {
				sev := SeverityInfo
				if s.effect.order() || len(s.effect.Gives) > 0 {
					sev = SeverityWarning
				}
				x.checker.at(sev, "failure-not-caught", s, 0, "no Catch takes an error that nothing names: the execution fails and nothing is undone")
			})
		}
	}
}

// raise finds the Catch that takes the error, here or around, and reports whether
// there is one.
func (x *explorer) raise(s *aslState, err string, v view, how string, failure bool) bool {
	if x.visits[x.at].state != s { // the error came out of a branch; the whole may be tried again
		for _, r := range s.retry {
			if r.attempts > 0 && matches(r.errors, err) {
				for _, b := range s.branches {
					x.emit(b.byName[b.startAt], v, how+", again", failure)
				}
				break
			}
		}
	}

	for _, k := range s.catch {
		if matches(k.errors, err) {
			x.emit(s.scope.byName[k.next], x.caught(s, k, v), how, failure)
			return true
		}
	}

	return s.scope.parent != nil && x.raise(s.scope.parent, err, v, how, failure)
}

// caught is the view after a Catch put the error somewhere into the data.
func (x *explorer) caught(s *aslState, k aslCatch, v view) view {
	if !s.jsonata && k.resultPath != "" && (k.resultPath == x.opts.Variable || covers(k.resultPath, x.opts.Variable)) && v.known != noOrder {
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
func (x *explorer) written(s *aslState, v view, order bool) view {
	switch {
	case v.actual == noOrder:
		return v
	case s.jsonata:
		v = v.adopted() // Assign and Output are expressions; they are trusted
		return v
	case s.resultPath == "":
	case s.resultPath == x.base || s.resultPath == x.opts.Variable:
		if order || s.kind == "Pass" {
			v = v.adopted()
		} else {
			v.known = lost
		}
	case covers(s.resultPath, x.opts.Variable):
		v = x.replaced(s, v)
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
func (x *explorer) replaced(s *aslState, v view) view {
	field := strings.TrimPrefix(x.base, s.resultPath+".")
	switch {
	case s.kind == "Wait", s.kind == "Pass" && !s.hasResult && s.parameters == nil && s.input == "$":
		return v // the input goes through as it is
	case s.kind == "Pass" && s.parameters.get(field+".$") != nil && s.parameters.get(field+".$").text == x.base:
		return v
	case s.kind == "Pass" && (s.parameters.get(field+".$") != nil || s.parameters.get(field) != nil):
		v = v.adopted()
	case s.kind == "Pass" && s.input != "$" && s.parameters == nil && !s.hasResult:
		v = v.adopted() // an earlier copy of the data
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
