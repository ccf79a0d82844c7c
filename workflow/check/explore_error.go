package check

import (
	"fmt"
	"slices"
	"strings"

	"ratchet/workflow"
)

// thresholdError is the error of a distributed Map with more failed items than it tolerates.
const thresholdError = "States.ExceedToleratedFailureThreshold"

// checkRequired reports an event that may be applied although a fact that it requires does
// not hold.
func (x *explorer) checkRequired(s *aslState, p point, event workflow.Event) {
	var missing []string
	for _, fact := range x.cfg.Requires[event] {
		if p.facts&x.factBits[fact] == 0 {
			missing = append(missing, fact)
		}
	}

	if len(missing) > 0 {
		x.report(SeverityError, "missing-step", s, "event %s needs what no task on this path has done: %s",
			event, strings.Join(missing, ", "))
	}
}

// raiseOvertaken raises the errors that report that another caller has moved the order. Their cause is the
// order's position.
func (x *explorer) raiseOvertaken(s *aslState, p point, w way) {
	cause := newValue(value{kind: causeOf, view: view{known: p.actual}, name: x.last})
	x.raiseAll(s, x.cfg.Overtaken, cause, p, w)
}

// raiseAll raises the errors of a task that was refused. Each must be caught.
func (x *explorer) raiseAll(s *aslState, errors []string, cause *value, p point, w way) {
	var missed []string
	for _, err := range errors {
		if !x.raise(s, err, cause, p, w.and(errorText(err))) {
			missed = append(missed, err)
		}
	}

	if len(missed) == 0 {
		return
	}

	// The execution ends here, so the state counts as an end and is not reported as endless, too.
	x.ends[x.current] = true

	how := w.how
	if how == "" {
		how = fmt.Sprintf("the order is %s", x.order.name(p.actual))
	}

	x.report(SeverityError, "overtaken-not-caught", s,
		"no Catch takes %s, with which the task is refused when %s; the execution fails and nothing continues the order",
		strings.Join(missed, ", "), how)
}

// raiseFailures raises all other errors. Time-outs and retryable errors whose attempts are used up are
// raised with each point. Permanent errors are raised with the first point only, because after a permanent
// error nothing was written.
func (x *explorer) raiseFailures(s *aslState, points ...point) {
	retryable := slices.Concat(x.cfg.Retryable, []string{"States.Timeout", "States.HeartbeatTimeout"})
	for _, p := range points {
		for _, err := range retryable {
			x.raise(s, err, foreignValue, p, way{how: errorText(err) + " for good", failure: true})
		}
	}

	for _, err := range append([]string{""}, x.caughtNames(s)...) {
		_, refused := s.effect.Refused[err]

		followed := refused || slices.Contains(x.cfg.Overtaken, err) || slices.Contains(retryable, err) || slices.Contains(s.effect.Moved, err)
		if followed {
			continue
		}

		if !x.raise(s, err, foreignValue, points[0], way{how: errorText(err), failure: true}) && err == "" {
			x.reportUncaught(s)
		}
	}
}

// handled is an error that a Catch has taken at the visit being expanded.
type handled struct {
	state           *aslState
	catch           int
	cause           string
	at              point
	failure, chance bool
}

// caughtNames lists the names of errors in the Catch fields of a state and of those around it. The two
// catch-all names stand for others, which are raised by their own names.
func (x *explorer) caughtNames(s *aslState) []string {
	var names []string
	for in := s; in != nil; in = in.scope.parent {
		for _, k := range in.catch {
			for _, err := range k.errors {
				if err != "States.ALL" && err != "States.TaskFailed" {
					names = appendNew(names, err)
				}
			}
		}
	}

	return names
}

func (x *explorer) reportUncaught(s *aslState) {
	x.once("failure-not-caught", s, func() {
		x.at(SeverityInfo, "failure-not-caught", s, 0, "no Catch takes an error without a known name: the execution fails here, and a redrive runs the task again")
	})
}

// raise follows the Retry and the Catch that take the error, of the state or of a state around it, and
// reports whether there is a Catch. The point has the data of the state's scope.
func (x *explorer) raise(s *aslState, err string, cause *value, p point, w way) bool {
	// The first entry that matches counts. Its attempts may be used up.
	i := slices.IndexFunc(s.retry, func(r aslRetry) bool { return matches(r.errors, err) })
	if i >= 0 && s.retry[i].attempts > 0 {
		again := w
		again.how = join(strings.TrimSuffix(w.how, " for good"), "again")
		again.chance = true
		x.addEdge(s, p, again)
	}

	for j, k := range s.catch {
		if matches(k.errors, err) {
			// Errors whose names are not read lead to the same place.
			h := handled{s, j, cause.key, p, w.failure, w.chance}
			if x.live.names || !x.handled[h] {
				x.catch(s, k, err, cause, p, w)
			}
			x.handled[h] = true

			return true
		}
	}

	around := s.scope.parent
	if around == nil {
		return false
	}

	outer := p
	outer.frame = p.frame.up
	if !around.distributed {
		return x.raise(around, err, cause, outer, w)
	}

	if around.tolerates {
		// The item has failed, and the Map goes on.
		next := w
		next.chance = true
		x.enterItem(around, outer, next.and("next item"))
		x.leave(around, outer, x.mapResult(around), w)
	}

	return around.toleratesAll || x.raise(around, thresholdError, foreignValue, outer, w)
}

// errorText describes an error for the path of a finding.
func errorText(err string) string {
	if err == "" {
		return "fails with an error without a known name"
	}
	return "fails with " + err
}
