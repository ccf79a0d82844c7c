package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/shipping/httpcarrier"
	"ratchet/shipping/reports"
	"ratchet/workflow"
)

// scriptedCarrier answers every call with a status and a body.
type scriptedCarrier struct{ answer atomic.Value }

func (c *scriptedCarrier) set(status int, body string) { c.answer.Store([2]any{status, body}) }

// RoundTrip is part of http.RoundTripper.
func (c *scriptedCarrier) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := c.answer.Load().([2]any)
	header := http.Header{}
	header.Set("Location", "https://login.example")

	return &http.Response{StatusCode: answer[0].(int), Header: header, Body: io.NopCloser(strings.NewReader(answer[1].(string))), Request: r}, nil
}

// hasProblem reports whether the status of the whole system has a problem with the texts.
func hasProblem(t *testing.T, b *server.Backend, texts ...string) bool {
	t.Helper()

	status, err := b.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return slices.ContainsFunc(status.Problems, func(p inspect.SystemProblem) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(p.Text+p.Action, text) })
	})
}

// TestAnExpiredTokenOfTheCarrierIsAnOutage: 401, 403, 404 and a redirect without the carrier's code are no
// verdict on the order. The status names them within a minute; nothing becomes a dead letter, and the order
// is booked when the carrier answers. Then the carrier cancels the shipment by itself: its report, and what it
// says when it is asked, stand in front of a person, to decide about.
func TestAnExpiredTokenOfTheCarrierIsAnOutage(t *testing.T) {
	t.Parallel() // its engine and its clock are its own

	if testing.Short() {
		t.Skip("the race detector sees a carrier that refuses in TestAnOutageOfTheCarrierIsExplained")
	}

	dir := t.TempDir()

	synctest.Test(t, func(t *testing.T) {
		far := &scriptedCarrier{}
		far.set(http.StatusUnauthorized, `{"code":"expired_token"}`)

		carrier, err := httpcarrier.New(httpcarrier.Config{URL: "https://carrier.example", Transport: far})
		if err != nil {
			t.Fatal(err)
		}

		b, err := server.Embed(server.Config{Data: filepath.Join(dir, "data"), Notify: "none", Parts: server.Parts{Carrier: carrier}}, embeddedtest.Quiet(), server.Events{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()

		if err := b.Init(t.Context()); err != nil {
			t.Fatal(err)
		}

		m := &matrix{Backend: b, t: t}
		m.setMugs(10)

		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _ = b.Engine.Run(ctx) })
		group.Go(func() { _ = b.Run(ctx, "worker") })
		defer group.Wait()
		defer stop()

		m.begin(mug)
		m.moveFrom(mug.ID, workflow.PaymentReceived, "")
		time.Sleep(time.Minute)

		if !hasProblem(t, b, "handler shipping fails", "401") {
			t.Error("an expired token is not in the status after a minute")
		}

		for _, row := range []struct {
			status int
			text   string
		}{{http.StatusForbidden, "403"}, {http.StatusNotFound, "404"}, {http.StatusFound, "302"}} {
			far.set(row.status, "<html>")
			within(t, "the next try shows "+row.text, func() bool { return hasProblem(t, b, "handler shipping fails", row.text) })

			if hasProblem(t, b, "gave up") {
				t.Errorf("%d is no outage", row.status)
			}
		}

		far.set(http.StatusCreated, `{"status":"booked","tracking":"t-1"}`)
		within(t, "the booking", func() bool { return !hasProblem(t, b, "handler shipping") })

		order, _, err := b.Orders.Get(t.Context(), mug.ID)
		if err != nil {
			t.Fatal(err)
		}

		key := order.EffectKey(2, shipping.Effect)
		if booked, err := b.Booker.Booked(t.Context(), key, string(mug.ID)); err != nil || !booked || hasProblem(t, b, "handler shipping") {
			t.Fatalf("after the outage: booked %t, %v", booked, err)
		}

		canceledByCarrier(t, b, far, key)
	})
}

// canceledByCarrier has the carrier cancel a shipment by itself, by a report and in its answers.
func canceledByCarrier(t *testing.T, b *server.Backend, far *scriptedCarrier, key string) {
	t.Helper()

	canceled := shipping.Report{ID: "c-1", Shipment: key, OrderID: string(mug.ID), Milestone: shipping.Canceled}
	// The report is not believed before the carrier confirms it.
	if effect, err := b.Reports.Receive(t.Context(), canceled); err == nil && effect != reports.Waiting {
		t.Errorf("an unconfirmed cancellation: %s", effect)
	}

	far.set(http.StatusOK, `{"status":"canceled"}`)
	within(t, "the report needs a person", func() bool {
		status, err := b.Status(t.Context())

		return err == nil && status.ReportsAttention == 1
	})

	e, err := inspect.Explain(t.Context(), b.Orders, mug.ID)
	if err != nil {
		t.Fatal(err)
	}

	due, incomplete := e.Due(t.Context(), b.Around())
	if len(incomplete) > 0 || !slices.ContainsFunc(due, func(d inspect.Due) bool { return d.Report != "" && strings.Contains(d.Next, "book-again") }) {
		t.Errorf("due %+v, incomplete %v", due, incomplete)
	}

	// The carrier cancels what is booked then, too, and says so in its answer.
	if _, err := b.BookAgain(t.Context(), mug.ID); !errors.Is(err, shipping.ErrCanceledByCarrier) {
		t.Errorf("booked again: %v", err)
	}
}

// within waits up to half an hour of virtual time until the condition holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()

	for began := time.Now(); !holds(); time.Sleep(5 * time.Second) {
		if time.Since(began) > 30*time.Minute {
			t.Fatalf("not within half an hour: %s", what)
		}
	}
}
