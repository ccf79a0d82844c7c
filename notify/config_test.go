package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
)

// TestNewNamesEveryFieldThatBreaksARule.
func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	h := newDeliveryHarness(t)

	for want, edit := range map[string]func(*notify.Config){
		"Config.DynamoDB: must be set":                  func(c *notify.Config) { c.DynamoDB = nil },
		"Config.Table: must be set":                     func(c *notify.Config) { c.Table = "" },
		"Config.Endpoints: must be set":                 func(c *notify.Config) { c.Endpoints = nil },
		"Config.Open: must be set":                      func(c *notify.Config) { c.Open = nil },
		"Config.Timeout -1ns: must be more than 0":      func(c *notify.Config) { c.Timeout = -1 },
		"Config.DisableAfter -1ns: must be more than 0": func(c *notify.Config) { c.DisableAfter = -1 },
		"Config.LookEvery -1ns: must be more than 0":    func(c *notify.Config) { c.LookEvery = -1 },
		"Schedule: 1 to 63 pauses, got 0":               func(c *notify.Config) { c.Schedule = notify.Schedule{} },
		"Schedule: 1 to 63 pauses, got 64":              func(c *notify.Config) { c.Schedule = slices.Repeat(notify.Schedule{1}, 64) },
		"Schedule[1] 0s: must be more than 0":           func(c *notify.Config) { c.Schedule = notify.Schedule{1, 0} },
	} {
		cfg := h.config
		edit(&cfg)

		if d, err := notify.New(cfg); !errors.Is(err, notify.ErrInvalid) || !strings.Contains(err.Error(), want) || d != nil {
			t.Errorf("error %v, want %s", err, want)
		}
	}

	h.worker(func(c *notify.Config) { c.Schedule = slices.Repeat(notify.Schedule{1}, 63) })

	if _, err := notify.NewEndpoints(notify.EndpointsConfig{Configured: []notify.Endpoint{{ID: "a b"}}}); !errors.Is(err, notify.ErrInvalid) {
		t.Errorf("error %v", err)
	} else {
		for _, want := range []string{"EndpointsConfig.DynamoDB", "EndpointsConfig.Table", `EndpointsConfig.Configured[0]: invalid endpoint: id "a b"`, "destination: 1 to"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
	}
}

// closer is a far side that counts how often it is closed.
type closer struct {
	*farSide
	closed int
	err    error
}

func (c *closer) Close() error {
	c.closed++
	return c.err
}

// TestADestinationIsClosedOnce: when another one takes its place, or at the end. An error is returned.
func TestADestinationIsClosedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		var opened []*closer
		d := h.worker(func(c *notify.Config) {
			c.Open = func(notify.Endpoint) (notify.Destination, error) {
				opened = append(opened, &closer{farSide: h.at("shop"), err: errDown})
				return opened[len(opened)-1], nil
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		synctest.Wait()
		h.accept(d, notice("o-1", 2, "SHIPPED"), notice("o-2", 2, "SHIPPED"))

		if len(opened) != 1 {
			t.Fatalf("%d destinations are open", len(opened))
		}

		if _, err := h.endpoints.RotateSecret(t.Context(), "shop", nil, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * notify.RefreshEvery)
		h.accept(d, notice("o-3", 2, "SHIPPED"))

		if len(opened) != 2 || opened[0].closed != 1 || opened[1].closed != 0 {
			t.Errorf("after a change: %+v", opened)
		}
		stop()

		if err := <-ended; !errors.Is(err, errDown) || opened[1].closed != 1 {
			t.Errorf("run: %v, closed %d times", err, opened[1].closed)
		}

		if err := d.Close(); err != nil || opened[0].closed != 1 || opened[1].closed != 1 {
			t.Errorf("closed twice: %v", err)
		}
	})
}

// TestAWorkerSaysWhatItCouldNotStore, in its own log, and tells of each attempt.
func TestAWorkerSaysWhatItCouldNotStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(0, down)

		var log logged
		var attempts []string
		d := h.worker(func(c *notify.Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
			c.Schedule, c.DisableAfter = slices.Repeat(notify.Schedule{time.Minute}, 20), 10*time.Minute
			c.Events.Attempted = func(d notify.Delivery, _ time.Duration) {
				attempts = append(attempts, fmt.Sprint(d.ID(), " ", d.Attempts, " ", d.Status))
			}
		})
		defer h.run(d)()

		h.transport.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem").Next(1)) // the endpoint's failure
		h.accept(d, notice("o-1", 2, "SHIPPED"))
		synctest.Wait()

		if !strings.Contains(log.String(), "the state of an endpoint was not stored") || !slices.Equal(attempts, []string{"o-1/0/2/shop 1 PENDING"}) {
			t.Errorf("logged %s, attempts %q", &log, attempts)
		}
		log.Reset()

		h.transport.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem").From(2).Next(2)) // after the delivery was taken
		time.Sleep(2 * time.Minute)
		synctest.Wait()

		if !strings.Contains(log.String(), "the outcome of a delivery was not stored") {
			t.Errorf("logged %s", &log)
		}
		log.Reset()
		time.Sleep(30 * time.Minute)
		synctest.Wait()

		if n := strings.Count(log.String(), "an endpoint was disabled"); n != 1 || strings.Contains(log.String(), "not stored") {
			t.Errorf("logged %d times: %s", n, &log)
		}
	})
}

// logged holds a worker's log, for goroutines that write while the test reads.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.String()
}

func (l *logged) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.text.Reset()
}

// TestAnEndpointThatCouldNotBeDisabledIsLogged.
func TestAnEndpointThatCouldNotBeDisabledIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(0, func(notify.Message) (notify.Answer, error) { return notify.Answer{Status: 410}, notify.ErrGone })

		var log logged
		d := h.worker(func(c *notify.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		defer h.run(d)()
		h.transport.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem").Next(1))
		h.accept(d, notice("o-1", 2, "SHIPPED"))
		synctest.Wait()

		if text := log.String(); !strings.Contains(text, "the state of an endpoint was not stored") || strings.Contains(text, "was disabled") {
			t.Errorf("logged %s", text)
		}
	})
}

// TestAnEndpointThatIsQuickAgainCostsOneWrite: the newest attempt says whether it is slow.
func TestAnEndpointThatIsQuickAgainCostsOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(time.Second, nil)
		d := h.worker()
		defer h.run(d)()

		for i, writes := range []int{2, 2, 1} {
			h.transport.Reset()
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
			time.Sleep(2 * time.Second)
			synctest.Wait()

			if n := h.transport.Count("PutItem", "UpdateItem"); n != writes {
				t.Errorf("notification %d: %d writes, want %d", i, n, writes)
			}

			if i == 0 {
				far.set(10*time.Millisecond, nil)
			}
		}
	})
}

// TestWhatTheEndOfAWorkerCutsShortDoesNotCount, for the delivery or for its endpoint: another worker makes
// the attempt again. What succeeds in spite of the end counts.
func TestWhatTheEndOfAWorkerCutsShortDoesNotCount(t *testing.T) {
	for _, succeeds := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newDeliveryHarness(t)
			far := h.endpoint("shop")
			far.set(time.Hour, nil)

			d := h.worker(func(c *notify.Config) { c.DrainTimeout = time.Millisecond })
			if succeeds {
				d = h.worker(func(c *notify.Config) {
					c.DrainTimeout = time.Millisecond
					c.Open = func(notify.Endpoint) (notify.Destination, error) { return deaf{}, nil }
				})
			}
			stop := h.run(d)
			h.accept(d, notice("o-1", 2, "SHIPPED"))
			stop()

			got := h.get(d, "o-1/0/2/shop")
			if want := map[bool]notify.Status{false: notify.Pending, true: notify.Delivered}[succeeds]; got.Status != want || got.Error != "" || got.Attempts != 1 {
				t.Errorf("%+v, want %s", got, want)
			}

			if e, err := h.endpoints.Get(t.Context(), "shop"); err != nil || !e.FailingSince.IsZero() {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// deaf is a destination that takes two seconds, whatever its context says.
type deaf struct{}

func (deaf) Send(context.Context, notify.Message) (notify.Answer, error) {
	time.Sleep(2 * time.Second)
	return notify.Answer{Status: 200}, nil
}
