package faults

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify/webhooks"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

// world is one engine with a part of each kind. Its parts talk to the engine through a wire that a
// fault interferes with; the recount does not.
type world struct {
	*shop.Shop
	t     *testing.T
	db    *dynamodb.Client // past the wire
	bank  *sandbox.Bank
	hooks *webhooks.Keys
	setup kit // without faults
}

func newWorld(t *testing.T) *world {
	cfg := embeddedtest.Open(t).AWSConfig()
	w := &world{t: t, db: dynamodb.NewFromConfig(cfg)}
	// The client of an engine in the same process leaves out the steps that read the Date.
	cfg.APIOptions = nil
	cfg.HTTPClient = dated{cfg.HTTPClient}
	w.Shop = shop.Over(t, cfg)
	w.bank = w.Bank(func(c *sandbox.Config) { c.DynamoDB = w.db })

	hooks, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{make([]byte, 32)}})
	w.must(err)
	w.hooks = hooks
	w.setup = w.kit(w.db, time.Now)

	return w
}

// dated states the time of the service in every answer, as AWS does.
type dated struct{ embeddedtest.Doer }

func (d dated) Do(r *http.Request) (*http.Response, error) {
	response, err := d.Doer.Do(r)
	if err == nil {
		response.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}

	return response, err
}

// answer is what a call says: done, or refused. An error says more (see unknown).
type answer bool

const (
	done    answer = true
	refused answer = false
)

// cell is one call that is ready to be made, and what it leaves.
type cell struct {
	// before prepares with the kit that makes the call; nil for nothing.
	before func(kit)
	call   func(context.Context, kit) (answer, error)
	// made recounts the tables with plain reads: whether the effect of the call is there, as a whole.
	made func() bool
}

// unknown reports whether the error says that the effect may or may not have happened.
func unknown(err error) bool {
	for _, target := range []error{
		dynamo.ErrUnanswered, transitions.ErrOutcomeUnknown, once.ErrUnanswered, actions.ErrUnavailable, txn.ErrUnknown,
		payments.ErrUnresolved,
	} {
		if errors.Is(err, target) {
			return true
		}
	}

	return false
}

// check fails if the answer contradicts the tables.
func (c cell) check(t *testing.T, call string, said answer, err error) {
	t.Helper()

	switch made := c.made(); {
	case err == nil && bool(said) != made:
		t.Errorf("%s says done = %t, and the effect is there: %t", call, said, made)
	case err != nil && made && !unknown(err):
		t.Errorf("%s says that it has failed, and the effect is there: %v", call, err)
	}
}

// fault is one thing that goes wrong during a call.
type fault struct {
	// install puts it into effect and returns how often it has struck. stop cancels the context of
	// the call.
	install func(w *world, stop context.CancelFunc) (struck func() int)
	// off is how far the caller's clock is ahead of the service's.
	off time.Duration
	// heals: the call must end as it does without the fault.
	heals bool
}

// writes are the operations that a fault strikes.
var writes = embeddedtest.Writes()

// strike counts how often hook returns an error for a write.
func strike(w *world, hook func(n int) error) func() int {
	var calls, struck atomic.Int64
	w.Wire.Before(func(c *embeddedtest.Call) error {
		if !c.Is(writes...) {
			return nil
		}

		err := hook(int(calls.Add(1)))
		if err != nil {
			struck.Add(1)
		}

		return err
	})

	return func() int { return int(struck.Load()) }
}

// lose loses the first write, before or after it is carried out, and answers every later one with the
// code, "" for no error.
func lose(first error, later string) func(*world, context.CancelFunc) func() int {
	return func(w *world, _ context.CancelFunc) func() int {
		return strike(w, func(n int) error {
			switch {
			case n == 1:
				return first
			case later != "":
				return &embeddedtest.Error{Code: later}
			}

			return nil
		})
	}
}

var faults = map[string]fault{
	"the first request is lost":                     {install: lose(embeddedtest.ErrLost, ""), heals: true},
	"the first answer is lost":                      {install: lose(embeddedtest.ErrAnswerLost, ""), heals: true},
	"the first answer is lost, then access denied":  {install: lose(embeddedtest.ErrAnswerLost, "AccessDeniedException")},
	"the first answer is lost, then expired":        {install: lose(embeddedtest.ErrAnswerLost, "ExpiredTokenException")},
	"the first answer is lost, then invalid":        {install: lose(embeddedtest.ErrAnswerLost, "ValidationException")},
	"the first answer is lost, then throttled":      {install: lose(embeddedtest.ErrAnswerLost, "ProvisionedThroughputExceededException")},
	"the first request is lost, then access denied": {install: lose(embeddedtest.ErrLost, "AccessDeniedException")},
	"access is denied at once":                      {install: lose(&embeddedtest.Error{Code: "AccessDeniedException"}, "AccessDeniedException")},
	"the caller gives up before the first answer": {install: func(w *world, stop context.CancelFunc) func() int {
		return strike(w, func(n int) error {
			stop()
			return embeddedtest.ErrAnswerLost
		})
	}},
	"the caller's clock is three hours fast": {off: 3 * time.Hour, heals: true},
	"the caller's clock is three hours slow": {off: -3 * time.Hour, heals: true},
}

// TestNoAnswerContradictsTheTables makes every public call that writes under every fault, and recounts
// the tables with plain reads.
func TestNoAnswerContradictsTheTables(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)

				for _, call := range slices.Sorted(maps.Keys(calls)) {
					c := calls[call](w, call)
					// A process of its own, which has heard nothing of the service's time.
					k := w.kit(w.DB, func() time.Time { return time.Now().Add(f.off) })
					if c.before != nil {
						c.before(k)
					}
					ctx, stop := context.WithCancel(t.Context())

					struck := func() int { return 1 }
					if f.install != nil {
						struck = f.install(w, stop)
					}

					said, err := c.call(ctx, k)
					w.Wire.Clear()
					stop()

					if struck() == 0 {
						t.Errorf("%s: the fault has not struck", call)
					}

					if f.heals && (err != nil || said != done) {
						t.Errorf("%s: done = %t, %v", call, said, err)
					}

					c.check(t, call, said, err)
				}
			})
		})
	}
}

// parts are the types whose methods are the public calls.
var parts = []reflect.Type{
	reflect.TypeFor[*transitions.Orders](),
	reflect.TypeFor[*once.Claims](), reflect.TypeFor[*once.Claim](),
	reflect.TypeFor[*actions.Actions](),
	reflect.TypeFor[*inventory.Stock](),
	reflect.TypeFor[*ledger.Ledger](),
	reflect.TypeFor[*payments.Payments](),
}

// TestEveryCallIsInTheTable fails for a method with a context that is neither in the table nor known as
// a read.
func TestEveryCallIsInTheTable(t *testing.T) {
	var known []string
	for _, part := range parts {
		for i := range part.NumMethod() {
			m := part.Method(i)
			if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() {
				continue
			}

			name := strings.TrimPrefix(part.String(), "*") + "." + m.Name
			known = append(known, name)

			if _, found := calls[name]; found == slices.Contains(reads, name) {
				t.Errorf("%s must be a row of the table or a read, and not both", name)
			}
		}
	}

	for name := range calls {
		if !slices.Contains(known, name) {
			t.Errorf("the table has %s, which is no public call", name)
		}
	}
}
