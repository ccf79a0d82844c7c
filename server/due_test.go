package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// brokenCarrier books nothing while it is down.
type brokenCarrier struct{ down atomic.Bool }

func (c *brokenCarrier) Book(_ context.Context, key, _ string) (string, error) {
	if c.down.Load() {
		return "", errors.New("the carrier is down")
	}

	return "trk-" + key, nil
}

func (*brokenCarrier) Cancel(context.Context, string) (bool, error) { return false, nil }

// due returns the effects that are due for the order, and what its explanation advises.
func (s *stockedBackend) due(t *testing.T) (due []inspect.Due, advice string) {
	e, err := inspect.Explain(t.Context(), s.Orders, mug.ID)
	if err != nil {
		t.Fatal(err)
	}

	moments, due, incomplete := e.Timeline(t.Context(), s.Orders.Definition(), s.Around())
	for _, m := range moments {
		advice += m.Next + "\n"
	}

	if len(incomplete) > 0 {
		t.Errorf("incomplete: %v", incomplete)
	}

	return due, advice
}

// untilDue waits until an effect is due of which is holds.
func (s *stockedBackend) untilDue(t *testing.T, what string, is func(inspect.Due) bool) (found inspect.Due, advice string) {
	s.env.Wait(what, func() (bool, string, error) {
		var due []inspect.Due
		due, advice = s.due(t)

		i := slices.IndexFunc(due, is)
		if i >= 0 {
			found = due[i]
		}

		return i >= 0, fmt.Sprintf("%+v", due), nil
	})

	return found, advice
}

// TestAnOutageOfTheCarrierIsExplained: the explanation and the status name the handler, its error and its
// next try, no advice is to skip the booking, and after the outage the order goes its way.
func TestAnOutageOfTheCarrierIsExplained(t *testing.T) {
	carrier := &brokenCarrier{}
	carrier.down.Store(true)
	s := newStockedBackend(t, func(c *server.Config) { c.Parts.Carrier = carrier })
	s.env.Execute(mug)
	s.until(workflow.PaymentReceived)

	due, advice := s.untilDue(t, "the booking to be tried again", func(d inspect.Due) bool { return d.Handler == "shipping" && d.Attempts > 0 && d.Error != "" })
	if !strings.Contains(due.Error, "is down") || due.NextTry.IsZero() || due.Since.IsZero() || strings.Contains(advice, "apply o-1 ship") {
		t.Errorf("%+v, advice %q", due, advice)
	}

	for event, skips := range map[workflow.Event]bool{workflow.Ship: true, workflow.Cancel: false, workflow.Hold: false, workflow.Deliver: false} {
		if found, err := s.DueBefore(t.Context(), mug.ID, event, func(*transitions.Order) bool { return false }); err != nil || (len(found) > 0) != skips {
			t.Errorf("%s skips %+v, %v", event, found, err)
		}
	}

	if err := s.RetryQueue().Pause(t.Context(), "shipping"); err != nil {
		t.Fatal(err)
	}

	due, advice = s.untilDue(t, "the pause", func(d inspect.Due) bool { return d.Handler == "shipping" && !d.PausedAt.IsZero() })
	if !strings.Contains(due.What, "paused") || !strings.Contains(advice, "ratchet streams resume shipping") {
		t.Errorf("%+v, advice %q", due, advice)
	}

	status, err := s.Status(t.Context())
	if err != nil || !slices.ContainsFunc(status.Problems, func(p inspect.SystemProblem) bool {
		return strings.Contains(p.Text, "handler shipping is paused")
	}) {
		t.Errorf("problems %+v, %v", status.Problems, err)
	}

	carrier.down.Store(false)

	if err := s.RetryQueue().Resume(t.Context(), "shipping"); err != nil {
		t.Fatal(err)
	}

	s.env.Wait("the booking", func() (bool, string, error) {
		due, _ := s.due(t)

		return !slices.ContainsFunc(due, func(d inspect.Due) bool { return d.Handler == "shipping" }), fmt.Sprintf("%+v", due), nil
	})

	if found, err := s.DueBefore(t.Context(), mug.ID, workflow.Ship, func(*transitions.Order) bool { return false }); err != nil || len(found) > 0 {
		t.Errorf("after the booking ship skips %+v, %v", found, err)
	}
}
