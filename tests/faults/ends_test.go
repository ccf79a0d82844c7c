package faults

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
)

// TestALostLeaseChangesNothing makes every step of a claim after its lease was lost to another holder.
func TestALostLeaseChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)

		for _, call := range slices.Sorted(maps.Keys(calls)) {
			if !strings.HasPrefix(call, "once.Claim.") {
				continue
			}

			c, k := calls[call](w, call), w.kit(w.DB, time.Now)
			if c.before != nil {
				c.before(k)
			}
			time.Sleep(time.Hour) // the bubble's

			other, err := w.setup.claims.Claim(t.Context(), call, nil)
			if err != nil || other.Outcome != once.TakenOver {
				t.Fatalf("%s: %+v, %v", call, other, err)
			}
			before := w.record(call)

			_, err = c.call(t.Context(), k)
			if err == nil || unknown(err) {
				t.Errorf("%s: %v", call, err)
			}

			if after := w.record(call); !reflect.DeepEqual(before, after) {
				t.Errorf("%s has changed the record of another holder: %v, was %v", call, after, before)
			}
		}
	})
}

// ends are calls about things that end after a minute.
var ends = map[string]func(w *world, id string) cell{
	"consume": func(w *world, id string) cell {
		made, err := w.setup.actions.Create(w.t.Context(), actions.Spec{RequestID: id, ExpiresAt: time.Now().Add(time.Minute)})
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				r, err := k.actions.Consume(ctx, actions.Request{ID: made.ID})
				return r.Outcome == actions.Consumed, err
			},
			made: func() bool {
				got, _, err := w.setup.actions.Get(w.t.Context(), made.ID)
				w.must(err)

				return got.State == "consumed"
			},
		}
	},
	"commit": func(w *world, id string) cell {
		w.must(w.setup.stock.Set(w.t.Context(), id, 7))
		w.must(w.setup.stock.ReserveUntil(w.t.Context(), id, []inventory.Line{{SKU: id, Quantity: 2}}, time.Now().Add(time.Minute)))

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) { return done, k.stock.Commit(ctx, id) },
			made: func() bool {
				r, _, err := w.setup.stock.Reservation(w.t.Context(), id)
				w.must(err)

				return r.Status == inventory.Committed
			},
		}
	},
	"settle": func(w *world, id string) cell {
		w.accounts(id)
		_, _, err := w.setup.ledger.Reserve(w.t.Context(), ledger.NewHold{ID: id, Account: id + ".a", Amount: 5, Currency: "EUR", ExpiresAt: time.Now().Add(time.Minute)})
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, err := k.ledger.Post(ctx, ledger.Transfer{ID: id, Currency: "EUR", Legs: []ledger.Leg{
					{Account: id + ".a", Amount: -5, Hold: id}, {Account: id + ".b", Amount: 5},
				}})

				return done, err
			},
			made: func() bool { return w.balance(id+".b") == 5 },
		}
	},
	"capture": func(w *world, id string) cell {
		w.accounts(id)
		n := payments.NewPayment{ID: id, OrderID: "o", Payer: id + ".a", Payee: id + ".b", Amount: 100, Currency: "EUR", ExpiresAt: time.Now().Add(time.Minute)}
		w.must(authorized(w.t.Context(), w.setup, n))

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, err := k.payments.Capture(ctx, id, payments.StepRequest{ID: "c", Amount: 40})
				return done, err
			},
			made: func() bool { return w.balance(id+".b") == 40 },
		}
	},
}

// TestAnEndIsTheServices uses things half a minute before their end and an hour after it, each with
// clocks that are right, fast and slow.
func TestAnEndIsTheServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)

		for _, name := range slices.Sorted(maps.Keys(ends)) {
			for off, clock := range map[time.Duration]string{0: "right", 3 * time.Hour: "fast", -3 * time.Hour: "slow"} {
				for after, ended := range map[time.Duration]bool{30 * time.Second: false, time.Hour: true} {
					about := name + "-" + clock + "-" + after.String()
					c := ends[name](w, about)
					time.Sleep(after) // the bubble's

					said, err := c.call(t.Context(), w.kit(w.DB, func() time.Time { return time.Now().Add(off) }))
					if taken := err == nil && said == done; taken == ended || c.made() == ended {
						t.Errorf("%s: done = %t, %v; the effect is there: %t", about, said, err, c.made())
					}
				}
			}
		}
	})
}
