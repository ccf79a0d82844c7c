package faults

import (
	"context"
	"strings"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (w *world) number(item dynamo.Item, name string) int64 { return dynamo.Number(item, name) }

func (w *world) order(id string) dynamo.Item {
	return w.item(shop.OrdersTable, dynamo.Item{"orderId": dynamo.S(id)})
}

func (w *world) record(key string) dynamo.Item {
	return w.item(shop.ClaimsTable, dynamo.Item{"idempotencyKey": dynamo.S(key)})
}

func (w *world) status(key string) once.Status {
	return once.Status(dynamo.Text(w.record(key), "status"))
}

func (w *world) sku(sku string) dynamo.Item {
	return w.item(shop.StockTable, dynamo.Item{"sku": dynamo.S(sku)})
}

// verdict is the answer of a transition.
func verdict(r transitions.Result, err error) (answer, error) { return answer(r.Verdict.Done()), err }

// transition prepares an order that the call moves to its transition 2.
func (w *world) transition(id string, call func(context.Context, kit) (transitions.Result, error)) cell {
	shop.Place(w.t, w.setup.orders, shop.Mugs(transitions.OrderID(id), 1))

	return cell{
		call: func(ctx context.Context, k kit) (answer, error) { return verdict(call(ctx, k)) },
		made: func() bool { return w.number(w.order(id), "transitionId") == 2 },
	}
}

// placing is a call that places an order.
func (w *world) placing(id string, call func(context.Context, kit) (transitions.Result, error)) cell {
	return cell{
		call: func(ctx context.Context, k kit) (answer, error) { return verdict(call(ctx, k)) },
		made: func() bool { return w.order(id) != nil },
	}
}

// placed places an order and returns the change that its stream reports.
func (w *world) placed(id string) transitions.Change {
	order := shop.Mugs(transitions.OrderID(id), 1)
	order.Cause.Actor = "ann"
	shop.Place(w.t, w.setup.orders, order)

	change, _, err := transitions.Mapping{}.FromRecord(nil, w.order(id))
	w.must(err)

	return change
}

// history returns the rows of the journal.
func (w *world) history(id string) []transitions.Transition {
	all, err := w.setup.orders.History(w.t.Context(), transitions.OrderID(id), 0, 0)
	w.must(err)

	return all
}

// migration is the row of a call that brings an order to version 2 of its definition.
func migration(call func(context.Context, *transitions.Orders, *workflow.Migrations, *transitions.Order) (bool, error)) func(*world, string) cell {
	return func(w *world, id string) cell {
		order := w.placed(id).New
		second := w.Orders(shop.Version(w.t, 2), func(c *transitions.Config) { c.DynamoDB = w.DB })

		ways, err := workflow.NewMigrations([]*workflow.Definition{w.setup.orders.Definition(), second.Definition()}, []workflow.Migration{{From: 1, To: 2}})
		w.must(err)

		return cell{
			call: func(ctx context.Context, _ kit) (answer, error) {
				moved, err := call(ctx, second, ways, order)
				return answer(moved), err
			},
			made: func() bool { return w.number(w.order(id), "definitionVersion") == 2 },
		}
	}
}

// edit is the row of an edit of the content.
func edit(call func(context.Context, kit, transitions.Edit) (transitions.Result, error)) func(*world, string) cell {
	return func(w *world, id string) cell {
		order := shop.Mugs(transitions.OrderID(id), 1)
		order.Items = append(order.Items, transitions.Item{SKU: "plate", Quantity: 1, Price: 0})
		shop.Place(w.t, w.setup.orders, order)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				r, err := call(ctx, k, transitions.Edit{OrderID: transitions.OrderID(id), EventID: "e"})
				return answer(r.Verdict.Done()), err
			},
			made: func() bool { return w.number(w.order(id), "contentVersion") == 1 },
		}
	}
}

// claim is the row of a call that leaves a new key with the status.
func claim(call func(context.Context, kit, string) error, after once.Status) func(*world, string) cell {
	return func(w *world, id string) cell {
		return cell{
			call: func(ctx context.Context, k kit) (answer, error) { return done, call(ctx, k, id) },
			made: func() bool { return w.status(id) == after },
		}
	}
}

// record is the row of a call about a key that is held.
func record(call func(context.Context, kit, once.Record, *once.Claim) error, after once.Status) func(*world, string) cell {
	return func(w *world, id string) cell {
		held, err := w.setup.claims.Claim(w.t.Context(), id, nil)
		w.must(err)
		r, _, err := w.setup.claims.Get(w.t.Context(), id)
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) { return done, call(ctx, k, r, held) },
			made: func() bool { return w.status(id) == after },
		}
	}
}

// step is the row of a step of a key's holder.
func step(call func(context.Context, *once.Claim) error, after once.Status) func(*world, string) cell {
	return func(w *world, id string) cell {
		held, err := w.setup.claims.Claim(w.t.Context(), id, nil)
		w.must(err)
		ticket := held.Ticket()

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				mine, err := k.claims.Resume(id, ticket)
				if err != nil {
					return done, err
				}

				return done, call(ctx, mine)
			},
			made: func() bool { return w.status(id) == after },
		}
	}
}

// action makes a one-time action that can be used.
func (w *world) action(id string) actions.ID {
	made, err := w.setup.actions.Create(w.t.Context(), actions.Spec{RequestID: id, ExpiresAt: time.Now().Add(time.Hour)})
	w.must(err)

	return made.ID
}

// action is the row of a call about an action that can be used.
func action(call func(context.Context, kit, actions.ID) (actions.Result, error), after actions.State, want actions.Outcome) func(*world, string) cell {
	return func(w *world, id string) cell {
		made := w.action(id)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				r, err := call(ctx, k, made)
				return r.Outcome == want, err
			},
			made: func() bool {
				got, _, err := w.setup.actions.Get(w.t.Context(), made)
				w.must(err)

				return got.State == after
			},
		}
	}
}

// stock is the row of a call about the 7 pieces of a SKU, of which the order has reserved 2 before if
// it has a reservation. The call leaves that many available, and the reservation with the status.
func stock(call func(context.Context, kit, string) error, reserved bool, available int64, after inventory.Status) func(*world, string) cell {
	return func(w *world, id string) cell {
		w.must(w.setup.stock.Set(w.t.Context(), id, 7))

		if reserved {
			w.must(w.setup.stock.Reserve(w.t.Context(), id, []inventory.Line{{SKU: id, Quantity: 2}}))
		}

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) { return done, call(ctx, k, id) },
			made: func() bool {
				r, _, err := w.setup.stock.Reservation(w.t.Context(), id)
				w.must(err)

				return r.Status == after && w.number(w.sku(id), "available") == available
			},
		}
	}
}

// accounts makes the account id.a, which may be overdrawn, and id.b.
func (w *world) accounts(id string) {
	w.Accounts(w.setup.ledger, ledger.NewAccount{ID: id + ".a", Currency: "EUR", Overdraft: true}, ledger.NewAccount{ID: id + ".b", Currency: "EUR"})
}

func (w *world) account(id string) ledger.Account {
	a, _, err := w.setup.ledger.Account(w.t.Context(), id)
	w.must(err)

	return a
}

func (w *world) balance(id string) int64 { return w.account(id).Balance }

func (w *world) held(id string) int64 { return w.account(id).Held }

// payment is the row of a call about a payment of 1.00 EUR, which is prepared with the setup.
func payment(prepare func(context.Context, kit, payments.NewPayment) error,
	call func(context.Context, kit, payments.NewPayment) (payments.Payment, error), after func(payments.Payment) bool,
) func(*world, string) cell {
	return func(w *world, id string) cell {
		w.accounts(id)
		// The name of a call is too long for a payment.
		n := payments.NewPayment{ID: strings.TrimPrefix(id, "payments.Payments."), OrderID: "o", Payer: id + ".a", Payee: id + ".b", Amount: 100, Currency: "EUR"}
		if prepare != nil {
			w.must(prepare(w.t.Context(), w.setup, n))
		}

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, err := call(ctx, k, n)
				return done, err
			},
			made: func() bool {
				p, err := w.setup.payments.Get(w.t.Context(), n.ID)
				return err == nil && after(p)
			},
		}
	}
}

func authorized(ctx context.Context, k kit, n payments.NewPayment) error {
	_, err := k.payments.Authorize(ctx, n)
	return err
}

func charged(ctx context.Context, k kit, n payments.NewPayment) error {
	_, err := k.payments.Charge(ctx, n)
	return err
}
