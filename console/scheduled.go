package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"ratchet/api/auth"
)

const (
	// scheduledPath is that of the requests for later of an order.
	scheduledPath = orderPath + "/scheduled"
	laterValue    = "at"
)

// scheduledActs are the acts on requests for later.
var scheduledActs = []act{
	{
		name: "schedule", title: "Request an event for later", does: "Stores a request for the event. It is judged and applied within a minute after its time, and can be moved and withdrawn until then.", scope: auth.Act,
		method: http.MethodPost, path: scheduledPath,
		fields: []field{
			{name: "event", label: "Event", kind: "text", needed: true},
			{name: laterValue, label: "When (UTC), at most a year ahead", kind: "datetime-local", needed: true, flag: "--at"},
		},
		body: func(v values) (any, error) {
			at, err := later(v)
			return map[string]any{"event": v["event"], "at": at, "cause": because(v)}, err
		},
		command: "ratchet orders apply {order} {event} --request-id {key} --reason-text {reason}",
	},
	{
		name: "move-scheduled", title: "Give it another time", does: "The request is judged and applied at the other time.", scope: auth.Act,
		method: http.MethodPut, path: scheduledPath + "/{scheduled}",
		fields: []field{{name: laterValue, label: "When (UTC), at most a year ahead", kind: "datetime-local", needed: true, flag: "--to"}},
		body: func(v values) (any, error) {
			at, err := later(v)
			return map[string]any{"at": at}, err
		},
		command: "ratchet orders scheduled move {order} {scheduled}",
	},
	{
		name: "withdraw-scheduled", title: "Withdraw", does: "The request is never applied. Nothing brings it back, but another one can be placed.", scope: auth.Act,
		method: http.MethodDelete, path: scheduledPath + "/{scheduled}", grave: true,
		command: "ratchet orders scheduled withdraw {order} {scheduled}",
	},
}

// later returns the time of a request.
func later(v values) (string, error) {
	at, err := utc(v[laterValue])
	if err != nil {
		return "", fault("When: a time, such as 2027-01-15T08:00")
	}

	return at, nil
}

// scheduled is a request for later.
type scheduled struct {
	ID, Event, Status, Verdict, Reason string
	At                                 moment
}

// why says why a request was refused.
func (r scheduled) why() string {
	if r.Status != "refused" {
		return ""
	}

	return strings.TrimSpace(r.Verdict + " " + r.Reason)
}

// scheduledList is the answer of GET /v1/orders/{orderId}/scheduled.
type scheduledList struct {
	Scheduled []scheduled
	Next      string
}

// scheduledOf returns the requests for later of an order, the earliest first.
func scheduledOf(ctx context.Context, v *visit, order string) (list scheduledList, err error) {
	err = v.get(ctx, with(pathTo("/v1/orders/%s/scheduled", order), "limit", "100"), &list)
	slices.SortStableFunc(list.Scheduled, func(a, b scheduled) int { return a.At.Compare(b.At.Time) })

	return list, err
}

// scheduledButtons are the acts on a request that waits.
func (v *visit) scheduledButtons(order string, r scheduled) []button {
	if r.Status != "pending" {
		return nil
	}

	return slices.Concat(v.button("move-scheduled", "order", order, "scheduled", r.ID), v.button("withdraw-scheduled", "order", order, "scheduled", r.ID))
}

// previewLater asks how the order would take the event if it were judged now.
func previewLater(ctx context.Context, v *visit, given values) (*preview, error) {
	if given["event"] == "" {
		return nil, nil
	}

	p, err := previewEvent(ctx, v, given)
	if refused, is := errors.AsType[*problem](err); is {
		return &preview{lines: []string{refused.text()}}, nil
	}

	if err == nil {
		p.lines = append([]string{"It is judged at its time. If that were now:"}, p.lines...)
	}

	return p, err
}

// previewScheduled reads what has become of a request.
func previewScheduled(ctx context.Context, v *visit, given values) (*preview, error) {
	var r scheduled
	if err := v.get(ctx, pathTo("/v1/orders/%s/scheduled/%s", given["order"], given["scheduled"]), &r); err != nil {
		return nil, err
	}

	p := &preview{good: r.Status == "pending"}
	p.add("It requests %s at %s, and is %s.", r.Event, r.At.UTC().Format("2006-01-02 15:04:05 UTC"), r.Status)

	return p, nil
}
