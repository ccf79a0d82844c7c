package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/workflow"
)

// TestAnEndpointIsCreatedOnce: a repeat with the same secret and settings is the same creation, anything else
// finds the id taken.
func TestAnEndpointIsCreatedOnce(t *testing.T) {
	w := newWorld(t)
	key := webhooks.NewSecret()
	settings := notify.Settings{Destination: "shop", Description: "one", Headers: map[string]string{"X-Shop": "1"}}

	first, err := w.endpoints.Create(t.Context(), "shop", settings, key)
	if err != nil || first.Status != notify.Active || first.Revision != 1 || first.CreatedAt.IsZero() || !first.UpdatedAt.Equal(first.CreatedAt) ||
		!slices.Equal(first.Secrets[0].Key, key) || first.Concurrency != 8 || first.Format != notify.Standard || first.Version != 1 {
		t.Fatalf("%+v, %v", first, err)
	}

	again, err := w.endpoints.Create(t.Context(), "shop", settings, key)
	if err != nil || again.CreatedAt.UnixMilli() != first.CreatedAt.UnixMilli() || again.Headers["X-Shop"] != "1" {
		t.Errorf("again: %+v, %v", again, err)
	}

	other := settings
	other.Description = "two"

	for name, try := range map[string]func() (notify.Endpoint, error){
		"another secret": func() (notify.Endpoint, error) {
			return w.endpoints.Create(t.Context(), "shop", settings, webhooks.NewSecret())
		},
		"a new secret":   func() (notify.Endpoint, error) { return w.endpoints.Create(t.Context(), "shop", settings, nil) },
		"other settings": func() (notify.Endpoint, error) { return w.endpoints.Create(t.Context(), "shop", other, key) },
	} {
		if e, err := try(); !errors.Is(err, notify.ErrExists) || !strings.Contains(err.Error(), "create endpoint shop") {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}

	second, err := w.endpoints.Create(t.Context(), "other", settings, nil)
	if err != nil || second.Secrets[0].Key.Validate() != nil || slices.Equal(second.Secrets[0].Key, key) {
		t.Errorf("without a secret: %+v, %v", second, err)
	}

	if got, err := w.endpoints.Get(t.Context(), "shop"); err != nil || got.Destination != "shop" || got.Headers["X-Shop"] != "1" || !slices.Equal(got.Secrets[0].Key, key) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWhatCannotBeStoredIsRefused, by its name.
func TestWhatCannotBeStoredIsRefused(t *testing.T) {
	w := newWorld(t)
	w.endpoint("shop")

	for want, try := range map[string]func() error{
		`id "a b": 1 to 64`: func() error {
			_, err := w.endpoints.Create(t.Context(), "a b", notify.Settings{Destination: "shop"}, nil)
			return err
		},
		"destination: 1 to 2048 bytes": func() error { _, err := w.endpoints.Create(t.Context(), "new", notify.Settings{}, nil); return err },
		"invalid endpoint: invalid webhook": func() error {
			_, err := w.endpoints.Create(t.Context(), "new", notify.Settings{Destination: "shop"}, webhooks.Secret("short"))
			return err
		},
		"version 9: 1 to 2": func() error {
			_, err := w.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Version = 9; return nil })
			return err
		},
		"window -1ns: 0 to 720h0m0s": func() error { _, err := w.endpoints.RotateSecret(t.Context(), "shop", nil, -1); return err },
		"window 720h0m0.000000001s: 0 to": func() error {
			_, err := w.endpoints.RotateSecret(t.Context(), "shop", nil, 720*time.Hour+1)
			return err
		},
		"reason: at most 256":           func() error { _, err := w.endpoints.Disable(t.Context(), "shop", strings.Repeat("r", 257)); return err },
		"reason: at most 256 printable": func() error { _, err := w.endpoints.Disable(t.Context(), "shop", "two\nlines"); return err },
	} {
		if err := try(); !errors.Is(err, notify.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}

	if _, err := w.endpoints.Disable(t.Context(), "shop", strings.Repeat("r", 256)); err != nil {
		t.Error(err)
	}

	if _, err := w.endpoints.RotateSecret(t.Context(), "shop", nil, 720*time.Hour); err != nil {
		t.Error(err)
	}

	refuses := errors.New("not this one")

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: w.db, Table: "endpoints", CheckDestination: func(e notify.Endpoint) error {
		if e.Destination == "forbidden" {
			return refuses
		}

		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := endpoints.Create(t.Context(), "new", notify.Settings{Destination: "forbidden"}, nil); !errors.Is(err, refuses) {
		t.Errorf("error %v", err)
	}

	if _, err := endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return refuses }); !errors.Is(err, refuses) {
		t.Errorf("error %v", err)
	}
}

// TestAnEndpointIsChanged: its settings and its secret, each of which counts as a revision; its status does not.
func TestAnEndpointIsChanged(t *testing.T) {
	w := newWorld(t)
	w.endpoint("shop", func(s *notify.Settings) { s.Headers = map[string]string{"X-Shop": "1"} })

	changed, err := w.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error {
		s.Description, s.Concurrency, s.Headers = "changed", 0, nil
		return nil
	})
	if err != nil || changed.Description != "changed" || changed.Concurrency != 8 || changed.Headers != nil || changed.Revision != 2 || len(changed.Secrets) != 1 {
		t.Errorf("%+v, %v", changed, err)
	}
	key, began := webhooks.NewSecret(), time.Now().Add(-time.Millisecond)

	rotated, err := w.endpoints.RotateSecret(t.Context(), "shop", key, time.Hour)
	if err != nil || rotated.Revision != 3 || len(rotated.Secrets) != 2 || !slices.Equal(rotated.Secrets[0].Key, key) ||
		!rotated.Secrets[0].Until.IsZero() || rotated.Secrets[1].Until.Sub(began) < time.Hour || time.Until(rotated.Secrets[1].Until) > time.Hour {
		t.Errorf("%+v, %v", rotated, err)
	}

	rotated, err = w.endpoints.RotateSecret(t.Context(), "shop", nil, 0)
	if err != nil || len(rotated.Secrets) != 1 || slices.Equal(rotated.Secrets[0].Key, key) {
		t.Errorf("%+v, %v", rotated, err)
	}

	disabled, err := w.endpoints.Disable(t.Context(), "shop", "on holiday")
	if err != nil || disabled.Status != notify.Disabled || disabled.Reason != "on holiday" || disabled.DisabledAt.IsZero() || disabled.Revision != 4 {
		t.Errorf("%+v, %v", disabled, err)
	}

	enabled, err := w.endpoints.Enable(t.Context(), "shop")
	if err != nil || enabled.Status != notify.Active || enabled.Reason != "" || !enabled.DisabledAt.IsZero() || enabled.Description != "changed" {
		t.Errorf("%+v, %v", enabled, err)
	}

	if err := w.endpoints.Remove(t.Context(), "shop"); err != nil {
		t.Error(err)
	}

	for call, err := range map[string]error{
		"get":     second(w.endpoints.Get(t.Context(), "shop")),
		"change":  second(w.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return nil })),
		"rotate":  second(w.endpoints.RotateSecret(t.Context(), "shop", nil, 0)),
		"enable":  second(w.endpoints.Enable(t.Context(), "shop")),
		"disable": second(w.endpoints.Disable(t.Context(), "shop", "x")),
		"remove":  w.endpoints.Remove(t.Context(), "shop"),
	} {
		if !errors.Is(err, notify.ErrNotFound) || !strings.Contains(err.Error(), "endpoint shop") {
			t.Errorf("%s: %v", call, err)
		}
	}

	if all, err := w.endpoints.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("what was removed is back: %+v, %v", all, err)
	}
}

func second(_ notify.Endpoint, err error) error { return err }

// TestAConfiguredEndpointHasOnlyItsStatus in the table. The list begins with those, the others follow by id.
func TestAConfiguredEndpointHasOnlyItsStatus(t *testing.T) {
	w := newWorld(t, notify.Endpoint{ID: "own", Settings: notify.Settings{Destination: "own"}})
	w.endpoint("b")
	w.endpoint("a")

	for call, err := range map[string]error{
		"change": second(w.endpoints.Change(t.Context(), "own", func(*notify.Settings) error { return nil })),
		"rotate": second(w.endpoints.RotateSecret(t.Context(), "own", nil, 0)),
		"remove": w.endpoints.Remove(t.Context(), "own"),
	} {
		if !errors.Is(err, notify.ErrConfigured) || !strings.Contains(err.Error(), "endpoint own") {
			t.Errorf("%s: %v", call, err)
		}
	}

	if _, err := w.endpoints.Create(t.Context(), "own", notify.Settings{Destination: "x"}, nil); !errors.Is(err, notify.ErrExists) {
		t.Errorf("create: %v", err)
	}

	disabled, err := w.endpoints.Disable(t.Context(), "own", "on holiday")
	if err != nil || disabled.Status != notify.Disabled || disabled.Destination != "own" || !disabled.Configured || disabled.Concurrency != 8 {
		t.Errorf("%+v, %v", disabled, err)
	}

	got, err := w.endpoints.Get(t.Context(), "own")
	if err != nil || got.Status != notify.Disabled || got.Reason != "on holiday" || got.Destination != "own" {
		t.Errorf("%+v, %v", got, err)
	}

	all, err := w.endpoints.List(t.Context())
	if err != nil || len(all) != 3 || all[0].ID != "own" || all[0].Status != notify.Disabled || all[1].ID != "a" || all[2].ID != "b" {
		t.Errorf("%+v, %v", all, err)
	}

	// It is not configured any more.
	if all, err := w.newEndpoints().List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAChangeThatOthersMakeMeanwhileIsRepeated, and is given up after five of them.
func TestAChangeThatOthersMakeMeanwhileIsRepeated(t *testing.T) {
	for others, want := range map[int]error{1: nil, 4: nil, 5: notify.ErrContended} {
		w := newWorld(t)
		w.endpoint("shop")
		called := 0

		changed, err := w.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error {
			if called++; called <= others {
				if _, err := w.newEndpoints().Change(t.Context(), "shop", func(s *notify.Settings) error { s.Subject += "x"; return nil }); err != nil {
					t.Error(err)
				}
			}
			s.Description = "mine"

			return nil
		})
		if !errors.Is(err, want) || want == nil && (changed.Description != "mine" || changed.Subject != strings.Repeat("x", others)) {
			t.Errorf("%d others: %+v, %v", others, changed, err)
		}
	}
}

// TestNoFailureIsTakenForAnEndpoint, or for none.
func TestNoFailureIsTakenForAnEndpoint(t *testing.T) {
	w := newWorld(t)
	w.endpoint("shop")
	d := w.worker()
	w.accept(d, notice("o-1", 2, "SHIPPED"))

	for name, call := range map[string]func() error{
		"list": func() error { _, err := w.endpoints.List(t.Context()); return err },
		"get":  func() error { return second(w.endpoints.Get(t.Context(), "shop")) },
		"create": func() error {
			return second(w.endpoints.Create(t.Context(), "new", notify.Settings{Destination: "x"}, nil))
		},
		"change": func() error {
			return second(w.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return nil }))
		},
		"disable":  func() error { return second(w.endpoints.Disable(t.Context(), "shop", "x")) },
		"enable":   func() error { return second(w.endpoints.Enable(t.Context(), "shop")) },
		"test":     func() error { _, err := d.Test(t.Context(), "shop"); return err },
		"of order": func() error { _, err := d.OfOrder(t.Context(), "o-1"); return err },
		"delivery": func() error { _, err := d.Get(t.Context(), "o-1/2/shop"); return err },
		"scan":     func() error { return d.Scan(t.Context(), func(notify.Delivery) bool { return true }) },
		"deliveries": func() error {
			_, _, err := d.List(t.Context(), "shop", notify.Pending, time.Time{}, "", 10)
			return err
		},
		"missed": func() error { _, err := d.RedeliverMissed(t.Context(), "shop", time.Time{}, 1); return err },
		"accept": func() error { return w.worker().Accept(t.Context(), notice("o-2", 2, "SHIPPED")) },
		"erase":  func() error { _, err := d.Erase(t.Context(), "o-1"); return err },
		"remove": func() error { return w.endpoints.Remove(t.Context(), "shop") },
	} {
		broken := w.transport.Inject(embeddedtest.Answer("AccessDeniedException"))
		w.config.Endpoints = w.newEndpoints() // which has read nothing yet

		if err := call(); err == nil || !strings.Contains(err.Error(), "AccessDenied") || errors.Is(err, notify.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		broken.Remove()
	}
}

// TestThereAreNoMoreEndpointsThanMayBe.
func TestThereAreNoMoreEndpointsThanMayBe(t *testing.T) {
	var configured []notify.Endpoint
	for i := range notify.MaxEndpoints - 1 {
		configured = append(configured, notify.Endpoint{ID: fmt.Sprint("e-", i), Settings: notify.Settings{Destination: "x"}})
	}
	w := newWorld(t, configured...)
	w.endpoint("last")

	if _, err := w.endpoints.Create(t.Context(), "one-more", notify.Settings{Destination: "x"}, nil); !errors.Is(err, notify.ErrTooMany) || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("error %v", err)
	}
}

// TestAWorkerHearsOfAChange: at once if it was made by way of its own Endpoints, else after a while.
func TestAWorkerHearsOfAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		far := w.endpoint("shop")
		d := w.worker()
		defer w.run(d)()

		n := int64(1)
		arrives := func(want bool) {
			t.Helper()

			before := len(far.keys())
			n++
			w.accept(d, notice("o-1", n, "SHIPPED"))

			if got := len(far.keys()) > before; got != want {
				t.Errorf("notification %d arrives: %t, want %t", n, got, want)
			}
		}
		arrives(true)

		filter := func(s *notify.Settings) error { s.Filter.Events = []workflow.Event{"other"}; return nil }
		if _, err := w.endpoints.Change(t.Context(), "shop", filter); err != nil {
			t.Fatal(err)
		}
		arrives(false)

		all := func(s *notify.Settings) error { s.Filter.Events = nil; return nil }
		if _, err := w.newEndpoints().Change(t.Context(), "shop", all); err != nil {
			t.Fatal(err)
		}
		arrives(false)
		time.Sleep(notify.RefreshEvery)
		arrives(true)

		if err := w.endpoints.Remove(context.Background(), "shop"); err != nil {
			t.Fatal(err)
		}
		arrives(false)
		w.endpoint("shop")
		arrives(true)
	})
}

// TestAWriteThatFailsChangesNoEndpoint.
func TestAWriteThatFailsChangesNoEndpoint(t *testing.T) {
	w := newWorld(t)
	w.endpoint("shop")

	for operation, call := range map[string]func() (notify.Endpoint, error){
		"PutItem": func() (notify.Endpoint, error) {
			return w.endpoints.Create(t.Context(), "new", notify.Settings{Destination: "x"}, nil)
		},
		"UpdateItem": func() (notify.Endpoint, error) {
			return w.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Description = "changed"; return nil })
		},
	} {
		broken := w.transport.Inject(embeddedtest.Answer("AccessDeniedException", operation))

		if e, err := call(); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s fails: %+v, %v", operation, e, err)
		}
		broken.Remove()
	}

	if all, err := w.endpoints.List(t.Context()); err != nil || len(all) != 1 || all[0].Description != "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAnItemThatCannotBeReadIsNoEndpoint: a list fails, because it would not be complete.
func TestAnItemThatCannotBeReadIsNoEndpoint(t *testing.T) {
	w := newWorld(t)
	w.endpoint("shop")

	update := dynamo.NewUpdate("endpoints", dynamo.Item{"endpointId": dynamo.S("shop")}).SetValue("settings", dynamo.S("{"))
	if _, err := w.db.UpdateItem(t.Context(), update.Input()); err != nil {
		t.Fatal(err)
	}

	_, list := w.endpoints.List(t.Context())
	_, get := w.endpoints.Get(t.Context(), "shop")
	_, enable := w.endpoints.Enable(t.Context(), "shop")

	for call, err := range map[string]error{"list": list, "get": get, "enable": enable} {
		if err == nil || !strings.Contains(err.Error(), "endpoint shop: its settings are not JSON") {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestAnEndpointSaysWhenItWasChanged: its settings or its secret.
func TestAnEndpointSaysWhenItWasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.endpoint("shop")
		time.Sleep(time.Hour)

		e, err := w.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return nil })
		if err != nil || e.UpdatedAt.Sub(e.CreatedAt) != time.Hour {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// TestAnEndpointThatIsConfiguredLaterIsListedOnce, as the configuration says.
func TestAnEndpointThatIsConfiguredLaterIsListedOnce(t *testing.T) {
	w := newWorld(t)
	w.endpoint("shop")

	endpoints := w.newEndpoints(notify.Endpoint{ID: "shop", Settings: notify.Settings{Destination: "configured"}})
	if all, err := endpoints.List(t.Context()); err != nil || len(all) != 1 || all[0].Destination != "configured" {
		t.Errorf("%+v, %v", all, err)
	}
}
