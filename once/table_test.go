package once_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// brokenResults stores nothing.
type brokenResults struct{}

func (brokenResults) Put(context.Context, string, []byte, time.Time) error {
	return errors.New("s3: AccessDenied")
}

func (brokenResults) Get(context.Context, string) ([]byte, error) {
	return nil, once.ErrResultUnavailable
}

// heardAs is what the next caller hears, in a word.
func heardAs(claim *once.Claim, err error) string {
	var failure *once.Failure
	switch {
	case err == nil:
		return string(claim.Outcome)
	case errors.As(err, &failure):
		return "failure"
	case errors.Is(err, once.ErrUnknownOutcome):
		return "unknown"
	case errors.Is(err, once.ErrResultUnavailable):
		return "result not available"
	}

	return err.Error()
}

// ends are the ways in which work ends, with what the next caller hears: also under ExpiredIsUnknown. The table
// is the one of docs/guides/patterns/claims-ends.md and of Claims.Do.
var ends = []struct {
	about          string
	work           func(ctx context.Context, w *watchedClaims, leave func()) ([]byte, error)
	heard, careful string
	config         func(*once.Config)
}{
	{about: "a result", heard: "replayed", careful: "replayed",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) { return []byte("r"), nil }},
	{about: "a final failure", heard: "failure", careful: "failure",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) {
			return nil, once.Fail("Closed", errFarSide)
		}},
	{about: "a registered failure after the caller has gone", heard: "failure", careful: "failure",
		work: func(_ context.Context, _ *watchedClaims, leave func()) ([]byte, error) {
			leave()
			return nil, fmt.Errorf("charge: %w", errDeclined)
		}},
	{about: "an ambiguous error", heard: "unknown", careful: "unknown",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) {
			return nil, fmt.Errorf("gateway: %w", once.ErrAmbiguous)
		}},
	{about: "an error", heard: "taken_over", careful: "taken_over",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) { return nil, errFarSide }},
	{about: "work that had no effect", heard: "acquired", careful: "acquired",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) {
			return nil, fmt.Errorf("charge: %w", once.NotBegun(errFarSide))
		}},
	{about: "work that had no effect, cut off", heard: "acquired", careful: "acquired",
		work: func(ctx context.Context, _ *watchedClaims, leave func()) ([]byte, error) {
			leave()
			return nil, once.NotBegun(context.Cause(ctx))
		}},
	{about: "a part without an effect beside another error", heard: "taken_over", careful: "taken_over",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) {
			return nil, errors.Join(once.NotBegun(errFarSide), errors.New("the mail was sent, and was not recorded"))
		}},
	{about: "the caller goes", heard: "taken_over", careful: "unknown",
		work: func(ctx context.Context, _ *watchedClaims, leave func()) ([]byte, error) {
			leave()
			<-ctx.Done()

			return nil, fmt.Errorf("charge: %w", ctx.Err())
		}},
	{about: "the caller goes, and the error does not say so", heard: "taken_over", careful: "unknown",
		work: func(_ context.Context, _ *watchedClaims, leave func()) ([]byte, error) {
			leave()
			return nil, errFarSide
		}},
	{about: "the lease ends", heard: "taken_over", careful: "unknown",
		work: func(ctx context.Context, _ *watchedClaims, _ func()) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}},
	{about: "the heartbeat is lost", heard: "taken_over", careful: "unknown",
		config: func(c *once.Config) { c.Heartbeat = true },
		work: func(ctx context.Context, w *watchedClaims, _ func()) ([]byte, error) {
			w.outage("UpdateItem")
			<-ctx.Done()
			w.transport.Clear()

			return nil, context.Cause(ctx)
		}},
	{about: "a panic", heard: "taken_over", careful: "unknown",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) { panic("halfway") }},
	{about: "Goexit", heard: "taken_over", careful: "unknown",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) {
			runtime.Goexit()
			return nil, nil
		}},
	{about: "a result that cannot be stored", heard: "result not available", careful: "result not available",
		config: func(c *once.Config) { c.Results = brokenResults{} },
		work:   func(context.Context, *watchedClaims, func()) ([]byte, error) { return make([]byte, 100<<10), nil }},
	{about: "a result that cannot be stored, and the caller goes", heard: "result not available", careful: "result not available",
		config: func(c *once.Config) { c.Results = brokenResults{} },
		work: func(_ context.Context, _ *watchedClaims, leave func()) ([]byte, error) {
			leave()
			return make([]byte, 100<<10), nil
		}},
	{about: "an error that says that there is no result", heard: "result not available", careful: "result not available",
		work: func(context.Context, *watchedClaims, func()) ([]byte, error) {
			return nil, once.WithoutResult(errFarSide)
		}},
	{about: "no result of another claim", heard: "taken_over", careful: "taken_over",
		work: func(ctx context.Context, w *watchedClaims, _ func()) ([]byte, error) {
			_, _, err := w.Do(ctx, "another", payload, func(context.Context, *once.Claim) ([]byte, error) {
				return nil, once.WithoutResult(errFarSide)
			})

			return nil, err
		}},
	{about: "a completion that is not stored", heard: "taken_over", careful: "unknown",
		work: func(_ context.Context, w *watchedClaims, _ func()) ([]byte, error) {
			w.outage("UpdateItem")
			return []byte("r"), nil
		}},
	{about: "a completion that is not stored, and whose result cannot be", heard: "taken_over", careful: "unknown",
		config: func(c *once.Config) { c.Results = brokenResults{} },
		work: func(_ context.Context, w *watchedClaims, _ func()) ([]byte, error) {
			w.outage("UpdateItem")
			return make([]byte, 100<<10), nil
		}},
}

// Whatever becomes of work, the next caller hears what is known of it, and no more.
func TestTheEndOfTheWorkIsWhatTheNextCallerHears(t *testing.T) {
	for _, row := range ends {
		for _, careful := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWatchedClaims(t, func(c *once.Config) {
					c.Now, c.ExpiredIsUnknown = time.Now, careful
					c.Failures = map[string]error{"Declined": errDeclined}

					if row.config != nil {
						row.config(c)
					}
				})
				w.service.clock = nil

				ctx, leave := context.WithCancel(t.Context())
				defer leave()

				done := make(chan struct{})
				go func() { // which Goexit ends
					defer close(done)
					defer func() { _ = recover() }()

					_, _, _ = w.Do(ctx, "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) { return row.work(ctx, w, leave) })
				}()
				<-done
				w.transport.Clear()

				want := row.heard
				if careful {
					want = row.careful
				}

				got := heardAs(w.Claim(t.Context(), "k", payload))
				if want == "taken_over" || want == "unknown" {
					time.Sleep(pastLease) // if the end of the lease says so

					if got != want {
						got = heardAs(w.Claim(t.Context(), "k", payload))
					}
				}

				if got != want {
					t.Errorf("%s, ExpiredIsUnknown %t: the next caller hears %q, want %q", row.about, careful, got, want)
				}
			})
		}
	}
}

// Repeatable work stores its result and nothing else, so it may run again after everything else.
func TestTheEndOfRepeatableWorkIsWhatTheNextCallerHears(t *testing.T) {
	for _, row := range ends {
		if row.config != nil || row.about == "the lease ends" || row.about == "a completion that is not stored" {
			continue // there is no lease
		}

		w := newWatchedClaims(t, func(c *once.Config) { c.Failures = map[string]error{"Declined": errDeclined} })
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()

			_, _, _ = w.DoRepeatable(ctx, "k", payload, func(ctx context.Context) ([]byte, error) { return row.work(ctx, w, leave) })
		}()
		<-done
		leave()

		ran := false

		_, replayed, err := w.DoRepeatable(t.Context(), "k", payload, func(context.Context) ([]byte, error) { ran = true; return nil, nil })
		if want := row.heard != "replayed"; ran != want || replayed == want || err != nil {
			t.Errorf("%s: ran again %t, %v", row.about, ran, err)
		}
	}
}

// A completion says what became of the work, whatever a former holder may have begun.
func TestACompletionByRepeatableWorkEndsTheDoubt(t *testing.T) {
	w := newWatchedClaims(t)
	_, _, _ = w.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) { return nil, errFarSide })

	if r := w.stored(t, "k"); !r.MayHaveBegun {
		t.Fatalf("%+v", r)
	}

	_, _, err := w.DoRepeatable(t.Context(), "k", payload, func(context.Context) ([]byte, error) { return []byte("r"), nil })
	if r := w.stored(t, "k"); err != nil || r.Status != once.StatusCompleted || r.MayHaveBegun || r.ExpiresAt.IsZero() {
		t.Errorf("%+v, %v", r, err)
	}
}

// The work was done, so its caller gets the result, with the news that others do not.
func TestAResultThatCannotBeStoredIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t, func(c *once.Config) { c.Now, c.Results = time.Now, brokenResults{} })
		w.service.clock = nil

		result, replayed, err := w.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) { return make([]byte, 100<<10), nil })
		if len(result) != 100<<10 || replayed || !errors.Is(err, once.ErrResultUnavailable) {
			t.Errorf("%d bytes, %t, %v", len(result), replayed, err)
		}

		// Once the result can be stored again, nothing is lost.
		flaky := w.with(t, func(c *once.Config) { c.Now = time.Now })
		w.transport.Inject(embeddedtest.Answer("AccessDeniedException", "PutItem").Next(3))

		if _, _, err := flaky.Do(t.Context(), "flaky", payload, func(context.Context, *once.Claim) ([]byte, error) { return make([]byte, 100<<10), nil }); err != nil {
			t.Error(err)
		}

		if claim := take(t, flaky, "flaky"); len(claim.Result) != 100<<10 {
			t.Errorf("%d bytes", len(claim.Result))
		}
	})
}

// A ticket carries what the claim knows, through any number of hands.
func TestATicketKeepsThatTheWorkMayHaveBegun(t *testing.T) {
	w := newWatchedClaims(t)
	_, err := w.ClaimAs(t.Context(), "request", "k", payload)
	must(t, err)

	repeat, err := w.ClaimAs(t.Context(), "request", "k", payload)
	must(t, err)

	claim := repeat
	for range 2 {
		if claim, err = w.Resume("k", claim.Ticket()); err != nil || claim.Outcome != once.TakenOver {
			t.Fatalf("%+v, %v", claim, err)
		}
		must(t, claim.Extend(t.Context()))
	}

	if r := w.stored(t, "k"); !r.ExpiresAt.IsZero() {
		t.Errorf("the record may be deleted at %s, under its holder", r.ExpiresAt)
	}
	must(t, claim.Release(t.Context()))

	if next := take(t, w.Claims, "k"); next.Outcome != once.TakenOver {
		t.Errorf("the next caller is %s", next.Outcome)
	}
}
