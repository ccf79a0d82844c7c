package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/transitions"
	"ratchet/transitions/scheduled"
)

func TestARequestForLaterSaysWhatHappensAndWhyItDidNot(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	order := &transitions.Order{ID: "o-1", Incarnation: "one"}

	for _, row := range []struct {
		in   time.Duration
		life transitions.Incarnation
		want string
		next bool // it is still to come
	}{
		{time.Hour, "one", "a request applies cancel at 2026-03-01T13:00:00Z", true},
		{time.Hour, "", "a request applies cancel at 2026-03-01T13:00:00Z", true},
		{time.Hour, "two", "is for another life of the order, and will be refused", true},
		{0, "one", "was due at 2026-03-01T12:00:00Z: a worker judges it within a minute", false},
		{-time.Hour, "one", "was due at 2026-03-01T11:00:00Z: no worker has judged it; `ratchet status` says", false},
	} {
		r := scheduled.Request{OrderID: "o-1", Event: "cancel", At: now.Add(row.in), Life: row.life, Status: scheduled.Pending}

		if d := ofScheduled(r, order, now); !strings.Contains(d.What, row.want) || d.Event != "cancel" || d.NextTry.IsZero() == row.next || d.Since.IsZero() != row.next {
			t.Errorf("in %s: %+v", row.in, d)
		}
	}
}

func TestTheTimeLineSaysHowRequestsForLaterHaveEnded(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	request := func(status scheduled.Status, change func(*scheduled.Request)) scheduled.Request {
		r := scheduled.Request{OrderID: "o-1", Event: "cancel", At: at, EndedAt: at.Add(time.Second), Status: status}
		change(&r)

		return r
	}

	got := ofEnded([]scheduled.Request{
		request(scheduled.Pending, func(*scheduled.Request) {}),
		request(scheduled.Applied, func(r *scheduled.Request) { r.TransitionID = 7 }),
		request(scheduled.Refused, func(r *scheduled.Request) { r.Verdict, r.Reason = transitions.WrongState, "the order is SHIPPED" }),
		request(scheduled.Refused, func(r *scheduled.Request) { r.Reason = "version 9 is not known" }),
		request(scheduled.Withdrawn, func(*scheduled.Request) {}),
	})

	var lines []string
	for _, m := range got {
		lines = append(lines, fmt.Sprintf("%s|%s|%s|%d", m.What, m.Why, m.Ref.Code, m.Ref.Transition))

		if !m.At.Equal(at.Add(time.Second)) || m.Kind != aboutScheduled || m.Ref.Event != "cancel" {
			t.Errorf("%+v", m)
		}
	}

	want := []string{
		"the request for cancel at 2026-03-01T12:00:00Z was applied: transition 7|||7",
		"the request for cancel at 2026-03-01T12:00:00Z was refused: WrongState|the order is SHIPPED|WrongState|0",
		"the request for cancel at 2026-03-01T12:00:00Z was refused|version 9 is not known||0",
		"the request for cancel at 2026-03-01T12:00:00Z was withdrawn|||0",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

// many answers with requests, and whether these are all.
type many struct {
	complete bool
	err      error
}

func (m many) OfOrder(context.Context, transitions.OrderID) ([]scheduled.Request, bool, error) {
	return []scheduled.Request{{Event: "cancel"}}, m.complete, m.err
}

// TestWhatIsNotReadOfRequestsForLaterIsSaid: an explanation that lacks some of them says so.
func TestWhatIsNotReadOfRequestsForLaterIsSaid(t *testing.T) {
	broken := errors.New("broken")
	order := &transitions.Order{ID: "o-1"}

	for _, row := range []struct {
		around Around
		found  int
		fails  bool
	}{
		{Around{}, 0, false},
		{Around{Scheduled: many{complete: true}}, 1, false},
		{Around{Scheduled: many{}}, 1, true},
		{Around{Scheduled: many{err: broken}}, 0, true},
	} {
		found, err := row.around.scheduledOf(t.Context(), order)
		if (row.fails != (err != nil)) || row.around.Scheduled != nil && err == nil && len(found) != row.found {
			t.Errorf("%+v: %v, %v", row.around, found, err)
		}
	}
}
