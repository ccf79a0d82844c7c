package server_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestTimeExpiresOrdersThatAreNotPaid: a worker expires an order within a minute after its time, in virtual time, and leaves one
// that is held.
func TestTimeExpiresOrdersThatAreNotPaid(t *testing.T) {
	dir := t.TempDir()

	synctest.Test(t, func(t *testing.T) {
		b, err := server.Embed(server.Config{Data: filepath.Join(dir, "data"), Notify: "none", ExpireUnpaid: 2 * time.Minute}, embeddedtest.Quiet(), server.Events{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()

		if err := b.Init(t.Context()); err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _ = b.Engine.Run(ctx) })
		group.Go(func() {
			if err := b.Run(ctx, "w", server.PartStream, server.PartSweeps); err != nil {
				t.Error(err)
			}
		})

		defer group.Wait()
		defer stop()

		time.Sleep(time.Second)

		if state, err := b.Timers.State(t.Context()); err != nil || state.Missing != "" || state.Since.IsZero() {
			t.Errorf("before the first order: %+v, %v", state, err)
		}

		for _, id := range []transitions.OrderID{"late", "held"} {
			if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}}); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := b.Orders.Apply(t.Context(), transitions.Request{OrderID: "held", Event: workflow.Hold, TransitionID: 2}); err != nil {
			t.Fatal(err)
		}

		for _, step := range []struct {
			wait time.Duration
			want workflow.State
		}{{119 * time.Second, workflow.Pending}, {61 * time.Second, workflow.Expired}} {
			time.Sleep(step.wait)

			order, _, err := b.Orders.Get(t.Context(), "late")
			if err != nil || order.State != step.want {
				t.Errorf("after %s: %+v, %v", step.wait, order, err)
			}
		}

		order, _, err := b.Orders.Get(t.Context(), "late")
		if err != nil || order.Cause.Code != transitions.CodeTime || order.TransitionID != 2 {
			t.Errorf("%+v, %v", order.Cause, err)
		}

		if held, _, err := b.Orders.Get(t.Context(), "held"); err != nil || held.State != workflow.OnHold {
			t.Errorf("%+v, %v", held, err)
		}
	})
}

// Terms are those of the built-in shop.
func TestTermsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*server.Config){
		"expire-unpaid 1s":    func(c *server.Config) { c.ExpireUnpaid = time.Second },
		"return-window 9000h": func(c *server.Config) { c.ReturnWindow = 9000 * time.Hour },
		"another definition":  func(c *server.Config) { c.ReturnWindow, c.OrderDefinition = time.Hour, "definition.yaml" },
	} {
		c := server.Config{}.WithDefaults()
		c.WebhookReach = "public"

		if change(&c); c.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
