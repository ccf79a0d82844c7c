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
	h := newDeliveryHarness(t)
	key := webhooks.NewSecret()
	settings := notify.Settings{Destination: "shop", Description: "one", Headers: map[string]string{"X-Shop": "1"}}

	first, err := h.endpoints.Create(t.Context(), "shop", settings, key)
	if err != nil || first.Status != notify.Active || first.Revision != 1 || first.CreatedAt.IsZero() || !first.UpdatedAt.Equal(first.CreatedAt) ||
		!slices.Equal(first.Secrets[0].Key, key) || first.Concurrency != 8 || first.Format != notify.Standard || first.Version != 1 {
		t.Fatalf("%+v, %v", first, err)
	}

	again, err := h.endpoints.Create(t.Context(), "shop", settings, key)
	if err != nil || again.CreatedAt.UnixMilli() != first.CreatedAt.UnixMilli() || again.Headers["X-Shop"] != "1" {
		t.Errorf("again: %+v, %v", again, err)
	}

	other := settings
	other.Description = "two"

	for name, try := range map[string]func() (notify.Endpoint, error){
		"another secret": func() (notify.Endpoint, error) {
			return h.endpoints.Create(t.Context(), "shop", settings, webhooks.NewSecret())
		},
		"a new secret":   func() (notify.Endpoint, error) { return h.endpoints.Create(t.Context(), "shop", settings, nil) },
		"other settings": func() (notify.Endpoint, error) { return h.endpoints.Create(t.Context(), "shop", other, key) },
	} {
		if e, err := try(); !errors.Is(err, notify.ErrExists) || !strings.Contains(err.Error(), "create endpoint shop") {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}

	second, err := h.endpoints.Create(t.Context(), "other", settings, nil)
	if err != nil || second.Secrets[0].Key.Validate() != nil || slices.Equal(second.Secrets[0].Key, key) {
		t.Errorf("without a secret: %+v, %v", second, err)
	}

	if got, err := h.endpoints.Get(t.Context(), "shop"); err != nil || got.Destination != "shop" || got.Headers["X-Shop"] != "1" || !slices.Equal(got.Secrets[0].Key, key) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWhatCannotBeStoredIsRefused, by its name.
func TestWhatCannotBeStoredIsRefused(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop")

	for want, try := range map[string]func() error{
		`id "a b": 1 to 64`: func() error {
			_, err := h.endpoints.Create(t.Context(), "a b", notify.Settings{Destination: "shop"}, nil)
			return err
		},
		"destination: 1 to 2048 bytes": func() error { _, err := h.endpoints.Create(t.Context(), "new", notify.Settings{}, nil); return err },
		"invalid endpoint: invalid webhook": func() error {
			_, err := h.endpoints.Create(t.Context(), "new", notify.Settings{Destination: "shop"}, webhooks.Secret("short"))
			return err
		},
		"version 9: 1 to 2": func() error {
			_, err := h.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Version = 9; return nil })
			return err
		},
		"window -1ns: 0 to 720h0m0s": func() error { _, err := h.endpoints.RotateSecret(t.Context(), "shop", nil, -1); return err },
		"window 720h0m0.000000001s: 0 to": func() error {
			_, err := h.endpoints.RotateSecret(t.Context(), "shop", nil, 720*time.Hour+1)
			return err
		},
		"reason: at most 256":           func() error { _, err := h.endpoints.Disable(t.Context(), "shop", strings.Repeat("r", 257)); return err },
		"reason: at most 256 printable": func() error { _, err := h.endpoints.Disable(t.Context(), "shop", "two\nlines"); return err },
	} {
		if err := try(); !errors.Is(err, notify.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}

	if _, err := h.endpoints.Disable(t.Context(), "shop", strings.Repeat("r", 256)); err != nil {
		t.Error(err)
	}

	if _, err := h.endpoints.RotateSecret(t.Context(), "shop", nil, 720*time.Hour); err != nil {
		t.Error(err)
	}

	refuses := errors.New("not this one")

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: h.db, Table: "endpoints", CheckDestination: func(e notify.Endpoint) error {
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
	h := newDeliveryHarness(t)
	h.endpoint("shop", func(s *notify.Settings) { s.Headers = map[string]string{"X-Shop": "1"} })

	changed, err := h.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error {
		s.Description, s.Concurrency, s.Headers = "changed", 0, nil
		return nil
	})
	if err != nil || changed.Description != "changed" || changed.Concurrency != 8 || changed.Headers != nil || changed.Revision != 2 || len(changed.Secrets) != 1 {
		t.Errorf("%+v, %v", changed, err)
	}
	key, began := webhooks.NewSecret(), time.Now().Add(-time.Millisecond)

	rotated, err := h.endpoints.RotateSecret(t.Context(), "shop", key, time.Hour)
	if err != nil || rotated.Revision != 3 || len(rotated.Secrets) != 2 || !slices.Equal(rotated.Secrets[0].Key, key) ||
		!rotated.Secrets[0].Until.IsZero() || rotated.Secrets[1].Until.Sub(began) < time.Hour || time.Until(rotated.Secrets[1].Until) > time.Hour {
		t.Errorf("%+v, %v", rotated, err)
	}

	rotated, err = h.endpoints.RotateSecret(t.Context(), "shop", nil, 0)
	if err != nil || len(rotated.Secrets) != 1 || slices.Equal(rotated.Secrets[0].Key, key) {
		t.Errorf("%+v, %v", rotated, err)
	}

	disabled, err := h.endpoints.Disable(t.Context(), "shop", "on holiday")
	if err != nil || disabled.Status != notify.Disabled || disabled.Reason != "on holiday" || disabled.DisabledAt.IsZero() || disabled.Revision != 4 {
		t.Errorf("%+v, %v", disabled, err)
	}

	enabled, err := h.endpoints.Enable(t.Context(), "shop")
	if err != nil || enabled.Status != notify.Active || enabled.Reason != "" || !enabled.DisabledAt.IsZero() || enabled.Description != "changed" {
		t.Errorf("%+v, %v", enabled, err)
	}

	if err := h.endpoints.Remove(t.Context(), "shop"); err != nil {
		t.Error(err)
	}

	for call, err := range map[string]error{
		"get":     second(h.endpoints.Get(t.Context(), "shop")),
		"change":  second(h.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return nil })),
		"rotate":  second(h.endpoints.RotateSecret(t.Context(), "shop", nil, 0)),
		"enable":  second(h.endpoints.Enable(t.Context(), "shop")),
		"disable": second(h.endpoints.Disable(t.Context(), "shop", "x")),
		"remove":  h.endpoints.Remove(t.Context(), "shop"),
	} {
		if !errors.Is(err, notify.ErrNotFound) || !strings.Contains(err.Error(), "endpoint shop") {
			t.Errorf("%s: %v", call, err)
		}
	}

	if all, err := h.endpoints.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("what was removed is back: %+v, %v", all, err)
	}
}

func second(_ notify.Endpoint, err error) error { return err }

// TestAConfiguredEndpointHasOnlyItsStatus in the table. The list begins with those, the others follow by id.
func TestAConfiguredEndpointHasOnlyItsStatus(t *testing.T) {
	h := newDeliveryHarness(t, notify.Endpoint{ID: "own", Settings: notify.Settings{Destination: "own"}})
	h.endpoint("b")
	h.endpoint("a")

	for call, err := range map[string]error{
		"change": second(h.endpoints.Change(t.Context(), "own", func(*notify.Settings) error { return nil })),
		"rotate": second(h.endpoints.RotateSecret(t.Context(), "own", nil, 0)),
		"remove": h.endpoints.Remove(t.Context(), "own"),
	} {
		if !errors.Is(err, notify.ErrConfigured) || !strings.Contains(err.Error(), "endpoint own") {
			t.Errorf("%s: %v", call, err)
		}
	}

	if _, err := h.endpoints.Create(t.Context(), "own", notify.Settings{Destination: "x"}, nil); !errors.Is(err, notify.ErrExists) {
		t.Errorf("create: %v", err)
	}

	disabled, err := h.endpoints.Disable(t.Context(), "own", "on holiday")
	if err != nil || disabled.Status != notify.Disabled || disabled.Destination != "own" || !disabled.Configured || disabled.Concurrency != 8 {
		t.Errorf("%+v, %v", disabled, err)
	}

	got, err := h.endpoints.Get(t.Context(), "own")
	if err != nil || got.Status != notify.Disabled || got.Reason != "on holiday" || got.Destination != "own" {
		t.Errorf("%+v, %v", got, err)
	}

	all, err := h.endpoints.List(t.Context())
	if err != nil || len(all) != 3 || all[0].ID != "own" || all[0].Status != notify.Disabled || all[1].ID != "a" || all[2].ID != "b" {
		t.Errorf("%+v, %v", all, err)
	}

	// It is not configured any more.
	if all, err := h.newEndpoints().List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAChangeThatOthersMakeMeanwhileIsRepeated, and is given up after five of them.
func TestAChangeThatOthersMakeMeanwhileIsRepeated(t *testing.T) {
	for others, want := range map[int]error{1: nil, 4: nil, 5: notify.ErrContended} {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		called := 0

		changed, err := h.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error {
			if called++; called <= others {
				if _, err := h.newEndpoints().Change(t.Context(), "shop", func(s *notify.Settings) error { s.Subject += "x"; return nil }); err != nil {
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
	h := newDeliveryHarness(t)
	h.endpoint("shop")
	d := h.worker()
	h.accept(d, notice("o-1", 2, "SHIPPED"))

	for name, call := range map[string]func() error{
		"list": func() error { _, err := h.endpoints.List(t.Context()); return err },
		"get":  func() error { return second(h.endpoints.Get(t.Context(), "shop")) },
		"create": func() error {
			return second(h.endpoints.Create(t.Context(), "new", notify.Settings{Destination: "x"}, nil))
		},
		"change": func() error {
			return second(h.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return nil }))
		},
		"disable":  func() error { return second(h.endpoints.Disable(t.Context(), "shop", "x")) },
		"enable":   func() error { return second(h.endpoints.Enable(t.Context(), "shop")) },
		"test":     func() error { _, err := d.Test(t.Context(), "shop"); return err },
		"of order": func() error { _, err := d.OfOrder(t.Context(), "o-1"); return err },
		"delivery": func() error { _, err := d.Get(t.Context(), "o-1/0/2/shop"); return err },
		"scan":     func() error { return d.Scan(t.Context(), func(notify.Delivery) bool { return true }) },
		"deliveries": func() error {
			_, _, err := d.List(t.Context(), "shop", notify.Pending, time.Time{}, "", 10)
			return err
		},
		"accept": func() error { return h.worker().Accept(t.Context(), notice("o-2", 2, "SHIPPED")) },
		"erase":  func() error { _, err := d.Erase(t.Context(), "o-1"); return err },
		"remove": func() error { return h.endpoints.Remove(t.Context(), "shop") },
	} {
		broken := h.transport.Inject(embeddedtest.Answer("AccessDeniedException"))
		h.config.Endpoints = h.newEndpoints() // which has read nothing yet

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
	h := newDeliveryHarness(t, configured...)
	h.endpoint("last")

	if _, err := h.endpoints.Create(t.Context(), "one-more", notify.Settings{Destination: "x"}, nil); !errors.Is(err, notify.ErrTooMany) || !strings.Contains(err.Error(), "1000 endpoints") {
		t.Errorf("error %v", err)
	}
}

// TestAWorkerHearsOfAChange: at once if it was made by way of its own Endpoints, else after a while.
func TestAWorkerHearsOfAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		d := h.worker()
		defer h.run(d)()

		n := int64(1)
		arrives := func(want bool) {
			t.Helper()

			before := len(far.keys())
			n++
			h.accept(d, notice("o-1", n, "SHIPPED"))

			if got := len(far.keys()) > before; got != want {
				t.Errorf("notification %d arrives: %t, want %t", n, got, want)
			}
		}
		arrives(true)

		filter := func(s *notify.Settings) error { s.Filter.Events = []workflow.Event{"other"}; return nil }
		if _, err := h.endpoints.Change(t.Context(), "shop", filter); err != nil {
			t.Fatal(err)
		}
		arrives(false)

		all := func(s *notify.Settings) error { s.Filter.Events = nil; return nil }
		if _, err := h.newEndpoints().Change(t.Context(), "shop", all); err != nil {
			t.Fatal(err)
		}
		arrives(false)
		time.Sleep(notify.RefreshEvery)
		arrives(true)

		if err := h.endpoints.Remove(context.Background(), "shop"); err != nil {
			t.Fatal(err)
		}
		arrives(false)
		h.endpoint("shop")
		arrives(true)
	})
}

// TestAWriteThatFailsChangesNoEndpoint.
func TestAWriteThatFailsChangesNoEndpoint(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop")

	for operation, call := range map[string]func() (notify.Endpoint, error){
		"TransactWriteItems": func() (notify.Endpoint, error) {
			return h.endpoints.Create(t.Context(), "new", notify.Settings{Destination: "x"}, nil)
		},
		"UpdateItem": func() (notify.Endpoint, error) {
			return h.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Description = "changed"; return nil })
		},
	} {
		broken := h.transport.Inject(embeddedtest.Answer("AccessDeniedException", operation))

		if e, err := call(); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s fails: %+v, %v", operation, e, err)
		}
		broken.Remove()
	}

	if all, err := h.endpoints.List(t.Context()); err != nil || len(all) != 1 || all[0].Description != "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAnItemThatCannotBeReadIsNoEndpoint: nothing is done to it.
func TestAnItemThatCannotBeReadIsNoEndpoint(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop")

	update := dynamo.NewUpdate("endpoints", dynamo.Item{"endpointId": dynamo.S("shop")}).SetValue("settings", dynamo.S("{"))
	if _, err := h.db.UpdateItem(t.Context(), update.Input()); err != nil {
		t.Fatal(err)
	}

	_, get := h.endpoints.Get(t.Context(), "shop")
	_, enable := h.endpoints.Enable(t.Context(), "shop")

	for call, err := range map[string]error{"get": get, "enable": enable} {
		if err == nil || !strings.Contains(err.Error(), "endpoint shop: its settings are not JSON") {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestAnEndpointSaysWhenItWasChanged: its settings or its secret.
func TestAnEndpointSaysWhenItWasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		time.Sleep(time.Hour)

		e, err := h.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return nil })
		if err != nil || e.UpdatedAt.Sub(e.CreatedAt) != time.Hour {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// TestAnEndpointThatIsConfiguredLaterIsListedOnce, as the configuration says.
func TestAnEndpointThatIsConfiguredLaterIsListedOnce(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop")

	endpoints := h.newEndpoints(notify.Endpoint{ID: "shop", Settings: notify.Settings{Destination: "configured"}})
	if all, err := endpoints.List(t.Context()); err != nil || len(all) != 1 || all[0].Destination != "configured" {
		t.Errorf("%+v, %v", all, err)
	}
}

// A call whose answer was lost recognizes its own edit: it makes it once, and the former secret stays.
func TestAnEditWithALostAnswerIsMadeOnce(t *testing.T) {
	for about, others := range map[string]bool{"nobody else": false, "another caller edits meanwhile": true} {
		h := newDeliveryHarness(t)
		h.endpoint("shop", func(*notify.Settings) {})

		before, err := h.endpoints.Get(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}

		other := false
		lose := func(operation string) {
			h.transport.Clear()
			h.transport.Inject(embeddedtest.LoseAnswer(operation).Next(1))
			h.transport.Before(func(c *embeddedtest.Call) error {
				if others && !other && c.Is("UpdateItem") && h.transport.Count("UpdateItem") > 1 {
					other = true
					return second(h.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Description = "others"; return nil }))
				}

				return nil
			})
			h.transport.Reset()
		}

		lose("UpdateItem")
		key := webhooks.NewSecret()

		rotated, err := h.endpoints.RotateSecret(t.Context(), "shop", key, time.Hour)
		if err != nil || len(rotated.Secrets) != 2 || !slices.Equal(rotated.Secrets[0].Key, key) || !slices.Equal(rotated.Secrets[1].Key, before.Secrets[0].Key) {
			t.Errorf("%s: %+v, %v", about, rotated, err)
		}

		if others != other {
			t.Errorf("%s: edited by others: %t", about, other)
		}

		times := 0
		lose("UpdateItem")

		if _, err := h.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { times++; return nil }); err != nil || !others && times != 1 {
			t.Errorf("%s: changed %d times, %v", about, times, err)
		}

		lose("PutItem")

		if err := h.endpoints.Remove(t.Context(), "shop"); err != nil {
			t.Errorf("%s: remove: %v", about, err)
		}
	}
}

// After an edit without an answer, no refusal says that it was not made.
func TestAnEditWithoutAnAnswerIsUnknown(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop", func(*notify.Settings) {})

	for name, edit := range map[string]func() error{
		"rotate": func() error { return second(h.endpoints.RotateSecret(t.Context(), "shop", nil, time.Hour)) },
		"change": func() error {
			return second(h.endpoints.Change(t.Context(), "shop", func(*notify.Settings) error { return nil }))
		},
		"remove": func() error { return h.endpoints.Remove(t.Context(), "shop") },
	} {
		n := 0
		h.transport.Before(func(c *embeddedtest.Call) error {
			if n++; !c.Is("UpdateItem", "PutItem") {
				n = 0
			} else if n > 1 {
				return &embeddedtest.Error{Code: "AccessDeniedException"}
			}

			return nil
		})
		h.transport.Inject(embeddedtest.LoseRequest("UpdateItem", "PutItem").Next(1))

		if err := edit(); !errors.Is(err, dynamo.ErrUnanswered) {
			t.Errorf("%s: %v", name, err)
		}
		h.transport.Clear()
	}
}
