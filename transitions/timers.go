package transitions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Timer is a transition that time makes, if the order stays as it is until then.
type Timer struct {
	Event workflow.Event `json:"event"`
	From  workflow.State `json:"from"`
	To    workflow.State `json:"to"`
	// At is when the transition is due. It is made within a minute after that, and never before.
	At time.Time `json:"at"`
	// Unmet names a guard of the transition that the order as it is does not meet: while that is so, time does
	// not make the transition.
	Unmet string `json:"unmet,omitempty"`

	since time.Time // the start of the timer
	group workflow.Group
	pin   []workflow.Guard // on the attribute that holds the time, as it was read
	exact bool             // the write can compare since; if not, the order must not have changed at all
}

// timersAttribute is a map with the time at which an event that keeps the state was applied last, for events that
// time applies: their own timer starts again with each. An entry that is not younger than the entering of the
// state has no meaning.
const timersAttribute = "timers"

// Timers returns what time will do to the order if it stays as it is, the earliest first. It needs an order
// that was read whole.
func (o *Orders) Timers(order *Order) []Timer {
	timed := o.def.Timed(order.State)
	if len(timed) == 0 {
		return nil
	}

	data := order.GuardData()
	timers := make([]Timer, 0, len(timed))

	for _, t := range timed {
		since := order.timerStart(t.Event)
		// Another program has created the order, and nothing tells when.
		if since.IsZero() && t.After.Attribute == "" {
			continue
		}

		at, due := t.Due(since, data)
		if !due {
			continue
		}

		timer := Timer{
			Event: t.Event, From: order.State, To: t.To, At: at.UTC(), since: since,
			group: workflow.Group{From: []workflow.State{order.State}, To: t.To, Guards: t.Guards},
			exact: !order.enteredAt.IsZero() && order.EnteredAt().Equal(order.enteredAt),
		}

		if name := t.After.Attribute; name != "" {
			timer.pin = []workflow.Guard{{Name: "time", Attribute: name, Op: "=", Value: valueAt(data, name)}}
		}

		// The guards of a timed transition need no values of a request, so they cannot fail.
		if unmet, _ := firstUnmet(t.Guards, data, nil); unmet != nil {
			timer.Unmet = fmt.Sprintf("guard %s needs %s", unmet.Name, unmet)
		}
		timers = append(timers, timer)
	}
	slices.SortStableFunc(timers, func(a, b Timer) int { return a.At.Compare(b.At) })

	return timers
}

// HasTimers reports whether time makes any transition of the definition.
func (o *Orders) HasTimers() bool {
	return slices.ContainsFunc(o.def.States(), func(s workflow.StateSpec) bool { return len(o.def.Timed(s.State)) > 0 })
}

// timerStart returns the start of the timer of an event: when the order entered its state, or when the event
// was applied last and has kept it.
func (o *Order) timerStart(event workflow.Event) time.Time {
	since := o.EnteredAt()
	if own := o.timers[event]; own.After(since) {
		return own
	}

	return since
}

// ApplyTimer makes the transition of a timer that [Orders.Timers] has returned for the order, which was just read. It
// is [Orders.Apply] with a request id of this occurrence, so any number of callers make the transition once.
// The condition of the write has the guards of the transition and what the moment follows from. If the order
// has left the state, or the timer was restarted, moved or made its transition, the verdict is no Applied.
//
// ApplyTimer does not compare the time: its caller does, by the clock of the service.
func (o *Orders) ApplyTimer(ctx context.Context, order *Order, t Timer) (Result, error) {
	return o.applyTo(ctx, t.request(order), sight{order: order, fresh: true})
}

// request returns the request that makes the transition of the timer. Its id is that of this occurrence alone.
func (t Timer) request(order *Order) Request {
	occurrence := fmt.Sprintf("%s/%s/%s/%d/%d", order.Incarnation, t.From, t.Event, t.since.UnixMilli(), t.At.UnixMilli())
	sum := sha256.Sum256([]byte(occurrence))

	return Request{
		OrderID:     order.ID,
		Event:       t.Event,
		From:        t.From,
		RequestID:   RequestID("time-" + hex.EncodeToString(sum[:16])),
		Incarnation: order.seenLife(),
		Cause:       Cause{Code: CodeTime, Source: CodeTime},
		timer:       &t,
	}
}

// CodeTime is the code of the cause of a transition that time has made, and its source.
const CodeTime = "time"

// seenLife is the life for a request, "" if the attribute is another program's.
func (o *Order) seenLife() Incarnation {
	if o.Readable(incarnationAttribute) != nil {
		return ""
	}

	return o.Incarnation
}

// sameTimer returns the order's timer if it is still the one of the request, and otherwise false.
func (o *Orders) sameTimer(order *Order, seen *Timer) (Timer, bool) {
	for _, t := range o.Timers(order) {
		if t.Event == seen.Event && t.To == seen.To && t.since.Equal(seen.since) && t.At.Equal(seen.At) {
			return t, true
		}
	}

	return Timer{}, false
}

// pinTo makes the step conditional on what the timer depends on: that the order has not entered its state again,
// that the timer was not restarted, and that the attribute with the time is as it was read.
func (t Timer) pinTo(s *step, order *Order) {
	s.move.Guards = slices.Concat(s.move.Guards, t.pin)

	if !t.exact {
		s.request.IfMatch = &order.TransitionID
		if order.Readable(contentVersionAttribute) == nil {
			s.request.IfContent = &order.ContentVersion
		}

		return
	}

	s.entered = order.enteredAt
}

// restarts sets what a transition that keeps the state does to the timers of the state.
func (o *Orders) restarts(s *step, order *Order) {
	if enters(s.move) {
		return
	}

	event, state := s.transition.Event, s.move.To
	s.restart = slices.ContainsFunc(o.def.Choices(state, event), func(t workflow.Transition) bool { return t.To == state && t.Restart })

	if order == nil || !o.restartsOwn(event, state) {
		return
	}

	entered := order.EnteredAt()
	s.timers = image{string(event): dynamo.Millis(s.transition.At)}
	for other, at := range order.timers {
		if other != event && at.After(entered) {
			s.timers[string(other)] = dynamo.Millis(at)
		}
	}
	s.seenTimers = order.item[timersAttribute]
}

// restartsOwn reports whether the event restarts a timer of its own when it keeps the state.
func (o *Orders) restartsOwn(event workflow.Event, state workflow.State) bool {
	return slices.ContainsFunc(o.def.Timed(state), func(t workflow.Transition) bool { return t.Event == event && t.To == state })
}

// restartsAny reports whether one of the moves restarts a timer of its own: then the order must be known.
func (o *Orders) restartsAny(event workflow.Event, groups []workflow.Group) bool {
	return slices.ContainsFunc(groups, func(g workflow.Group) bool { return !enters(g) && o.restartsOwn(event, g.To) })
}

// timed adds what concerns timers to a write.
func (s *step) timed(update *string, condition string, values image) (*string, string) {
	if !s.entered.IsZero() {
		values[":entered"] = dynamo.Millis(s.entered)
		condition += " AND " + enteredAtAttribute + " = :entered"
	}

	if s.timers == nil {
		return update, condition
	}

	values[":timers"] = dynamo.M(s.timers)
	update = alsoSetting(timersAttribute, ":timers", update)

	if s.seenTimers == nil {
		return update, condition + " AND attribute_not_exists(" + timersAttribute + ")"
	}
	values[":seenTimers"] = s.seenTimers

	return update, condition + " AND " + timersAttribute + " = :seenTimers"
}

// startsOf reads the attribute timers.
func (r *reader) startsOf(item image, name string) map[workflow.Event]time.Time {
	members := r.members(item, name)
	if members == nil {
		return nil
	}

	starts := make(map[workflow.Event]time.Time, len(members))
	for event := range members {
		starts[workflow.Event(event)] = r.time(members, event)
	}

	return starts
}

// valueAt returns the value at the path of an attribute, which is there: a text or a [json.Number] if it is a time.
func valueAt(data map[string]any, path string) any {
	var at any = data
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		if index, isIndex := strings.CutSuffix(part, "]"); isIndex {
			list, _ := at.([]any)
			i, _ := strconv.Atoi(index)
			at = list[i]

			continue
		}

		members, _ := at.(map[string]any)
		at = members[part]
	}

	return at
}
