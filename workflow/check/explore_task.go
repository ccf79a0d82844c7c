package check

import (
	"maps"
	"slices"

	"ratchet/workflow"
)

// record returns what is known of a task.
func (x *explorer) record(s *aslState) *taskRecord {
	if x.tasks[s] == nil {
		x.tasks[s] = &taskRecord{}
	}

	return x.tasks[s]
}

// followTask follows a Task: its success, its refusal, a time-out, and every other error.
func (x *explorer) followTask(s *aslState, p point) {
	var faults []fault
	arguments := x.argumentsOf(s, p, &faults)

	e := s.effect
	if e.touchesOrder() && !e.Creates && p.actual == noOrder {
		x.ends[x.current] = true
		x.report(SeverityError, "event-before-creation", s, "the task needs the order before any task has created it")

		return
	}

	if x.reportFaults(s, p, faults) {
		return
	}

	switch {
	case e.Creates:
		x.followCreation(s, p)
	case e.moves():
		events := []workflow.Event{e.Event}
		if e.AnyEvent {
			events = x.d.Events()
		}

		for _, event := range events {
			x.followTransition(s, p, arguments, event)
		}
	case e.Awaits != "":
		x.followAwait(s, p, arguments)
	case e.Reads:
		x.followReading(s, p)
	default:
		after := p
		after.facts = x.applyFacts(e, p.facts)
		x.leave(s, after, foreignValue, way{})
		x.raiseFailures(s, p)
	}
}

// succeed leaves a task that returns the position of the order.
func (x *explorer) succeed(s *aslState, p point, w way) {
	x.leave(s, p, positionAt(p.actual, x.last), w)
}

// followCreation follows a task that creates the order.
func (x *explorer) followCreation(s *aslState, p point) {
	switch {
	case s.effect.Resumes:
		x.followResumption(s, p)
		return
	case p.actual != noOrder:
		x.report(SeverityWarning, "created-again", s, "the order exists already when this task creates it")
	}

	after := x.created(s, p)
	if p.actual != noOrder {
		after.actual = p.actual
	}

	for _, m := range x.movesAfterCreation(p) {
		x.succeed(s, x.moved(after, m), way{how: m.how, chance: m.how != ""})
	}

	// A task that gave up may nevertheless have created the order.
	x.raiseFailures(s, p, after)
}

// movesAfterCreation lists where an order can be that a task creates: in its first state, or wherever an
// order is that exists already.
func (x *explorer) movesAfterCreation(p point) []outsideMove {
	if p.actual == noOrder {
		return []outsideMove{{to: x.order.index[x.d.Initial()]}}
	}

	return x.possibleMoves(p.actual)
}

// created returns the point after a task has created the order.
func (x *explorer) created(s *aslState, p point) point {
	p.actual, p.facts = x.order.index[x.d.Initial()], x.applyFacts(s.effect, p.facts)
	return p
}

// followResumption follows a task that creates the order or takes it as it is. Before the first such task
// the order may be in any state or not exist.
func (x *explorer) followResumption(s *aslState, p point) {
	var moves []outsideMove
	switch p.actual {
	case noOrder:
		// The execution may follow another one, and finds the order where its predecessor left it.
		for i := range x.order.states {
			moves = append(moves, outsideMove{to: int16(i), how: "the order exists"})
		}
	default:
		moves = x.possibleMoves(p.actual)
	}

	initial := x.order.index[x.d.Initial()]
	for _, m := range moves {
		at := x.moved(p, m)
		if m.to != initial {
			x.raiseOvertaken(s, at, way{how: m.how, chance: true})
			continue
		}

		w := way{how: m.how, chance: m.how != ""}
		// The task itself creates the order, so the path needs no explanation.
		if p.actual == noOrder {
			w = way{}
		}

		at.facts = x.applyFacts(s.effect, p.facts)
		x.record(s).succeeds = true
		x.succeed(s, at, w)
		x.raiseRefused(s, at)
	}

	failed := []point{p}
	if p.actual == noOrder {
		failed = append(failed, x.created(s, p))
	}
	x.raiseFailures(s, failed...)
}

// followReading follows a task that returns the position of the order.
func (x *explorer) followReading(s *aslState, p point) {
	for _, m := range x.possibleMoves(p.actual) {
		after := x.moved(p, m)
		w := way{how: m.how, chance: m.how != ""}
		if in := s.effect.In; len(in) > 0 && !slices.Contains(in, x.order.name(m.to)) {
			x.raiseOvertaken(s, after, w)
			continue
		}

		after.facts = x.applyFacts(s.effect, p.facts)
		x.succeed(s, after, w)
	}

	x.raiseFailures(s, p)
}

// raiseRefused raises the errors of a task that has applied an event before it
// failed, for an order at the position of the point.
func (x *explorer) raiseRefused(s *aslState, p point) {
	for _, err := range slices.Sorted(maps.Keys(s.effect.Refused)) {
		event := s.effect.Refused[err]
		for _, to := range x.order.targets(p.actual, event) {
			for _, by := range x.order.byAny(event) {
				after := x.moved(p, outsideMove{to: to, by: by})
				w := way{how: join(string(event), errorText(err))}
				if !x.raise(s, err, foreignValue, after, w) {
					x.reportUncaught(s)
				}
			}
		}
	}
}

// fence returns the view whose transitionId the task carries. ok is false if the check cannot tell.
func (x *explorer) fence(s *aslState, arguments *value) (v view, ok bool) {
	views := map[valueKind][]view{}
	add := func(kind valueKind, v view) {
		if !slices.Contains(views[kind], v) {
			views[kind] = append(views[kind], v)
		}
	}

	arguments.find(func(v *value) {
		if v.kind == nextOf || v.kind == partOf && !constantPart(v.name) {
			add(v.kind, v.view)
		}
	})

	// A task without Parameters finds the position at its place in the input.
	if at := arguments.at(x.base); s.parameters == nil && at.kind == position {
		add(nextOf, at.view)
	}

	for _, kind := range []valueKind{nextOf, partOf} {
		if len(views[kind]) > 0 {
			return views[kind][0], len(views[kind]) == 1
		}
	}

	return view{}, false
}

// followTransition follows a task that applies an event. A task with a fence succeeds only if the order is
// where the execution knows it to be, or if the very request was applied before; the order may have been
// moved meanwhile.
func (x *explorer) followTransition(s *aslState, p point, arguments *value, event workflow.Event) {
	fence, followed := x.fence(s, arguments)
	if s.effect.Fenced && !followed {
		x.report(SeverityError, "lost-position", s,
			"the task carries a transitionId, and nothing shows that it is the one after that of the order's position")
	}

	record := x.record(s)
	record.fresh = record.fresh || !s.effect.Fenced || !followed || fence.since == nothing

	// A task that gave up may nevertheless have applied the event, so the errors
	// are followed with the order in both positions.
	unsure := []point{p}
	for _, m := range x.possibleMoves(p.actual) {
		at := x.moved(p, m)
		w := way{how: m.how, chance: m.how != ""}

		since := fence.since
		if since == nothing {
			since = m.by
		}

		switch {
		case !s.effect.Fenced || since == nothing:
			unsure = append(unsure, x.apply(s, at, event, w)...)
			// Without a known fence, the id may be an old one.
			if s.effect.Fenced && !followed {
				x.raiseOvertaken(s, at, w)
			}
		case since > nothing && since == x.order.by(event, true):
			x.replay(s, at, fence, event, w)
		default:
			x.raiseOvertaken(s, at, w)
		}
	}

	x.raiseFailures(s, unsure...)
}

// apply applies the event of a task to the order where it is, and returns where the order can be then.
func (x *explorer) apply(s *aslState, p point, event workflow.Event, w way) []point {
	record := x.record(s)
	name := string(x.order.name(p.actual))

	targets := x.order.targets(p.actual, event)
	if x.order.mayRefuse(p.actual, event) {
		refusal := w
		switch {
		case len(targets) == 0:
			record.refused = appendNew(record.refused, name)
		default:
			record.guarded = appendNew(record.guarded, name)
			refusal = w.and("a guard refuses " + string(event))
		}
		x.raiseOvertaken(s, p, refusal)
	}

	if len(targets) == 0 {
		return nil
	}

	record.succeeds = true
	x.raiseRefused(s, p)

	before := p
	before.facts = x.applyFacts(s.effect, p.facts)
	x.checkRequired(s, before, event)

	var after []point
	for _, to := range targets {
		at := x.moved(before, outsideMove{to: to, by: x.order.by(event, s.effect.Fenced)})
		x.succeed(s, at, w.and(string(event)))
		after = append(after, at)
	}

	return after
}

// appendNew appends a name that the list lacks.
func appendNew(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}

	return append(names, name)
}

// replay answers a request that was applied before. The task returns the position to which the event has led
// then, from where the order may have moved on.
func (x *explorer) replay(s *aslState, p point, fence view, event workflow.Event, w way) {
	for _, to := range x.order.targets(fence.known, event) {
		for _, by := range x.between(to, p.actual) {
			after := p
			after.facts = x.applyFacts(s.effect, p.facts)

			then := w.and(string(event) + " was applied before")
			// The moves between lie further back, so the order needs no further one.
			then.chance = then.chance || by != nothing

			x.record(s).succeeds = true
			x.leave(s, after, newValue(value{kind: position, view: view{to, by}, name: x.last}), then)
		}
	}
}

// followAwait follows a task that waits for a state.
func (x *explorer) followAwait(s *aslState, p point, arguments *value) {
	since, followed := x.fence(s, arguments)
	stale := followed && since.since != nothing || !followed && len(s.effect.Moved) > 0

	awaited := x.order.index[s.effect.Awaits]
	for _, m := range x.possibleMoves(p.actual) {
		at := x.moved(p, m)
		w := way{how: m.how, chance: m.how != ""}
		if m.to == awaited {
			x.record(s).succeeds = true

			// The task may return late, when the order has moved on.
			for _, late := range x.possibleMoves(awaited) {
				how := join(m.how, "reached "+string(s.effect.Awaits))
				if late.how != "" {
					how = join(how, "then "+late.how)
				}

				after := x.moved(at, late)
				after.facts = x.applyFacts(s.effect, p.facts)
				x.succeed(s, after, way{how: how, chance: true})
			}
		}

		// The task learns that its wait has become pointless.
		if !x.order.reachable(m.to, awaited) {
			x.raiseOvertaken(s, at, w)
		}

		if stale || m.how != "" {
			x.raiseAll(s, s.effect.Moved, foreignValue, at, w)
		}
	}

	x.raiseFailures(s, p)
}
