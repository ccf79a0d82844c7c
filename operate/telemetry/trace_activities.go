package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"ratchet/activities"
	"ratchet/transitions"
)

// Activity is an [activities.Middleware] that makes a span of each attempt of a task. It begins a
// trace: that of the transition that the task makes. Step Functions does not say which attempt it is,
// so an attempt is linked to the first one if the same process has made that and it failed.
func (t *Tracing) Activity(next activities.HandlerFunc) activities.HandlerFunc {
	if t == nil {
		return next
	}

	return func(ctx context.Context, task activities.Task) (any, error) {
		order, transition := subjectOf(task.Input)
		work := task.Activity + " " + string(order) + " " + strconv.FormatInt(int64(transition), 10)

		ctx, span := t.tracer.Start(ctx, "activity "+task.Activity, activitySpan.kind(),
			trace.WithLinks(linkTo(linkFirst, t.attempts.first(work))...),
			trace.WithAttributes(text(attrActivity, task.Activity)))

		if order != "" {
			span.SetAttributes(text(attrOrder, string(order)))
		}

		if transition > 0 {
			span.SetAttributes(number(attrTransition, transition))
		}

		class := classPanic
		defer func() {
			if class == "" {
				t.attempts.forget(work)
			} else {
				t.attempts.failed(work, span.SpanContext())
			}
			end(span, class)
		}()

		output, err := next(ctx, task)
		if class = errorClass(err); errors.Is(err, activities.ErrParked) {
			class = "" // it is answered later
		}

		return output, err
	}
}

// subjectOf returns the order and the transition that a task is about, as far as its input says so.
func subjectOf(input json.RawMessage) (transitions.OrderID, transitions.TransitionID) {
	var in struct {
		OrderID      transitions.OrderID      `json:"orderId"`
		TransitionID transitions.TransitionID `json:"transitionId"`
		Order        struct {
			OrderID transitions.OrderID `json:"orderId"`
		} `json:"order"`
	}

	if json.Unmarshal(input, &in) != nil {
		return "", 0
	}

	if in.OrderID == "" {
		in.OrderID = in.Order.OrderID
	}

	if in.OrderID.Validate() != nil {
		return "", in.TransitionID
	}

	return in.OrderID, in.TransitionID
}

// mostFailed is how many failed first attempts are remembered.
const mostFailed = 1024

// firstAttempts remembers the spans of first attempts that have failed, the newest of them. The zero
// value is ready to use.
type firstAttempts struct {
	mu    sync.Mutex
	spans map[string]failedAttempt
	works [mostFailed]string // in turn, to forget the oldest; one that was forgotten before keeps its slot
	next  int
}

type failedAttempt struct {
	span trace.SpanContext
	slot int // of works
}

// first returns the span of the first attempt, invalid if none is known.
func (f *firstAttempts) first(work string) trace.SpanContext {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.spans[work].span
}

// failed notes a failed attempt. Only the first one stays.
func (f *firstAttempts) failed(work string, span trace.SpanContext) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if _, known := f.spans[work]; known {
		return
	}

	if f.spans == nil {
		f.spans = map[string]failedAttempt{}
	}

	// The oldest work may have been forgotten and have failed again: it then has another slot.
	if oldest := f.works[f.next]; f.spans[oldest].slot == f.next {
		delete(f.spans, oldest)
	}
	f.spans[work], f.works[f.next] = failedAttempt{span, f.next}, work
	f.next = (f.next + 1) % mostFailed
}

func (f *firstAttempts) forget(work string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	delete(f.spans, work)
}
