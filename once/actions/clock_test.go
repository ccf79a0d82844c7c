package actions_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

// newDatedActions are actions whose answers state the time.
func newDatedActions(t *testing.T) *signedActions {
	t.Helper()

	s := &signedActions{keys: []actions.Key{actions.NewKey(1)}}
	cfg := aws.Config{
		Region:       "us-east-1",
		Credentials:  aws.AnonymousCredentials{},
		BaseEndpoint: aws.String("http://dynamodb.test"),
		HTTPClient:   embeddedtest.Dated{Doer: embeddedtest.Open(t).HTTPClient(), Now: s.clock.Now},
	}
	cfg.Retryer = embeddedtest.RetryAtOnce
	s.transport = embeddedtest.Intercept(&cfg)
	s.db = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, s.db, actions.TableInput("actions"))
	s.reopen(t, func(*actions.Config) {})

	return s
}

// A machine with a wrong clock ends no action for others, uses none that has ended, and answers as every
// other machine, from its first call on.
func TestAWrongClockChangesNoAction(t *testing.T) {
	for _, off := range []time.Duration{-48 * time.Hour, -2 * time.Hour, -time.Minute, time.Minute, 2 * time.Hour, 48 * time.Hour} {
		s := newDatedActions(t)
		machine := func() *actions.Actions {
			return s.with(t, func(c *actions.Config) { c.Now = func() time.Time { return s.clock.Now().Add(off) } })
		}
		want := func(about string, got actions.Result, err error, outcome actions.Outcome) {
			t.Helper()

			if err != nil || got.Outcome != outcome {
				t.Errorf("%s off, %s: %s, %v, want %s", off, about, got.Outcome, err, outcome)
			}
		}

		made, err := machine().Create(t.Context(), actions.Spec{ExpiresAt: s.clock.Now().Add(30 * time.Second)})
		if err != nil || made.State != "active" || made.CreatedAt.Sub(s.clock.Now()).Abs() > 2*time.Second {
			t.Errorf("%s off: %+v, %v", off, made, err)
			continue
		}

		for _, verb := range []string{"consume", "reserve"} {
			open := s.make(t, nil).ID // for an hour
			got, err := verbsOf(machine())[verb](t.Context(), actions.Request{ID: open, ConsumeID: "me", Holder: "me"})
			want(verb, got, err, map[string]actions.Outcome{"consume": actions.Consumed, "reserve": actions.Reserved}[verb])

			if at := got.ConsumedAt; verb == "consume" && at.Sub(s.clock.Now()).Abs() > 2*time.Second {
				t.Errorf("%s off: consumed at %s", off, at)
			}

			if until := got.HeldUntil; verb == "reserve" && until.Sub(s.clock.Now().Add(time.Minute)).Abs() > 2*time.Second {
				t.Errorf("%s off: held until %s", off, until)
			}
		}

		held := s.make(t, nil).ID
		_, err = s.Reserve(t.Context(), actions.Request{ID: held, Holder: "other"}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		got, err := machine().Consume(t.Context(), actions.Request{ID: held, ConsumeID: "me"})
		want("held by another", got, err, actions.Held)

		pending := s.make(t, func(c *actions.Spec) { c.ActiveAt = s.clock.Now().Add(30 * time.Second) }).ID
		got, err = machine().Consume(t.Context(), actions.Request{ID: pending, ConsumeID: "me"})
		want("not active", got, err, actions.NotActive)

		if v, found, err := machine().Get(t.Context(), pending); err != nil || !found || v.State != "pending" {
			t.Errorf("%s off: %+v, %v", off, v, err)
		}

		s.clock.Advance(33 * time.Second)

		for _, verb := range []string{"consume", "reserve", "cancel"} {
			got, err := verbsOf(machine())[verb](t.Context(), actions.Request{ID: made.ID, ConsumeID: "me", Holder: "me"})
			want(verb+" after the end", got, err, actions.Expired)
		}
		got, err = machine().Consume(t.Context(), actions.Request{ID: pending, ConsumeID: "me"})
		want("active", got, err, actions.Consumed)
	}
}

func verbsOf(a *actions.Actions) map[string]func(context.Context, actions.Request) (actions.Result, error) {
	return map[string]func(context.Context, actions.Request) (actions.Result, error){
		"consume": func(ctx context.Context, r actions.Request) (actions.Result, error) {
			r.Holder = ""
			return a.Consume(ctx, r)
		},
		"reserve": func(ctx context.Context, r actions.Request) (actions.Result, error) {
			return a.Reserve(ctx, r, time.Minute)
		},
		"cancel": func(ctx context.Context, r actions.Request) (actions.Result, error) { return a.Cancel(ctx, r.ID) },
	}
}

// A clock may be set between two calls. A refusal that it decided is decided again.
func TestAClockThatIsSetEndsNoAction(t *testing.T) {
	for _, jump := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		s := newDatedActions(t)
		off := time.Duration(0)
		machine := s.with(t, func(c *actions.Config) { c.Now = func() time.Time { return s.clock.Now().Add(off) } })
		id := s.make(t, nil).ID

		if _, _, err := machine.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		off = jump

		if got, err := machine.Consume(t.Context(), actions.Request{ID: id, ConsumeID: "me"}); err != nil || got.Outcome != actions.Consumed {
			t.Errorf("%s: %s, %v", jump, got.Outcome, err)
		}
	}
}

// Once an attempt had no answer, an error of a later one does not say that nothing was written.
func TestAnErrorDoesNotHideAnAttemptWithoutAnAnswer(t *testing.T) {
	for about, then := range map[string]func(cancel func()) error{
		"access is denied":     func(func()) error { return &embeddedtest.Error{Code: "AccessDeniedException"} },
		"the request is wrong": func(func()) error { return &embeddedtest.Error{Code: "ValidationException"} },
		"throttled":            func(func()) error { return &embeddedtest.Error{Code: "ThrottlingException"} },
		"the caller goes":      func(cancel func()) error { cancel(); return context.Canceled },
	} {
		for _, verb := range []string{"create", "consume", "reserve", "cancel"} {
			synctest.Test(t, func(t *testing.T) {
				s := newSignedActions(t)
				id := s.make(t, nil).ID

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				n := 0
				s.transport.Before(func(c *embeddedtest.Call) error {
					if !c.Is("UpdateItem", "PutItem") {
						return nil
					}

					if n++; n > 1 {
						return then(cancel)
					}

					return embeddedtest.ErrAnswerLost
				})

				call := func(ctx context.Context) error {
					if verb == "create" {
						_, err := s.Create(ctx, actions.Spec{RequestID: "r", ExpiresAt: s.clock.Now().Add(time.Hour)})
						return err
					}
					_, err := verbsOf(s.Actions)[verb](ctx, actions.Request{ID: id, ConsumeID: "me", Holder: "me"})

					return err
				}

				if err := call(ctx); !errors.Is(err, actions.ErrUnavailable) || n < 2 {
					t.Errorf("%s, then %s: %v after %d attempts", verb, about, err, n)
				}
				s.transport.Clear()

				if err := call(t.Context()); err != nil {
					t.Errorf("%s, again: %v", verb, err)
				}
			})
		}
	}
}
