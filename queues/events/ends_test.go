package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"ratchet/once"
	"ratchet/queues"
	"ratchet/queues/events"
)

// brokenResults stores nothing.
type brokenResults struct{}

func (brokenResults) Put(context.Context, string, []byte, time.Time) error {
	return errors.New("s3: AccessDenied")
}

func (brokenResults) Get(context.Context, string) ([]byte, error) {
	return nil, once.ErrResultUnavailable
}

var errBusy = errors.New("busy")

// ends are the ways in which the first run ends, with what the second delivery or invocation hears, also under
// ExpiredIsUnknown: the outcome of its claim if it runs.
var ends = []struct {
	about          string
	run            func(ctx context.Context, leave func()) error
	config         func(*once.Config)
	heard, careful string
}{
	{about: "done", run: func(context.Context, func()) error { return nil }, heard: "done", careful: "done"},
	{about: "a final failure", run: func(context.Context, func()) error { return once.Fail("Closed", errBusy) }, heard: "failed", careful: "failed"},
	{about: "an error", run: func(context.Context, func()) error { return errBusy }, heard: "taken_over", careful: "taken_over"},
	{about: "no effect", run: func(context.Context, func()) error { return fmt.Errorf("charge: %w", once.NotBegun(errBusy)) }, heard: "acquired", careful: "acquired"},
	{about: "an ambiguous error", run: func(context.Context, func()) error { return fmt.Errorf("charge: %w", once.ErrAmbiguous) }, heard: "unknown", careful: "unknown"},
	{about: "cut off by its caller", run: func(ctx context.Context, leave func()) error {
		leave()
		<-ctx.Done()

		return ctx.Err()
	}, heard: "taken_over", careful: "unknown"},
	{about: "cut off by its lease", run: func(ctx context.Context, _ func()) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}, config: func(c *once.Config) { c.Lease = 50 * time.Millisecond }, heard: "taken_over", careful: "unknown"},
	{about: "a panic", run: func(context.Context, func()) error { panic("halfway") }, heard: "taken_over", careful: "unknown"},
	{about: "Goexit", run: func(context.Context, func()) error { runtime.Goexit(); return nil }, heard: "taken_over", careful: "unknown"},
}

// secondRun lets the first run end as the row says, and returns what the second one hears.
func secondRun(t *testing.T, run func(ctx context.Context, leave func()) error, call func(ctx context.Context, work func(ctx context.Context) error) string, clock *time.Time) string {
	t.Helper()

	ctx, leave := context.WithCancel(t.Context())
	defer leave()

	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		call(ctx, func(ctx context.Context) error { return run(ctx, leave) })
	}()
	<-done

	*clock = clock.Add(10 * time.Minute) // beyond the lease, in which the end may not have been stored

	outcome := ""
	heard := call(t.Context(), func(ctx context.Context) error {
		outcome = string(events.ClaimFrom(ctx).Outcome)
		return nil
	})

	if outcome != "" {
		return outcome
	}

	return heard
}

// What is known of a run decides about the next one, as the table of the package says.
func TestTheEndOfARunIsWhatTheNextOneHears(t *testing.T) {
	for _, row := range ends {
		for _, careful := range []bool{false, true} {
			want := row.heard
			if careful {
				want = row.careful
			}

			clock := time.Now()
			claims := newClaims(t, func(c *once.Config) {
				c.ExpiredIsUnknown, c.Now = careful, func() time.Time { return clock }
				if row.config != nil {
					row.config(c)
				}
			})

			got := secondRun(t, row.run, func(ctx context.Context, work func(context.Context) error) string {
				h := newHandle(t, events.Config{Claims: claims})
				h.do = func(ctx context.Context, _ queues.Message) queues.Outcome {
					var failure *once.Failure
					switch err := work(ctx); {
					case err == nil:
						return queues.Done()
					case errors.As(err, &failure):
						return queues.Reject(err)
					default:
						return queues.Retry(0, err)
					}
				}

				switch out := h.Handler(ctx, message("m")); out.Kind {
				case queues.KindDone:
					return "done"
				case queues.KindReject:
					return "failed"
				case queues.KindInProgress:
					return "unknown"
				default:
					return fmt.Sprint(out)
				}
			}, &clock)
			if got != want {
				t.Errorf("messages: %s, ExpiredIsUnknown %t: the next delivery hears %q, want %q", row.about, careful, got, want)
			}

			got = secondRun(t, row.run, func(ctx context.Context, work func(context.Context) error) string {
				fn, err := events.Function(events.FunctionConfig{Claims: claims, Key: func(json.RawMessage) (string, error) { return "f", nil }},
					func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage("1"), work(ctx)
					})
				if err != nil {
					t.Fatal(err)
				}

				var failure *once.Failure
				switch _, err := fn(ctx, json.RawMessage("{}")); {
				case err == nil:
					return "done"
				case errors.As(err, &failure):
					return "failed"
				case errors.Is(err, once.ErrUnknownOutcome):
					return "unknown"
				default:
					return err.Error()
				}
			}, &clock)
			if got != want {
				t.Errorf("functions: %s, ExpiredIsUnknown %t: the next invocation hears %q, want %q", row.about, careful, got, want)
			}
		}
	}
}

// A function whose result cannot be stored is done, and does not run again.
func TestAFunctionWhoseResultCannotBeStored(t *testing.T) {
	runs := 0

	fn, err := events.Function(events.FunctionConfig{
		Claims: newClaims(t, func(c *once.Config) { c.Results, c.Lease, c.Inline = brokenResults{}, time.Second, 16 }),
		Key:    func(json.RawMessage) (string, error) { return "f", nil },
	}, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		runs++
		return json.RawMessage(`"more than sixteen bytes"`), nil
	})
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if _, err := fn(t.Context(), json.RawMessage("{}")); !errors.Is(err, once.ErrResultUnavailable) || runs != 1 {
			t.Errorf("%v, %d runs", err, runs)
		}
	}
}
