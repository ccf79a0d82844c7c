package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/payments"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// kit has a part of each kind.
type kit struct {
	orders   *transitions.Orders
	claims   *once.Claims
	actions  *actions.Actions
	stock    *inventory.Stock
	ledger   *ledger.Ledger
	payments *payments.Payments
	bank     payments.Processor
}

const actionsTable = "actions"

// kit opens parts over a client, with a clock, as a process of their own would.
func (w *world) kit(db *dynamodb.Client, now func() time.Time) kit {
	w.Tables(actions.TableInput(actionsTable))

	action, err := actions.New(actions.Config{
		DynamoDB: db, Table: actionsTable, Now: now, Keys: []actions.Key{{Version: 1, Secret: make([]byte, 32)}},
	})
	if err != nil {
		w.t.Fatal(err)
	}

	k := kit{
		orders: w.Orders(func(c *transitions.Config) { c.DynamoDB, c.Now = db, now }),
		claims: w.Claims(func(c *once.Config) {
			c.DynamoDB, c.Now, c.Lease, c.LogKey = db, now, time.Minute, []byte("k")
			c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
				return once.Resolution{Status: once.StatusCompleted}, nil
			}
		}),
		actions: action,
		stock:   w.Stock(func(c *inventory.Config) { c.DynamoDB, c.Now = db, now }),
		ledger:  w.Ledger(func(c *ledger.Config) { c.DynamoDB, c.Now = db, now }),
	}
	k.bank = w.bank
	k.payments = w.Payments(k.ledger, w.bank, func(c *payments.Config) {
		c.DynamoDB, c.Now, c.Callbacks = db, now, w.hooks
	})

	return k
}

// item reads an item; the keys are names and texts in turns.
func (w *world) item(table string, key dynamo.Item) dynamo.Item {
	out, err := w.db.GetItem(w.t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		w.t.Fatal(err)
	}

	return out.Item
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

// reads are the public calls that write nothing.
var reads = []string{
	"inventory.Stock.Levels", "ledger.Ledger.Holds", "transitions.Orders.Check", "transitions.Orders.Get", "transitions.Orders.History", "transitions.Orders.Journaled", "transitions.Orders.NewIncarnation", "transitions.Orders.Preview", "transitions.Orders.PreviewImport", "transitions.Orders.Rows", "transitions.Orders.RowsOf",
	"transitions.Orders.Scan", "transitions.Orders.TransitionsBy",
	"once.Claims.Get", "once.Claims.Unsettled",
	"actions.Actions.Get",
	"inventory.Stock.Covers", "inventory.Stock.Level", "inventory.Stock.Reservation",
	"inventory.Stock.Run", // calls ExpireDue until its context ends
	"ledger.Ledger.Account", "ledger.Ledger.Accounts", "ledger.Ledger.Hold", "ledger.Ledger.Statement", "ledger.Ledger.Transfer",
	"ledger.Ledger.Transfers", "ledger.Ledger.Verify",
	"payments.Payments.Get", "payments.Payments.List", "payments.Payments.OfOrder", "payments.Payments.Parked",
}

// calls is the table: each call prepares its own things under the name id, with a kit without faults.
// under opens the kit that makes the call.
var calls = map[string]func(w *world, id string) cell{
	"transitions.Orders.Apply": func(w *world, id string) cell {
		return w.transition(id, func(ctx context.Context, k kit) (transitions.Result, error) {
			return k.orders.Apply(ctx, transitions.Request{OrderID: transitions.OrderID(id), Event: workflow.Pay, TransitionID: 2})
		})
	},
	"transitions.Orders.ApplyMany": func(w *world, id string) cell {
		return w.transition(id, func(ctx context.Context, k kit) (transitions.Result, error) {
			all, err := k.orders.ApplyMany(ctx, []transitions.Request{{OrderID: transitions.OrderID(id), Event: workflow.Pay, RequestID: "r"}}, 1)
			return all[0].Result, errors.Join(err, all[0].Err)
		})
	},
	"transitions.Orders.Create": func(w *world, id string) cell {
		return w.placing(id, func(ctx context.Context, k kit) (transitions.Result, error) {
			return k.orders.Create(ctx, shop.Mugs(transitions.OrderID(id), 1))
		})
	},
	"transitions.Orders.CreateWith": func(w *world, id string) cell {
		return w.placing(id, func(ctx context.Context, k kit) (transitions.Result, error) {
			return k.orders.CreateWith(ctx, shop.Mugs(transitions.OrderID(id), 1), func(t *txn.Transaction) {
				t.Add("stock", types.TransactWriteItem{Put: &types.Put{TableName: aws.String(shop.StockTable), Item: dynamo.Item{"sku": dynamo.S(id)}}}, nil)
			})
		})
	},
	"transitions.Orders.Import": func(w *world, id string) cell {
		return w.placing(id, func(ctx context.Context, k kit) (transitions.Result, error) {
			return k.orders.Import(ctx, transitions.Import{NewOrder: shop.Mugs(transitions.OrderID(id), 1), State: workflow.Shipped})
		})
	},
	"transitions.Orders.Adopt": func(w *world, id string) cell {
		w.placed(id)
		// Another program moves the order.
		_, err := w.db.UpdateItem(w.t.Context(), dynamo.NewUpdate(shop.OrdersTable, dynamo.Item{"orderId": dynamo.S(id)}).SetValue("orderState", dynamo.S("SHIPPED")).Input())
		w.must(err)

		seen, _, err := w.setup.orders.Get(w.t.Context(), transitions.OrderID(id))
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				return verdict(k.orders.Adopt(ctx, seen, transitions.Cause{}))
			},
			made: func() bool { return w.number(w.order(id), "transitionId") == 2 },
		}
	},
	"transitions.Orders.ApplyWith": func(w *world, id string) cell {
		w.placed(id)
		beside := dynamo.Item{"idempotencyKey": dynamo.S("with-" + id)}

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				return verdict(k.orders.ApplyWith(ctx, transitions.Request{OrderID: transitions.OrderID(id), Event: workflow.Pay, RequestID: "later"},
					func(t *txn.Transaction, _ transitions.Transition) {
						t.Add("row beside it", types.TransactWriteItem{Put: &types.Put{TableName: aws.String(shop.ClaimsTable), Item: beside}}, nil)
					}))
			},
			made: func() bool { return w.number(w.order(id), "transitionId") == 2 },
		}
	},
	"transitions.Orders.ApplyTimer": func(w *world, id string) cell {
		terms, err := workflow.OrderWith(workflow.Terms{ExpireUnpaid: time.Hour})
		w.must(err)
		order := w.placed(id).New
		timed := w.Orders(func(c *transitions.Config) { c.Definition, c.DynamoDB = terms, w.DB })

		return cell{
			call: func(ctx context.Context, _ kit) (answer, error) {
				return verdict(timed.ApplyTimer(ctx, order, timed.Timers(order)[0]))
			},
			made: func() bool { return w.number(w.order(id), "transitionId") == 2 },
		}
	},
	"transitions.Orders.ShipParcel": func(w *world, id string) cell {
		shop.Place(w.t, w.setup.orders, shop.Mugs(transitions.OrderID(id), 1))
		_, err := w.setup.orders.Apply(w.t.Context(), transitions.Request{OrderID: transitions.OrderID(id), Event: workflow.Pay, TransitionID: 2})
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				return verdict(k.orders.ShipParcel(ctx, transitions.Parcel{OrderID: transitions.OrderID(id), ID: "p", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 1}}}))
			},
			made: func() bool { return w.number(w.order(id), "transitionId") == 3 },
		}
	},
	"transitions.Orders.AddItems": edit(func(ctx context.Context, k kit, e transitions.Edit) (transitions.Result, error) {
		return k.orders.AddItems(ctx, e, transitions.Item{SKU: "cup", Quantity: 1, Price: 5})
	}),
	"transitions.Orders.AddNote": edit(func(ctx context.Context, k kit, e transitions.Edit) (transitions.Result, error) {
		return k.orders.AddNote(ctx, e, transitions.Note{Text: "ring twice"})
	}),
	"transitions.Orders.ChangeItem": edit(func(ctx context.Context, k kit, e transitions.Edit) (transitions.Result, error) {
		return k.orders.ChangeItem(ctx, e, transitions.Item{SKU: "mug", Quantity: 3, Price: 1250})
	}),
	"transitions.Orders.SetOwn": edit(func(ctx context.Context, k kit, e transitions.Edit) (transitions.Result, error) {
		return k.orders.SetOwn(ctx, e, transitions.OwnChange{Set: transitions.Attributes{"shelf": dynamo.S("B7")}})
	}),
	"transitions.Orders.RemoveItem": edit(func(ctx context.Context, k kit, e transitions.Edit) (transitions.Result, error) {
		return k.orders.RemoveItem(ctx, e, "mug")
	}),
	"transitions.Orders.SetAddress": edit(func(ctx context.Context, k kit, e transitions.Edit) (transitions.Result, error) {
		return k.orders.SetAddress(ctx, e, "shipping", transitions.Address{"city": "Rome"})
	}),

	"transitions.Orders.Record": func(w *world, id string) cell {
		change := w.placed(id)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) { return done, k.orders.Record(ctx, change) },
			made: func() bool { return len(w.history(id)) == 1 },
		}
	},
	"transitions.Orders.EraseHistory": func(w *world, id string) cell {
		change := w.placed(id)
		w.must(w.setup.orders.Record(w.t.Context(), change))

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, err := k.orders.EraseHistory(ctx, change.New)
				return done, err
			},
			made: func() bool { return w.history(id)[0].Cause.Actor == "" },
		}
	},
	"transitions.Orders.CloseJournal": func(w *world, id string) cell {
		// The ring forgets transitions whose rows were never written.
		w.placed(id)

		for n, event := range []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver, workflow.RequestReturn, workflow.RejectReturn,
			workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn} {
			_, err := w.setup.orders.Apply(w.t.Context(), transitions.Request{OrderID: transitions.OrderID(id), Event: event, TransitionID: transitions.TransitionID(n + 2)})
			w.must(err)
		}

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				wrote, err := k.orders.CloseJournal(ctx, w.order(id))
				return answer(wrote), err
			},
			made: func() bool { return len(w.history(id)) == 1 },
		}
	},
	"transitions.Orders.Restore": func(w *world, id string) cell {
		w.must(w.setup.orders.Record(w.t.Context(), w.placed(id)))
		_, err := w.db.DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: dynamo.Item{"orderId": dynamo.S(id)}})
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				r, err := k.orders.Restore(ctx, transitions.OrderID(id), true)
				return answer(r.Written), err
			},
			made: func() bool { return w.order(id) != nil },
		}
	},
	"transitions.Orders.Renew": func(w *world, id string) cell {
		order := w.placed(id).New

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				renewed, err := k.orders.Renew(ctx, order)
				return answer(renewed), err
			},
			made: func() bool { return dynamo.Text(w.order(id), "incarnation") != string(order.Incarnation) },
		}
	},
	"transitions.Orders.Migrate": migration(func(ctx context.Context, o *transitions.Orders, m *workflow.Migrations, order *transitions.Order) (bool, error) {
		_, moved, err := o.Migrate(ctx, m, order, transitions.Cause{})
		return moved, err
	}),
	"transitions.Orders.MigrateAll": migration(func(ctx context.Context, o *transitions.Orders, m *workflow.Migrations, _ *transitions.Order) (bool, error) {
		found, err := o.MigrateAll(ctx, m, transitions.Sweep{Segments: 1}, transitions.Cause{})
		return found.Moved > 0, err
	}),

	"once.Claims.Claim": claim(func(ctx context.Context, k kit, key string) error {
		_, err := k.claims.Claim(ctx, key, nil)
		return err
	}, once.StatusInProgress),
	"once.Claims.ClaimAs": claim(func(ctx context.Context, k kit, key string) error {
		_, err := k.claims.ClaimAs(ctx, "request", key, nil)
		return err
	}, once.StatusInProgress),
	"once.Claims.Do": claim(func(ctx context.Context, k kit, key string) error {
		_, _, err := k.claims.Do(ctx, key, nil, func(context.Context, *once.Claim) ([]byte, error) { return nil, nil })
		return err
	}, once.StatusCompleted),
	"once.Claims.DoRepeatable": claim(func(ctx context.Context, k kit, key string) error {
		_, _, err := k.claims.DoRepeatable(ctx, key, nil, func(context.Context) ([]byte, error) { return nil, nil })
		return err
	}, once.StatusCompleted),
	"once.Claims.DoInTransaction": claim(func(ctx context.Context, k kit, key string) error {
		_, _, err := k.claims.DoInTransaction(ctx, key, nil, nil, func(t *txn.Transaction) {
			t.Add("other", types.TransactWriteItem{Put: &types.Put{TableName: aws.String(shop.StockTable), Item: dynamo.Item{"sku": dynamo.S(key)}}}, nil)
		})

		return err
	}, once.StatusCompleted),
	"once.Claims.DoInItem": func(w *world, id string) cell {
		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, _, err := k.claims.DoInItem(ctx, id, nil, once.ItemWrite{
					Table: shop.StockTable, Key: dynamo.Item{"sku": dynamo.S(id)}, Add: "n :one", Values: dynamo.Item{":one": dynamo.N(1)},
				})

				return done, err
			},
			made: func() bool { return w.number(w.item(shop.StockTable, dynamo.Item{"sku": dynamo.S(id)}), "n") == 1 },
		}
	},
	"once.Claims.Count": func(w *world, id string) cell {
		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				n, err := k.claims.Count(ctx, id, "event")
				return n == 1, err
			},
			// A count again of the same event is still 1.
			made: func() bool {
				all, err := w.db.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(shop.ClaimsTable)})
				w.must(err)

				for _, item := range all.Items {
					if key := dynamo.Text(item, "idempotencyKey"); len(key) > len(id) && key[len(key)-len(id):] == id {
						return true
					}
				}

				return false
			},
		}
	},
	"once.Claims.ForceRelease": record(func(ctx context.Context, k kit, r once.Record, _ *once.Claim) error {
		return k.claims.ForceRelease(ctx, r, "ann", "test")
	}, once.StatusReleased),
	"once.Claims.Resolve": func(w *world, id string) cell {
		held, err := w.setup.claims.Claim(w.t.Context(), id, nil)
		w.must(err)
		w.must(held.Unknown(w.t.Context()))
		r, _, err := w.setup.claims.Get(w.t.Context(), id)
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				return done, k.claims.Resolve(ctx, r, once.Resolution{Status: once.StatusCompleted})
			},
			made: func() bool { return w.status(id) == once.StatusCompleted },
		}
	},
	"once.Claims.Sweep": func(w *world, id string) cell {
		held, err := w.setup.claims.Claim(w.t.Context(), id, nil)
		w.must(err)
		w.must(held.Unknown(w.t.Context()))

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				s, err := k.claims.Sweep(ctx, 0)
				return s.Moved > 0, err
			},
			made: func() bool { return w.status(id) == once.StatusCompleted },
		}
	},
	"once.Claim.Complete": step(func(ctx context.Context, c *once.Claim) error { return c.Complete(ctx, nil) }, once.StatusCompleted),
	"once.Claim.Fail":     step(func(ctx context.Context, c *once.Claim) error { return c.Fail(ctx, &once.Failure{Code: "no"}) }, once.StatusFailed),
	"once.Claim.Unknown":  step(func(ctx context.Context, c *once.Claim) error { return c.Unknown(ctx) }, once.StatusUnknown),
	"once.Claim.Release":  step(func(ctx context.Context, c *once.Claim) error { return c.Release(ctx) }, once.StatusReleased),
	"once.Claim.CompleteIn": step(func(ctx context.Context, c *once.Claim) error {
		return c.CompleteIn(ctx, nil, func(*txn.Transaction) {})
	}, once.StatusCompleted),
	"once.Claim.Extend": func(w *world, id string) cell {
		_, err := w.setup.claims.Claim(w.t.Context(), id+"-other", nil)
		w.must(err)

		var before int64
		var held *once.Claim

		return cell{
			before: func(k kit) {
				var err error
				held, err = k.claims.Claim(w.t.Context(), id, nil)
				w.must(err)
				before = w.number(w.record(id), "leaseUntil")
				time.Sleep(time.Second) // the bubble's: the lease becomes longer
			},
			call: func(ctx context.Context, _ kit) (answer, error) { return done, held.Extend(ctx) },
			made: func() bool { return w.number(w.record(id), "leaseUntil") > before },
		}
	},

	"actions.Actions.Create": func(w *world, id string) cell {
		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, err := k.actions.Create(ctx, actions.Spec{Code: strings.ReplaceAll(id, ".", "-"), ExpiresAt: time.Now().Add(time.Hour)})
				return done, err
			},
			made: func() bool {
				_, found, err := w.setup.actions.Get(w.t.Context(), actions.ID(strings.ReplaceAll(id, ".", "-")))
				w.must(err)
				return found
			},
		}
	},
	"actions.Actions.Bulk": func(w *world, id string) cell {
		var made int

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				err := k.actions.Bulk(ctx, actions.Batch{ID: id, Prefix: "BULK", Count: 2, Parallel: 1, ExpiresAt: time.Now().Add(time.Hour)},
					func(actions.BatchAction) error { made++; return nil })

				return made == 2, err
			},
			made: func() bool {
				out, err := w.db.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(actionsTable)})
				w.must(err)

				n := 0
				for _, item := range out.Items {
					if dynamo.Text(item, "batchId") == id {
						n++
					}
				}

				return n == 2
			},
		}
	},
	"actions.Actions.Consume": action(func(ctx context.Context, k kit, id actions.ID) (actions.Result, error) {
		return k.actions.Consume(ctx, actions.Request{ID: id})
	}, "consumed", actions.Consumed),
	"actions.Actions.Cancel": action(func(ctx context.Context, k kit, id actions.ID) (actions.Result, error) {
		return k.actions.Cancel(ctx, id)
	}, "canceled", actions.Canceled),
	"actions.Actions.Reserve": action(func(ctx context.Context, k kit, id actions.ID) (actions.Result, error) {
		return k.actions.Reserve(ctx, actions.Request{ID: id, Holder: "h"}, time.Minute)
	}, "held", actions.Reserved),
	"actions.Actions.Release": func(w *world, id string) cell {
		made := w.action(id)
		r, err := w.setup.actions.Reserve(w.t.Context(), actions.Request{ID: made, Holder: "h"}, time.Hour)
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				got, err := k.actions.Release(ctx, actions.Request{ID: made, Holder: "h", Fence: r.Fence})
				return got.Outcome == actions.Released, err
			},
			made: func() bool {
				got, _, err := w.setup.actions.Get(w.t.Context(), made)
				w.must(err)

				return got.State == "active"
			},
		}
	},

	"inventory.Stock.Set": func(w *world, id string) cell {
		return cell{
			call: func(ctx context.Context, k kit) (answer, error) { return done, k.stock.Set(ctx, id, 7) },
			made: func() bool { return w.number(w.sku(id), "available") == 7 },
		}
	},
	"inventory.Stock.Reserve": stock(func(ctx context.Context, k kit, id string) error {
		return k.stock.Reserve(ctx, id, []inventory.Line{{SKU: id, Quantity: 2}})
	}, false, 5, inventory.Reserved),
	"inventory.Stock.ReserveUntil": stock(func(ctx context.Context, k kit, id string) error {
		return k.stock.ReserveUntil(ctx, id, []inventory.Line{{SKU: id, Quantity: 2}}, time.Now().Add(time.Hour))
	}, false, 5, inventory.Reserved),
	"inventory.Stock.Adjust": stock(func(ctx context.Context, k kit, id string) error {
		return k.stock.Adjust(ctx, id, []inventory.Line{{SKU: id, Quantity: 3}})
	}, true, 4, inventory.Reserved),
	"inventory.Stock.Commit": stock(func(ctx context.Context, k kit, id string) error { return k.stock.Commit(ctx, id) },
		true, 5, inventory.Committed),
	"inventory.Stock.CommitAndClose": stock(func(ctx context.Context, k kit, id string) error { return k.stock.CommitAndClose(ctx, id) },
		true, 5, inventory.Committed),
	"inventory.Stock.Release": stock(func(ctx context.Context, k kit, id string) error { return k.stock.Release(ctx, id) },
		true, 7, inventory.Released),
	"inventory.Stock.ExpireDue": func(w *world, id string) cell {
		w.must(w.setup.stock.Set(w.t.Context(), id, 7))
		w.must(w.setup.stock.ReserveUntil(w.t.Context(), id, []inventory.Line{{SKU: id, Quantity: 2}}, time.Now().Add(time.Minute)))
		time.Sleep(time.Hour) // the bubble's: it is due

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				n, err := k.stock.ExpireDue(ctx, 100)
				return n > 0, err
			},
			made: func() bool { return w.number(w.sku(id), "available") == 7 },
		}
	},

	"ledger.Ledger.CreateAccount": func(w *world, id string) cell {
		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, _, err := k.ledger.CreateAccount(ctx, ledger.NewAccount{ID: id, Currency: "EUR"})
				return done, err
			},
			made: func() bool { _, found, err := w.setup.ledger.Account(w.t.Context(), id); w.must(err); return found },
		}
	},
	"ledger.Ledger.CloseAccount": func(w *world, id string) cell {
		w.accounts(id)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) { return done, k.ledger.CloseAccount(ctx, id+".b") },
			made: func() bool {
				a, _, err := w.setup.ledger.Account(w.t.Context(), id+".b")
				w.must(err)

				return a.Status == ledger.Closed
			},
		}
	},
	"ledger.Ledger.Post": func(w *world, id string) cell {
		w.accounts(id)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, err := k.ledger.Post(ctx, ledger.Move(id, id+".a", id+".b", 5, "EUR"))
				return done, err
			},
			made: func() bool { return w.balance(id+".b") == 5 && w.balance(id+".a") == -5 },
		}
	},
	"ledger.Ledger.Reserve": func(w *world, id string) cell {
		w.accounts(id)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, _, err := k.ledger.Reserve(ctx, ledger.NewHold{ID: id, Account: id + ".a", Amount: 5, Currency: "EUR", ExpiresAt: time.Now().Add(time.Hour)})
				return done, err
			},
			made: func() bool { return w.held(id+".a") == 5 },
		}
	},
	"ledger.Ledger.Release": func(w *world, id string) cell {
		w.accounts(id)
		_, _, err := w.setup.ledger.Reserve(w.t.Context(), ledger.NewHold{ID: id, Account: id + ".a", Amount: 5, Currency: "EUR"})
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				_, err := k.ledger.Release(ctx, id+".a", id)
				return done, err
			},
			made: func() bool { return w.held(id+".a") == 0 },
		}
	},
	"ledger.Ledger.ReleaseExpired": func(w *world, id string) cell {
		w.accounts(id)
		_, _, err := w.setup.ledger.Reserve(w.t.Context(), ledger.NewHold{ID: id, Account: id + ".a", Amount: 5, Currency: "EUR", ExpiresAt: time.Now().Add(time.Minute)})
		w.must(err)
		time.Sleep(time.Hour) // the bubble's: it is due

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				n, _, err := k.ledger.ReleaseExpired(ctx, 100)
				return n > 0, err
			},
			made: func() bool { return w.held(id+".a") == 0 },
		}
	},

	"payments.Payments.Authorize": payment(nil, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		return k.payments.Authorize(ctx, n)
	}, func(p payments.Payment) bool { return p.Capturable == 100 && p.Pending == nil }),
	"payments.Payments.Charge": payment(nil, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		return k.payments.Charge(ctx, n)
	}, func(p payments.Payment) bool { return p.Captured == 100 }),
	"payments.Payments.Capture": payment(authorized, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		return k.payments.Capture(ctx, n.ID, payments.StepRequest{ID: "c", Amount: 40})
	}, func(p payments.Payment) bool { return p.Captured == 40 }),
	"payments.Payments.Void": payment(authorized, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		return k.payments.Void(ctx, n.ID)
	}, func(p payments.Payment) bool { return p.Capturable == 0 }),
	"payments.Payments.Refund": payment(charged, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		return k.payments.Refund(ctx, n.ID, payments.StepRequest{ID: "r", Amount: 40})
	}, func(p payments.Payment) bool { return p.Refunded == 40 }),
	"payments.Payments.Cancel": payment(charged, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		return k.payments.Cancel(ctx, n.ID)
	}, func(p payments.Payment) bool { return p.Refunded == 100 }),
	"payments.Payments.Recover": payment(func(ctx context.Context, k kit, n payments.NewPayment) error {
		n.ExpiresAt = time.Now().Add(time.Minute)
		_, err := k.payments.Authorize(ctx, n)
		time.Sleep(time.Hour) // the bubble's: it is due

		return err
	}, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		r, err := k.payments.Recover(ctx, "", 100)
		for _, left := range r.Left {
			err = errors.Join(err, errors.New(left.Reason))
		}

		return payments.Payment{}, err
	}, func(p payments.Payment) bool { return p.Capturable == 0 }),
	"payments.Payments.Recall": payment(func(ctx context.Context, k kit, n payments.NewPayment) error {
		key := n.ID + "/charge"
		_, err := k.bank.Sale(ctx, payments.Request{Key: key, Authorization: key, OrderID: n.OrderID, Amount: n.Amount, Currency: n.Currency})

		return err
	}, func(ctx context.Context, k kit, n payments.NewPayment) (payments.Payment, error) {
		_, err := k.payments.Recall(ctx, n, false)
		return payments.Payment{}, err
	}, func(p payments.Payment) bool { return p.Captured == 100 }),
	"payments.Payments.Callback": func(w *world, id string) cell {
		// An event about a payment that does not exist is kept for a person.
		body := fmt.Appendf(nil, `{"type":"payment.succeeded","timestamp":"2026-11-21T12:00:00Z","data":{"key":%q,"amount":5,"currency":"EUR"}}`, id+"/authorize")
		event := strings.ReplaceAll(id, ".", "_")
		h, err := w.hooks.Sign(event, body)
		w.must(err)

		return cell{
			call: func(ctx context.Context, k kit) (answer, error) {
				r, err := k.payments.Callback(ctx, h, body)
				return r.Effect == payments.EffectParked, err
			},
			made: func() bool {
				all, _, err := w.setup.payments.Parked(w.t.Context(), "", 100)
				w.must(err)

				return slices.ContainsFunc(all, func(r payments.Received) bool { return r.EventID == event })
			},
		}
	},
}
