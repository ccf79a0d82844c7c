package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/ids"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
	"ratchet/operate/erasure"
	"ratchet/operate/jobs"
	"ratchet/shipping/reports"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/poller"
	"ratchet/streams/replay"
	"ratchet/streams/retryqueue"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/transitions/refusals"
	"ratchet/workflow"
)

// many is how many subjects a job of the table has.
const many = 12

// orderIDs are the orders of the table.
func orderIDs() (ids []transitions.OrderID) {
	for i := range many {
		ids = append(ids, transitions.OrderID(fmt.Sprintf("o-%02d", i)))
	}

	return ids
}

func (o *office) place() {
	o.t.Helper()

	for _, id := range orderIDs() {
		shop.Place(o.t, o.orders, shop.Mugs(id, 1))
	}
}

func (o *office) queue() retryqueue.Queue {
	return retryqueue.Queue{DynamoDB: o.db, TableName: shop.OrdersTable, DeadLetterTable: "letters", LeaseTable: "leases"}
}

// fail lets the handler give up on every change of the stream once.
func (o *office) fail() {
	o.t.Helper()

	done := make(chan struct{}, 1000)

	p, err := poller.New(poller.Config{
		Streams: dynamodbstreams.NewFromConfig(o.cfg), DynamoDB: o.db, TableName: shop.OrdersTable, LeaseTable: "leases", DeadLetterTable: "letters",
		Owner: "test", Log: embeddedtest.Quiet(),
		Handlers: []streams.Handler{{Name: "notify", Handle: func(context.Context, streams.Record) error {
			done <- struct{}{}
			return streams.Permanent(errors.New("the far side refuses"))
		}}},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(o.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()

	for range many {
		<-done
	}
	stop()

	if err := <-ended; err != nil {
		o.t.Fatal(err)
	}
}

// letters returns how many dead letters there are, and how many of them wait in the queue.
func (o *office) letters() (all, queued int) {
	o.t.Helper()

	for l, err := range o.queue().Letters().All(o.t.Context(), "notify", deadletters.Filter{}) {
		if err != nil {
			o.t.Fatal(err)
		}

		if all++; !l.QueuedAt.IsZero() {
			queued++
		}
	}

	return all, queued
}

// waiting returns how many records wait for the handler, and how many at most for one order.
func (o *office) waiting() string {
	o.t.Helper()

	sum, most := 0, 0
	for _, id := range orderIDs() {
		item, found, err := o.queue().WaitingOf(o.t.Context(), "notify", o.orders.Mapping().ItemKey(id))
		if err != nil {
			o.t.Fatal(err)
		}

		if found {
			sum += item.Records
			most = max(most, item.Records)
		}
	}

	return fmt.Sprintf("%d records, at most %d of an order", sum, most)
}

func (o *office) streamTables() {
	o.t.Helper()
	o.kit.Tables(deadletters.TableInput("letters"), leases.TableInput("leases"))
}

// rebuild gives the newest version of an order to the handler.
func (o *office) rebuild(repeat bool) func(jobs.Job, transitions.OrderID) (replay.Rebuild, error) {
	return func(_ jobs.Job, id transitions.OrderID) (replay.Rebuild, error) {
		return replay.Rebuild{
			Queue: o.queue(), DynamoDB: o.db, Name: "test", Keys: o.orders.Mapping().ItemKey(id), Repeat: repeat,
			Handlers: []streams.Handler{{Name: "notify"}},
			Expand: func(_ context.Context, item map[string]types.AttributeValue) ([]replay.Version, bool, error) {
				return []replay.Version{{Number: 1, New: item, CreatedAt: time.Now()}}, false, nil
			},
		}, nil
	}
}

// deliveries makes an endpoint that has missed a delivery of each order.
func (o *office) deliveries() *notify.Deliveries {
	o.t.Helper()
	o.kit.Tables(notify.EndpointTableInput("endpoints"), notify.DeliveryTableInput("deliveries"))
	opener := destination.Opener{Reach: webhooks.ReachLoopback, Log: embeddedtest.Quiet()}

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: o.db, Table: "endpoints", CheckDestination: opener.Check})
	if err != nil {
		o.t.Fatal(err)
	}

	all, err := notify.New(notify.Config{DynamoDB: o.db, Table: "deliveries", Endpoints: endpoints, Open: opener.Open, Log: embeddedtest.Quiet()})
	if err != nil {
		o.t.Fatal(err)
	}

	_, err = endpoints.Create(o.t.Context(), "shop", notify.Settings{Destination: "log"}, nil)
	if err == nil {
		_, err = endpoints.Disable(o.t.Context(), "shop", "test")
	}

	for _, id := range orderIDs() {
		err = errors.Join(err, all.Accept(o.t.Context(), notify.Notification{
			Key: string(id) + "/0/2/notify", OrderID: id, Incarnation: "0", TransitionID: 2, State: workflow.Shipped, At: time.Now(),
		}))
	}

	if _, enabled := endpoints.Enable(o.t.Context(), "shop"); errors.Join(err, enabled) != nil {
		o.t.Fatal(err, enabled)
	}

	return all
}

// end cancels all orders, which have a customer. Their journal is complete, because an erasure waits for it.
func (o *office) end() *erasure.Eraser {
	o.t.Helper()
	o.orders = o.kit.Orders(shop.Journal(transitions.JournalTransactional))
	o.streamTables()
	o.kit.Tables(refusals.TableInput("refusals"))

	for _, id := range orderIDs() {
		order := shop.Mugs(id, 1)
		order.Customer = "c-1"
		shop.Place(o.t, o.orders, order)

		r, err := o.orders.Apply(o.t.Context(), transitions.Request{OrderID: id, Event: workflow.Cancel, TransitionID: 2})
		if err != nil || !r.Verdict.Done() {
			o.t.Fatal(r.Verdict, err)
		}
	}

	signer, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}})
	if err != nil {
		o.t.Fatal(err)
	}
	o.kit.Tables(reports.Table("reports"))

	desk, err := reports.New(reports.Config{
		DynamoDB: o.db, Table: "reports", Orders: o.orders, Payments: o.kit.Payments(o.kit.Ledger(), o.kit.Bank()), Callbacks: signer, Log: embeddedtest.Quiet(),
	})
	if err != nil {
		o.t.Fatal(err)
	}

	eraser, err := erasure.New(erasure.Config{
		DynamoDB: o.db, Orders: o.orders, OrdersTable: shop.OrdersTable, RefusalsTable: "refusals", Deliveries: o.deliveries(),
		Reports: desk, DeadLetters: o.queue().Letters(), Handlers: []string{"notify"}, QuietFor: time.Nanosecond,
	})
	if err != nil {
		o.t.Fatal(err)
	}
	time.Sleep(time.Millisecond) // longer than QuietFor

	return eraser
}

// each counts the orders by what the function says of them.
func (o *office) each(orders *transitions.Orders, what func(*transitions.Order) string) string {
	o.t.Helper()

	found := map[string]int{}
	for _, id := range orderIDs() {
		order, exists, err := orders.Get(o.t.Context(), id)
		if err != nil || !exists {
			o.t.Fatalf("order %s: %t, %v", id, exists, err)
		}
		found[what(order)]++
	}

	return fmt.Sprint(found)
}

// TestEveryKindThatIsKilledFiveTimesDoesEachThingOnce: what is left after the kills is as if each act was done once.
func TestEveryKindThatIsKilledFiveTimesDoesEachThingOnce(t *testing.T) {
	for kind, row := range map[jobs.Kind]struct {
		// setup makes the subjects, and returns the work and what shows its effect.
		setup  func(o *office, n *jobs.New) (jobs.Work, func() string)
		effect string
		n      int
	}{
		jobs.RedriveDeadLetters: {func(o *office, n *jobs.New) (jobs.Work, func() string) {
			o.streamTables()
			o.place()
			o.fail()
			n.Filter.Handler = "notify"

			return jobs.DeadLetters{Queue: o.queue()}, func() string {
				all, queued := o.letters()
				return fmt.Sprintf("%d letters, %d queued, %s", all, queued, o.waiting())
			}
		}, "12 letters, 12 queued, 12 records, at most 1 of an order", many},
		jobs.DiscardDeadLetters: {func(o *office, n *jobs.New) (jobs.Work, func() string) {
			o.streamTables()
			o.place()
			o.fail()
			n.Filter.Handler = "notify"

			return jobs.DeadLetters{Queue: o.queue(), Discard: true}, func() string {
				all, queued := o.letters()
				return fmt.Sprintf("%d letters, %d queued, %s", all, queued, o.waiting())
			}
		}, "0 letters, 0 queued, 0 records, at most 0 of an order", many},
		jobs.ResendDeliveries: {func(o *office, n *jobs.New) (jobs.Work, func() string) {
			all := o.deliveries()
			n.Filter.Endpoint = "shop"

			return jobs.Deliveries{Deliveries: all}, func() string {
				pending, _, err := all.List(o.t.Context(), "shop", notify.Pending, time.Time{}, "", 100)
				if err != nil {
					o.t.Fatal(err)
				}

				again := map[int]int{}
				for _, d := range pending {
					again[d.Resends]++
				}

				return fmt.Sprint(again)
			}
		}, "map[1:12]", many},
		jobs.EraseOrders: {func(o *office, n *jobs.New) (jobs.Work, func() string) {
			eraser := o.end()
			n.Filter.EndedBefore = time.Now().Add(time.Hour)

			return jobs.Erasures{Ended: erasure.Ended{Orders: o.orders}, Eraser: eraser}, func() string {
				return o.each(o.orders, func(order *transitions.Order) string {
					return fmt.Sprintf("erased %t, customer %q, transition %d", !order.ErasedAt.IsZero(), order.Customer, order.TransitionID)
				})
			}
		}, `map[erased true, customer "", transition 2:12]`, many},
		jobs.MigrateOrders: {func(o *office, n *jobs.New) (jobs.Work, func() string) {
			o.place()
			next, migration := o.nextVersion()
			n.Migration = migration

			return &jobs.Migrations{Orders: next}, func() string {
				return o.each(next, func(order *transitions.Order) string {
					return fmt.Sprintf("version %d at transition %d", order.DefinitionVersion, order.TransitionID)
				})
			}
		}, "map[version 9 at transition 2:12]", many},
		jobs.ReplayStream: {func(o *office, n *jobs.New) (jobs.Work, func() string) {
			o.streamTables()
			o.place()
			n.Filter.Handler = "notify"

			return jobs.Stream{Orders: o.orders, Rebuild: o.rebuild(true)}, o.waiting
		}, "12 records, at most 1 of an order", many},
		jobs.RefillStream: {func(o *office, _ *jobs.New) (jobs.Work, func() string) {
			o.streamTables()
			o.place()

			return jobs.Stream{Orders: o.orders, Rebuild: o.rebuild(false)}, o.waiting
		}, "12 records, at most 1 of an order", many},
		jobs.RebuildLists: {func(o *office, _ *jobs.New) (jobs.Work, func() string) {
			o.kit.Tables(lists.TableInput("lists"))
			o.place()
			all := o.kit.Lists(o.orders)

			return jobs.Lists{Lists: all}, func() string {
				ready, err := all.Ready(o.t.Context())
				if err != nil {
					o.t.Fatal(err)
				}

				page, err := all.Page(o.t.Context(), lists.Query{Limit: 100})
				if err != nil {
					o.t.Fatal(err)
				}

				return fmt.Sprintf("ready %t, %d orders", ready, len(page.Orders))
			}
		}, "ready true, 12 orders", lists.Parts},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				n := jobs.New{Kind: kind, Rate: 1000, By: "cli:ann", Reason: "the cause is repaired"}
				w, effect := row.setup(o, &n)

				j, err := o.store.Create(t.Context(), n)
				if err != nil {
					t.Fatal(err)
				}

				o.kill(j.ID, row.n, func(name string, db *mortal, steps *mortalSteps) *jobs.Runner {
					return o.runner(name, db, steps, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{kind: w} })
				})

				if found := effect(); found != row.effect {
					t.Errorf("%s, want %s", found, row.effect)
				}
			})
		})
	}
}

// TestALetterThatHasChangedIsNotDiscarded: the handler has failed with it again since a person has selected it, maybe for
// another cause. A redrive of it was done by then.
func TestALetterThatHasChangedIsNotDiscarded(t *testing.T) {
	for kind, row := range map[jobs.Kind]struct {
		code    string
		letters int
	}{
		jobs.DiscardDeadLetters: {"changed", many},
		jobs.RedriveDeadLetters: {"done", many},
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				o.streamTables()
				o.place()
				o.fail()

				again := streams.Handler{Name: "notify", Handle: func(context.Context, streams.Record) error {
					return streams.Permanent(errors.New("another cause"))
				}}
				w := between{jobs.DeadLetters{Queue: o.queue(), Discard: kind == jobs.DiscardDeadLetters}, func(ctx context.Context, id string) {
					_ = o.queue().Letters().Redrive(ctx, id, again) // it fails
				}}

				stop := o.run(o.runner("one", o.db, o.sfn, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{kind: w} }))
				defer stop()

				j := o.until(o.create(func(n *jobs.New) { n.Kind, n.Filter.Handler = kind, "notify" }).ID, ended)
				if all, queued := o.letters(); j.Counts[row.code] != many || all != row.letters || queued != 0 {
					t.Errorf("%d letters, %d queued, the job %+v", all, queued, j)
				}
			})
		})
	}
}

// between is a work with something that happens between its look at a subject and its act.
type between struct {
	jobs.DeadLetters

	happens func(ctx context.Context, id string)
}

func (w between) Act(ctx context.Context, j jobs.Job, s jobs.Subject) (string, error) {
	w.happens(ctx, s.ID)

	return w.DeadLetters.Act(ctx, j, s)
}

// TestAnotherOrderUnderTheIDIsNotErased: between the selection of an order and its act it was deleted, and another
// customer's order was placed under its id, which has ended, too.
func TestAnotherOrderUnderTheIDIsNotErased(t *testing.T) {
	for about, byID := range map[string]bool{"a filter": false, "ids": true} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				eraser := o.end()
				erasures := jobs.Erasures{Ended: erasure.Ended{Orders: o.orders}, Eraser: eraser}

				w := acting{erasures, func(ctx context.Context, id string) {
					if id == "o-03" {
						o.again("o-03")
					}
				}}

				stop := o.run(o.runner("one", o.db, o.sfn, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{jobs.EraseOrders: w} }))
				defer stop()

				j := o.until(o.create(func(n *jobs.New) {
					if n.Kind = jobs.EraseOrders; byID {
						n.IDs = []string{"o-03", "o-04"}
					} else {
						n.Filter.EndedBefore = time.Now().Add(time.Hour)
					}
				}).ID, ended)

				order, _, err := o.orders.Get(t.Context(), "o-03")
				if err != nil || !order.ErasedAt.IsZero() || order.Customer != "another" {
					t.Errorf("erased at %s, customer %q, %v; the job %+v", order.ErasedAt, order.Customer, err, j)
				}

				if j.Counts["gone"] != 1 || j.Counts["done"] != j.Total-1 {
					t.Errorf("%+v", j)
				}
			})
		})
	}
}

// again deletes an order, and places and cancels another customer's one with its id.
func (o *office) again(id transitions.OrderID) {
	o.t.Helper()

	if _, err := o.db.DeleteItem(o.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: o.orders.Mapping().ItemKey(id)}); err != nil {
		o.t.Error(err)
	}
	order := shop.Mugs(id, 1)
	order.Customer = "another"
	shop.Place(o.t, o.orders, order)

	if r, err := o.orders.Apply(o.t.Context(), transitions.Request{OrderID: id, Event: workflow.Cancel, TransitionID: 2}); err != nil || !r.Verdict.Done() {
		o.t.Error(r.Verdict, err)
	}
}

// acting is a work with something that happens before its acts.
type acting struct {
	jobs.Work

	happens func(ctx context.Context, id string)
}

func (w acting) Act(ctx context.Context, j jobs.Job, s jobs.Subject) (string, error) {
	w.happens(ctx, s.ID)

	return w.Work.Act(ctx, j, s)
}

// TestAnOrderWhoseTimeIsAnotherProgramsIsRefilled: what cannot be read says nothing about when the order has changed.
func TestAnOrderWhoseTimeIsAnotherProgramsIsRefilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.streamTables()
		o.place()

		if _, err := o.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(shop.OrdersTable), Key: o.orders.Mapping().ItemKey("o-03"), UpdateExpression: aws.String("SET updatedAt = :at"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":at": &types.AttributeValueMemberS{Value: time.Now().Format(time.RFC3339)}},
		}); err != nil {
			t.Fatal(err)
		}

		w := jobs.Stream{Orders: o.orders, Rebuild: o.rebuild(false)}
		stop := o.run(o.runner("one", o.db, o.sfn, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{jobs.RefillStream: w} }))
		defer stop()

		j := o.until(o.create(func(n *jobs.New) { n.Kind, n.Filter.Since = jobs.RefillStream, time.Now().Add(-time.Hour) }).ID, ended)
		if j.Counts["done"] != many {
			t.Errorf("%+v", j)
		}
	})
}

// TestAJournalThatCannotBeReadNowIsReadAgain: a service that throttles says nothing about the order.
func TestAJournalThatCannotBeReadNowIsReadAgain(t *testing.T) {
	for about, row := range map[string]struct {
		err  error
		code string
	}{
		"throttled":              {&types.ProvisionedThroughputExceededException{}, "done"},
		"not available":          {fmt.Errorf("read the journal: %w", transitions.ErrUnavailable), "done"},
		"unreadable":             {fmt.Errorf("order o-03: %w", transitions.ErrUnreadable), "unreadable"},
		"older changes are lost": {nil, "changes_lost"},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				o.streamTables()
				o.place()

				tries := 0
				w := jobs.Stream{Orders: o.orders, Rebuild: func(j jobs.Job, id transitions.OrderID) (replay.Rebuild, error) {
					r, err := o.rebuild(false)(j, id)
					expand := r.Expand
					r.Expand = func(ctx context.Context, item map[string]types.AttributeValue) ([]replay.Version, bool, error) {
						if id == "o-03" {
							if tries++; tries == 1 {
								return nil, row.err == nil, row.err
							}
						}

						return expand(ctx, item)
					}

					return r, err
				}}

				stop := o.run(o.runner("one", o.db, o.sfn, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{jobs.RefillStream: w} }))
				defer stop()

				j := o.until(o.create(func(n *jobs.New) { n.Kind, n.IDs = jobs.RefillStream, []string{"o-03"} }).ID, ended)
				if j.Counts[row.code] != 1 {
					t.Errorf("%+v, want %s", j, row.code)
				}
			})
		})
	}
}

// TestAnOrderThatCannotBeReadShowsInTheRebuildOfTheLists: its part says so, and the others are done.
func TestAnOrderThatCannotBeReadShowsInTheRebuildOfTheLists(t *testing.T) {
	o := newOffice(t)
	o.kit.Tables(lists.TableInput("lists"))
	o.place()

	if _, err := o.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(shop.OrdersTable), Key: o.orders.Mapping().ItemKey("o-03"), UpdateExpression: aws.String("SET transitionId = :id"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":id": &types.AttributeValueMemberS{Value: "x"}},
	}); err != nil {
		t.Fatal(err)
	}

	w := jobs.Lists{Lists: o.kit.Lists(o.orders)}
	stop := o.run(o.runner("one", o.db, o.sfn, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{jobs.RebuildLists: w} }))
	defer stop()

	j := o.until(o.create(func(n *jobs.New) { n.Kind, n.Rate = jobs.RebuildLists, 1000 }).ID, ended)
	if j.Counts["unreadable"] != 1 || j.Counts["done"] != lists.Parts-1 {
		t.Errorf("%+v", j)
	}
}

// forgetful commits a selection's first rows, and then says that it may not.
type forgetful struct {
	*dynamodb.Client

	done atomic.Bool
}

func (f *forgetful) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := f.Client.TransactWriteItems(ctx, in, o...)
	if err == nil && len(in.TransactItems) > 2 && !f.done.Swap(true) {
		return nil, errors.New("AccessDeniedException after an attempt without an answer")
	}

	return out, err
}

// TestRowsWhoseAnswerIsLostAreCounted: the rows of a selection were stored, and the error said that they were not.
func TestRowsWhoseAnswerIsLostAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.streamTables()
		o.place()

		db, w := &forgetful{Client: o.db}, jobs.Stream{Orders: o.orders, Rebuild: o.rebuild(false)}
		stop := o.run(o.runner("one", db, o.sfn, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{jobs.RefillStream: w} }))
		defer stop()

		id := o.create(func(n *jobs.New) { n.Kind = jobs.RefillStream }).ID
		o.until(id, func(j jobs.Job) bool { return j.State == jobs.Paused })

		if _, err := o.store.Resume(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}

		if j := o.until(id, ended); j.State != jobs.Done || j.Total != many || j.Counts["done"] != many {
			t.Errorf("%+v", j)
		}
	})
}

// TestADeliveryOfTheLongestOrderIDIsSentAgain: an id has up to 256 bytes, which are three times as many where they are encoded.
func TestADeliveryOfTheLongestOrderIDIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		all := o.deliveries()

		long := []transitions.OrderID{transitions.OrderID(strings.Repeat("é", 128)), transitions.OrderID(strings.Repeat("é", 127) + "ë")}

		endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: o.db, Table: "endpoints"})
		if err == nil {
			_, err = endpoints.Disable(t.Context(), "shop", "test")
		}

		for _, order := range long {
			err = errors.Join(err, all.Accept(t.Context(), notify.Notification{
				Key: ids.Encode(string(order)) + "/06h28dad60fds/2/notify", OrderID: order, Incarnation: "06h28dad60fds", TransitionID: 2, State: workflow.Shipped, At: time.Now(),
			}))
		}

		if _, enabled := endpoints.Enable(t.Context(), "shop"); errors.Join(err, enabled) != nil {
			t.Fatal(err, enabled)
		}

		w := jobs.Deliveries{Deliveries: all}
		stop := o.run(o.runner("one", o.db, o.sfn, func(c *jobs.RunnerConfig) { c.Works = map[jobs.Kind]jobs.Work{jobs.ResendDeliveries: w} }))
		defer stop()

		j := o.until(o.create(func(n *jobs.New) { n.Kind, n.Filter.Endpoint = jobs.ResendDeliveries, "shop" }).ID, func(j jobs.Job) bool { return ended(j) || j.State == jobs.Paused })
		if j.State != jobs.Done || j.Counts["done"] != many+len(long) {
			t.Errorf("%+v", j)
		}
	})
}

// TestWhatATenantsEndpointHasMissedIsSentAgain: also to an endpoint that the command line has made for the tenant, if the
// filter names it. By ids, which callers give, a tenant reaches its own endpoints only.
func TestWhatATenantsEndpointHasMissedIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		all := o.deliveries()

		endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: o.db, Table: "endpoints"})
		if err == nil {
			_, err = endpoints.Create(t.Context(), "acme-shop", notify.Settings{Destination: "log", Filter: notify.Filter{Tenant: "acme"}}, nil)
		}

		if err == nil {
			_, err = endpoints.Disable(t.Context(), "acme-shop", "test")
		}

		if err == nil {
			err = all.Accept(t.Context(), notify.Notification{
				Key: "acme:o-1/0/2/notify", OrderID: "acme:o-1", Incarnation: "0", TransitionID: 2, State: workflow.Shipped, At: time.Now(),
			})
		}

		if err != nil {
			t.Fatal(err)
		}
		w := jobs.Deliveries{Deliveries: all}

		for _, row := range []struct {
			tenant, endpoint string
			want             int
		}{{"acme", "acme-shop", 1}, {"", "acme-shop", 0}, {"evil", "acme-shop", 0}, {"acme", "shop", 0}} {
			found := 0

			err := w.Select(t.Context(), jobs.Job{Tenant: row.tenant, Filter: jobs.Filter{Endpoint: row.endpoint}}, func(s jobs.Subject) error {
				found++

				named, err := w.Look(t.Context(), jobs.Job{Tenant: row.tenant}, s.ID)
				if named.Code != "gone" {
					t.Errorf("by its id: %+v", named)
				}

				return err
			})
			if err != nil || found != row.want {
				t.Errorf("%+v: %d found, %v", row, found, err)
			}
		}
	})
}

// TestChangesOfNamedOrdersMayBeNewerOnes: a filter that a job does not heed would repeat more effects than its dry run shows.
func TestChangesOfNamedOrdersMayBeNewerOnes(t *testing.T) {
	o := newOffice(t)

	for kind, may := range map[jobs.Kind]bool{jobs.ReplayStream: true, jobs.RefillStream: true, jobs.RedriveExecutions: false} {
		n := jobs.New{Kind: kind, IDs: []string{"o-1"}, By: "cli:ann", Reason: "test"}
		n.Filter.Since = time.Now().Add(-time.Hour)

		if j, err := o.store.Create(t.Context(), n); (err == nil) != may || err == nil && j.Filter.Since.IsZero() {
			t.Errorf("%s: %+v, %v", kind, j.Filter, err)
		}
	}
}
