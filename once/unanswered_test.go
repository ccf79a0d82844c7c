package once_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/txn"
)

// writes are the calls that write, with what must be there before. Each names the operation of its write.
var writes = map[string]struct {
	operation string
	prepare   func(t *testing.T, w *watchedClaims) any
	call      func(ctx context.Context, w *watchedClaims, t *testing.T, prepared any) error
}{
	"claim": {"UpdateItem", nil, func(ctx context.Context, w *watchedClaims, _ *testing.T, _ any) error {
		_, err := w.Claim(ctx, "k", payload)
		return err
	}},
	"claim as": {"UpdateItem", nil, func(ctx context.Context, w *watchedClaims, _ *testing.T, _ any) error {
		_, err := w.ClaimAs(ctx, "request", "k", payload)
		return err
	}},
	"repeatable": {"UpdateItem", nil, func(ctx context.Context, w *watchedClaims, _ *testing.T, _ any) error {
		_, _, err := w.DoRepeatable(ctx, "k", payload, func(context.Context) ([]byte, error) { return nil, nil })
		return err
	}},
	"transaction": {"TransactWriteItems", nil, func(ctx context.Context, w *watchedClaims, _ *testing.T, _ any) error {
		_, _, err := w.DoInTransaction(ctx, "k", payload, nil, func(*txn.Transaction) {})
		return err
	}},
	"item": {"UpdateItem", func(t *testing.T, w *watchedClaims) any { w.deposit(t, "a", 100); return nil }, func(ctx context.Context, w *watchedClaims, _ *testing.T, _ any) error {
		_, _, err := w.DoInItem(ctx, "k", payload, debitItem("a", 1))
		return err
	}},
	"count": {"UpdateItem", nil, func(ctx context.Context, w *watchedClaims, _ *testing.T, _ any) error {
		_, err := w.Count(ctx, "k", "event")
		return err
	}},
	"lock": {"PutItem", nil, func(ctx context.Context, w *watchedClaims, t *testing.T, _ any) error {
		_, err := w.locks(t).Acquire(ctx, "k", "me")
		return err
	}},
	"complete": {"UpdateItem", held, func(ctx context.Context, _ *watchedClaims, _ *testing.T, c any) error {
		return c.(*once.Claim).Complete(ctx, []byte("r"))
	}},
	"complete in a transaction": {"TransactWriteItems", held, func(ctx context.Context, _ *watchedClaims, _ *testing.T, c any) error {
		return c.(*once.Claim).CompleteIn(ctx, nil, func(*txn.Transaction) {})
	}},
	"fail": {"UpdateItem", held, func(ctx context.Context, _ *watchedClaims, _ *testing.T, c any) error {
		return c.(*once.Claim).Fail(ctx, &once.Failure{Code: "Closed"})
	}},
	"unknown": {"UpdateItem", held, func(ctx context.Context, _ *watchedClaims, _ *testing.T, c any) error {
		return c.(*once.Claim).Unknown(ctx)
	}},
	"release": {"UpdateItem", held, func(ctx context.Context, _ *watchedClaims, _ *testing.T, c any) error {
		return c.(*once.Claim).Release(ctx)
	}},
	"extend": {"UpdateItem", held, func(ctx context.Context, _ *watchedClaims, _ *testing.T, c any) error {
		return c.(*once.Claim).Extend(ctx)
	}},
	"resolve": {"UpdateItem", func(t *testing.T, w *watchedClaims) any {
		must(t, take(t, w.Claims, "k").Unknown(t.Context()))
		return w.stored(t, "k")
	}, func(ctx context.Context, w *watchedClaims, _ *testing.T, r any) error {
		return w.Resolve(ctx, r.(once.Record), once.Resolution{Status: once.StatusReleased})
	}},
	"force-release": {"UpdateItem", func(t *testing.T, w *watchedClaims) any {
		take(t, w.Claims, "k")
		return w.stored(t, "k")
	}, func(ctx context.Context, w *watchedClaims, _ *testing.T, r any) error {
		return w.ForceRelease(ctx, r.(once.Record), "ada", "stuck")
	}},
	"work": {"UpdateItem", nil, func(ctx context.Context, w *watchedClaims, _ *testing.T, _ any) error {
		_, _, err := w.Do(ctx, "k", payload, func(context.Context, *once.Claim) ([]byte, error) { return []byte("r"), nil })
		return err
	}},
}

func held(t *testing.T, w *watchedClaims) any { return take(t, w.Claims, "k") }

// Once an attempt had no answer, an error of a later one does not say that nothing was written. Only the
// record does.
func TestAnErrorDoesNotHideAnAttemptWithoutAnAnswer(t *testing.T) {
	for about, then := range map[string]func(cancel func()) error{
		"access is denied":     func(func()) error { return &embeddedtest.Error{Code: "AccessDeniedException"} },
		"credentials expire":   func(func()) error { return &embeddedtest.Error{Code: "ExpiredTokenException"} },
		"the request is wrong": func(func()) error { return &embeddedtest.Error{Code: "ValidationException"} },
		"the table is gone":    func(func()) error { return &embeddedtest.Error{Code: "ResourceNotFoundException"} },
		"throttled":            func(func()) error { return &embeddedtest.Error{Code: "ProvisionedThroughputExceededException"} },
		"the caller goes":      func(cancel func()) error { cancel(); return context.Canceled },
	} {
		for name, write := range writes {
			// Package txn answers for the attempts of transactions.
			if write.operation == "TransactWriteItems" {
				continue
			}

			for _, lose := range []string{"the answer", "the request"} {
				synctest.Test(t, func(t *testing.T) {
					w := newWatchedClaims(t, func(c *once.Config) { c.Now = time.Now })
					w.service.clock = nil

					var prepared any
					if write.prepare != nil {
						prepared = write.prepare(t, w)
					}

					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()

					n := 0
					w.transport.Before(func(c *embeddedtest.Call) error {
						if !c.Is(write.operation) {
							return nil
						}

						switch n++; {
						case n > 1:
							return then(cancel)
						case lose == "the answer":
							return embeddedtest.ErrAnswerLost
						}

						return embeddedtest.ErrLost
					})

					if err := write.call(ctx, w, t, prepared); !errors.Is(err, once.ErrUnanswered) || n < 2 {
						t.Errorf("%s: %s is lost, then %s: %v after %d attempts", name, lose, about, err, n)
					}

					// The same call finds out.
					w.transport.Clear()

					switch err := write.call(t.Context(), w, t, prepared); {
					case (name == "claim" || name == "work") && lose == "the answer" && errors.Is(err, once.ErrInProgress): // until the lease ends
					case err != nil:
						t.Errorf("%s, again, after %s was lost, then %s: %v", name, lose, about, err)
					}
				})
			}
		}
	}
}

// An answer that refuses the first attempt is an answer.
func TestARefusalIsNoMissingAnswer(t *testing.T) {
	for name, write := range writes {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedClaims(t, func(c *once.Config) { c.Now, c.Lease = time.Now, time.Second })
			w.service.clock = nil

			var prepared any
			if write.prepare != nil {
				prepared = write.prepare(t, w)
			}
			w.transport.Inject(embeddedtest.Answer("AccessDeniedException", write.operation))

			if err := write.call(t.Context(), w, t, prepared); err == nil || errors.Is(err, once.ErrUnanswered) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// The retries of the SDK hide the attempts before the last one, so they are switched off for writes, in
// whatever client.
func TestTheSDKDoesNotRetryWrites(t *testing.T) {
	for name, write := range writes {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedClaims(t, func(c *once.Config) { c.Now = time.Now })
			w.service.clock = nil
			retrying := &onePerCall{dynamoDB: w.db}
			w.Claims = w.with(t, func(c *once.Config) { c.Now, c.DynamoDB = time.Now, retrying })

			if name == "lock" {
				return // it takes the client of the test
			}

			var prepared any
			if write.prepare != nil {
				prepared = write.prepare(t, w)
			}
			w.loseAnswers(1)
			must(t, write.call(t.Context(), w, t, prepared))

			if retrying.withRetries > 0 {
				t.Errorf("%s: %d writes with the SDK's retries", name, retrying.withRetries)
			}
		})
	}
}

// onePerCall counts the writes that the SDK may retry.
type onePerCall struct {
	dynamoDB    *meter
	withRetries int
}

func (d *onePerCall) see(options []func(*dynamodb.Options)) {
	o := dynamodb.Options{Retryer: retrying{}}

	for _, option := range options {
		option(&o)
	}

	if o.Retryer.MaxAttempts() != 1 {
		d.withRetries++
	}
}

func (d *onePerCall) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	d.see(o)
	return d.dynamoDB.UpdateItem(ctx, in, o...)
}

func (d *onePerCall) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	d.see(o)
	return d.dynamoDB.PutItem(ctx, in, o...)
}

func (d *onePerCall) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	d.see(o)
	return d.dynamoDB.TransactWriteItems(ctx, in, o...)
}

func (d *onePerCall) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return d.dynamoDB.GetItem(ctx, in, o...)
}

func (d *onePerCall) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return d.dynamoDB.Scan(ctx, in, o...)
}
