package server_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/shipping"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
)

var flagRestored = flag.Int("restored", 20, "orders of TestTablesOfFiveMomentsGoOn")

// farSides is the world that no restore brings back: the bank and the carrier, with tables of their own.
type farSides struct {
	db      *dynamodb.Client
	bank    *banksandbox.Bank
	carrier *carriersandbox.Carrier
	shop    atomic.Pointer[server.Backend] // to which the carrier reports
}

func newFarSides(t *testing.T) *farSides {
	t.Helper()

	o := &farSides{db: embeddedtest.DynamoDB(t, banksandbox.Table("charges"), carriersandbox.Table("shipments"))}

	var err error
	if o.bank, err = banksandbox.New(banksandbox.Config{DynamoDB: o.db, Table: "charges"}); err != nil {
		t.Fatal(err)
	}

	o.carrier, err = carriersandbox.New(carriersandbox.Config{
		DynamoDB: o.db, Table: "shipments", Delay: 2 * time.Minute, Track: true, Log: embeddedtest.Quiet(),
		Deliver: func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
			shop := o.shop.Load()
			if shop == nil {
				return shipping.Retry, nil
			}

			return shop.Reports.Take(ctx, r)
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	return o
}

// copy returns the same world once more, so that a second restore does not find what the first one has done.
func (o *farSides) copy(t *testing.T) *farSides {
	t.Helper()

	again := newFarSides(t)
	for _, table := range []string{"charges", "shipments"} {
		copyItems(t, o.db, again.db, table)
	}

	return again
}

// shopSystem is a shop that runs over a directory until stop is called. Without work, nothing runs but the engine.
type shopSystem struct {
	*server.Backend
	t     *testing.T
	world *farSides
	ctx   context.Context //nolint:containedctx // of the goroutines of one test
	end   context.CancelFunc
	parts sync.WaitGroup
}

func openShop(t *testing.T, dir string, world *farSides) *shopSystem {
	t.Helper()

	b, err := server.Embed(server.Config{
		Data: dir, Notify: "file:" + filepath.Join(filepath.Dir(dir), "notices"), PaymentMode: server.PaymentCapture,
		Parts: server.Parts{Bank: world.bank, Carrier: world.carrier},
	}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	s := &shopSystem{Backend: b, t: t, world: world}
	s.ctx, s.end = context.WithCancel(t.Context())
	s.run(b.Engine.Run)

	return s
}

func (s *shopSystem) run(part func(context.Context) error) {
	s.parts.Go(func() {
		if err := part(s.ctx); err != nil {
			s.t.Error(err)
		}
	})
}

func (s *shopSystem) work() {
	s.world.shop.Store(s.Backend)
	s.run(func(ctx context.Context) error { return s.Run(ctx, "worker") })
	s.run(s.world.carrier.Run)
}

func (s *shopSystem) stop() {
	s.world.shop.Store(nil)
	s.end()
	s.parts.Wait()

	if err := s.Close(); err != nil {
		s.t.Error(err)
	}
}

// until waits until check returns "", which says what is missing.
func (s *shopSystem) until(what string, check func() string) {
	s.t.Helper()

	missing := ""
	for range 120 {
		if missing = check(); missing == "" {
			return
		}
		time.Sleep(10 * time.Second)
	}
	s.t.Fatalf("%s: %s", what, missing)
}

// states counts the orders by their state.
func (s *shopSystem) states() map[workflow.State]int {
	found := map[workflow.State]int{}

	var mu sync.Mutex
	if err := s.Orders.Scan(s.t.Context(), transitions.Sweep{}, dynamodb.ScanInput{}, func(_ context.Context, order *transitions.Order, err error) error {
		mu.Lock()
		defer mu.Unlock()
		found[order.State]++

		return err
	}); err != nil {
		s.t.Fatal(err)
	}

	return found
}

func (s *shopSystem) start(n int) {
	s.t.Helper()

	arn, err := s.StateMachineARN(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}

	if _, err := s.Backend.Start(s.t.Context(), arn, restoredOrder(n)); err != nil {
		s.t.Fatal(err)
	}
}

func restoredOrder(n int) transitions.NewOrder {
	order := mug
	order.ID = transitions.OrderID(fmt.Sprintf("o-%03d", n))

	return order
}

// moments runs a shop until it is lost, and returns its data at five moments while orders are placed, paid and shipped.
func moments(t *testing.T, dir string, world *farSides, orders int) (saved [][]byte) {
	t.Helper()

	s := openShop(t, filepath.Join(dir, "lost"), world)
	defer s.stop()

	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := s.Stock.Set(t.Context(), "mug", int64(2*orders)); err != nil {
		t.Fatal(err)
	}
	s.work()

	// An order takes four minutes, so at each moment some have ended, some are under way, and others are to come.
	for n := range orders {
		s.start(n)
		time.Sleep(10 * time.Minute / time.Duration(orders))

		if n%(orders/5) == orders/5-1 {
			var file bytes.Buffer
			if _, err := s.Engine.Backup(t.Context(), &file); err != nil {
				t.Fatal(err)
			}
			saved = append(saved, file.Bytes())
		}
	}
	time.Sleep(time.Minute)

	return saved
}

// groups are the tables by what is written together. Those of the same group were restored to the same moment.
func groups(b *server.Backend) [5][]string {
	n := b.Tables

	return [5][]string{
		{n.Orders},
		{n.Events, n.Requests},
		{n.Once, n.Deliveries, n.Endpoints, n.DeadLetters},
		{n.Inventory, n.InventoryDue, n.CarrierReports, n.Leases},
		{n.Payments, n.PaymentsDue, n.Ledger.Accounts, n.Ledger.Entries, n.Ledger.Transfers, n.Ledger.Holds},
	}
}

// restoreTables makes a directory with tables as DynamoDB restores them: each group as it was at a moment, without
// streams and times to live. The other tables are not there.
func restoreTables(t *testing.T, dir string, world *farSides, saved [][]byte, at [5]int) {
	t.Helper()

	to := openShop(t, filepath.Join(dir, "shop"), world)
	defer to.stop()

	for group, tables := range groups(to.Backend) {
		copied := filepath.Join(dir, fmt.Sprint("moment-", group))
		if _, err := embedded.Restore(bytes.NewReader(saved[at[group]]), copied); err != nil {
			t.Fatal(err)
		}

		from := openShop(t, copied, world)

		for _, table := range tables {
			copyTable(t, from.DynamoDB, to.DynamoDB, table)
		}
		from.stop()
	}
}

func copyTable(t *testing.T, from, to *dynamodb.Client, table string) {
	t.Helper()

	is, err := from.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}

	in := &dynamodb.CreateTableInput{
		TableName: &table, KeySchema: is.Table.KeySchema, AttributeDefinitions: is.Table.AttributeDefinitions, BillingMode: types.BillingModePayPerRequest,
	}
	for _, index := range is.Table.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		})
	}

	if _, err := to.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}

	copyItems(t, from, to, table)
}

func copyItems(t *testing.T, from, to *dynamodb.Client, table string) {
	t.Helper()

	scan(t, from, table, func(item map[string]types.AttributeValue) {
		if _, err := to.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTablesOfFiveMomentsGoOn: a shop is lost while orders are under way, and its tables are restored to five
// different moments. After the repair every order goes on and ends: paid once, shipped once, under the keys of the lives
// in which it was, with a journal and a ledger that agree. An order of which nothing came back is placed again by its
// caller.
func TestTablesOfFiveMomentsGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("the goroutines are those of TestAnOrderIsDelivered")
	}

	synctest.Test(t, func(t *testing.T) {
		world := newFarSides(t)
		saved := moments(t, t.TempDir(), world, *flagRestored)

		for _, at := range [][5]int{
			{0, 4, 2, 1, 3}, // the orders are the oldest
			{4, 0, 2, 3, 1}, // the orders are the newest, their journal the oldest
			{2, 3, 4, 1, 0}, // the payments are the oldest
			{1, 2, 0, 3, 4}, // the payments are the newest
		} {
			t.Logf("orders, journal, claims, stock and payments of the moments %v", at)
			goOn(t, world.copy(t), saved, at)
		}
	})
}

// goOn restores, repairs and runs a shop until each order is delivered.
func goOn(t *testing.T, world *farSides, saved [][]byte, at [5]int) {
	t.Helper()

	dir := t.TempDir()
	restoreTables(t, dir, world, saved, at)

	s := openShop(t, filepath.Join(dir, "shop"), world)
	defer s.stop()

	earliest := time.Now().Add(-time.Hour)

	dry, err := s.Restored(t.Context(), server.Restoration{Earliest: earliest, DryRun: true})
	if err != nil || dry.Renewed == 0 || !slices.Contains(dry.Tables, "table "+s.Tables.Orders+": its stream is off, so nothing reacts to transitions") {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}

	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	s.repairTwice(earliest)
	s.work()

	// Callers repeat the requests that they have no answer to.
	for n := range *flagRestored {
		s.start(n)
	}
	s.until("the orders to be delivered", func() string {
		if found := s.states(); found[workflow.Delivered] != *flagRestored {
			return fmt.Sprint(found)
		}

		return ""
	})
	s.recount()
}

// repairTwice repairs with a call that is stopped, and a repeat.
func (s *shopSystem) repairTwice(earliest time.Time) {
	s.t.Helper()

	stopped, stop := context.WithCancel(s.t.Context())

	if done, err := s.Restored(stopped, server.Restoration{Earliest: earliest, Progress: func(int) { stop() }}); err == nil {
		s.t.Errorf("the call was not stopped: %+v", done)
	}
	time.Sleep(time.Minute)

	done, err := s.Restored(s.t.Context(), server.Restoration{Earliest: earliest})
	if err != nil || len(done.Left) > 0 || !done.Began.Before(time.Now().Add(-time.Second)) {
		s.t.Fatalf("%+v, %v", done, err)
	}
	s.t.Logf("repaired: %+v", done.Report)
}

// recount compares the orders with what the bank and the carrier have, and the tables with each other.
func (s *shopSystem) recount() {
	s.t.Helper()

	taken, booked := s.world.taken(s.t), s.world.booked(s.t)

	for n := range *flagRestored {
		order, found, err := s.Orders.Get(s.t.Context(), restoredOrder(n).ID)
		if err != nil || !found {
			s.t.Fatal(n, found, err)
		}

		// An order that was placed again is another one for the bank and the carrier.
		paid, shipped := 0, 0
		for _, life := range order.LifeIDs() {
			paid += taken[payments.IDForOrder(life)]
		}

		for id := transitions.TransitionID(1); id <= order.TransitionID; id++ {
			if booked[order.EffectKey(id, shipping.Effect)] {
				shipped++
			}
		}

		if paid != 1 || shipped != 1 {
			s.t.Errorf("order %s was paid %d times and shipped %d times", order.ID, paid, shipped)
		}

		s.recountParts(order)
	}

	if proof, err := s.Ledger.Verify(s.t.Context(), func(f ledger.Finding) error { s.t.Errorf("ledger: %+v", f); return nil }, nil); err != nil || proof.Sums["EUR"] != 0 {
		s.t.Errorf("ledger: %+v, %v", proof, err)
	}

	if err := s.Executions.Survey(s.t.Context(), time.Now(), executions.Filter{}, func(p executions.Problem) error { s.t.Errorf("stuck: %+v", p); return nil }, nil); err != nil {
		s.t.Error(err)
	}

	s.until("the journal to agree with the orders", func() (missing string) {
		if err := inspect.Verify(s.t.Context(), s.Orders, func(c inspect.Check) error {
			if len(c.Findings) > 0 {
				missing = fmt.Sprintf("%s: %+v", c.OrderID, c.Findings)
			}

			return nil
		}); err != nil {
			missing = err.Error()
		}

		return missing
	})
}

// recountParts wants the payment of a delivered order to be captured, and its pieces to be sold.
func (s *shopSystem) recountParts(order *transitions.Order) {
	s.t.Helper()

	id, err := s.Payments.OfOrder(s.t.Context(), order.LifeIDs())
	if err != nil {
		s.t.Fatal(err)
	}

	s.until("the payment of "+string(order.ID), func() string {
		if p, err := s.Payments.Get(s.t.Context(), id); err != nil || p.Captured != order.Total.Amount {
			return fmt.Sprintf("%+v, %v", p, err)
		}

		return ""
	})

	s.until("the pieces of "+string(order.ID), func() string {
		if r, _, err := s.Stock.Reservation(s.t.Context(), order.PlacedLifeID()); err != nil || r.Status != inventory.Committed || len(r.Lines) != 1 {
			return fmt.Sprintf("%+v, %v", r, err)
		}

		return ""
	})
}

// taken counts the authorizations at the bank that were captured, by payment.
func (o *farSides) taken(t *testing.T) map[string]int {
	t.Helper()

	found := map[string]int{}
	scan(t, o.db, "charges", func(item map[string]types.AttributeValue) {
		if id, is := bytes.CutSuffix([]byte(dynamo.Text(item, "paymentKey")), []byte("/authorize")); is {
			found[string(id)]++
		}
	})

	return found
}

// booked has the keys under which the carrier has shipments.
func (o *farSides) booked(t *testing.T) map[string]bool {
	t.Helper()

	found := map[string]bool{}
	scan(t, o.db, "shipments", func(item map[string]types.AttributeValue) {
		if pk := dynamo.Text(item, "pk"); dynamo.Text(item, "status") != "" {
			found[pk[len("shipment#"):]] = true
		}
	})

	return found
}

// TestWhatIsForgottenIsEnded: the orders were restored to a time before a transition. A notification about it and
// records that wait for its handlers are ended; those about earlier transitions stay.
func TestWhatIsForgottenIsEnded(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
	b := env.Backend
	env.Place(mug)

	key := dynamo.Item{"orderId": dynamo.S(string(mug.ID))}

	before, err := b.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &b.Tables.Orders, Key: key})
	if err != nil {
		t.Fatal(err)
	}

	paid := env.Move(mug.ID, workflow.Pay).Order

	for id := transitions.TransitionID(1); id <= paid.TransitionID; id++ {
		if err := b.Deliveries.Accept(t.Context(), notify.Notification{
			Key: paid.EffectKey(id, "notify"), OrderID: paid.ID, Incarnation: paid.Incarnation, TransitionID: id, State: paid.State, At: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
	}

	changes := b.Rebuild(b.Handlers(), "")
	changes.Name, changes.Expand = "before", b.Expander(server.Repair{})

	queued, err := changes.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := b.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.Tables.Orders, Item: before.Item}); err != nil {
		t.Fatal(err)
	}

	r := server.Restoration{Earliest: time.Now().Add(-time.Minute)}

	done, err := b.Restored(t.Context(), r)
	if err != nil || done.Deliveries != 1 || done.Changes == 0 || done.Changes >= queued.Queued {
		t.Errorf("%+v, %v; %d were queued", done, err, queued.Queued)
	}

	if again, err := b.Restored(t.Context(), r); err != nil || again.Deliveries+again.Changes > 0 {
		t.Errorf("a repeat: %+v, %v", again, err)
	}

	found, err := b.Deliveries.OfOrder(t.Context(), string(mug.ID))
	if err != nil {
		t.Fatal(err)
	}

	states := map[transitions.TransitionID]notify.Status{}
	for _, d := range found {
		states[d.TransitionID] = d.Status
	}

	if want := map[transitions.TransitionID]notify.Status{1: notify.Pending, 2: notify.Missed}; !maps.Equal(states, want) {
		t.Errorf("deliveries %v, want %v", states, want)
	}
}

// TestOrdersMayCountInLargeSteps: a caller that gives transition ids may take times for them.
func TestOrdersMayCountInLargeSteps(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
	b := env.Backend
	env.Place(mug)

	paid, err := b.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Pay, TransitionID: 1 << 52})
	if err != nil || !paid.Verdict.Done() {
		t.Fatal(paid.Verdict, err)
	}

	// Of another order that had the id.
	if err := b.Deliveries.Accept(t.Context(), notify.Notification{
		Key: "another", OrderID: mug.ID, Incarnation: transitions.NewIncarnation(time.Now().Add(-time.Hour)), TransitionID: 2, State: paid.Order.State, At: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	ended := make(chan struct{})
	go func() {
		defer close(ended)

		if done, err := b.Restored(ctx, server.Restoration{Earliest: time.Now().Add(-time.Minute)}); err != nil || done.Deliveries != 0 {
			t.Errorf("%+v, %v", done, err)
		}
	}()

	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the repair does not end")
	}
}

// TestRequestsForLaterOutliveARestore: the table of due rows is of another moment than the requests.
func TestRequestsForLaterOutliveARestore(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
	b := env.Backend
	env.Place(mug)

	placed, err := b.Scheduled.Place(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Cancel, RequestID: "later"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	scan(t, b.DynamoDB, b.Tables.OrdersDue, func(item map[string]types.AttributeValue) {
		key := dynamo.Item{"shard": item["shard"], "due": item["due"]}
		if _, err := b.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.Tables.OrdersDue, Key: key}); err != nil {
			t.Fatal(err)
		}
	})

	if done, err := b.Restored(t.Context(), server.Restoration{Earliest: time.Now().Add(-time.Minute)}); err != nil || len(done.Left) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}

	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if _, err := b.Scheduled.Sweep(t.Context(), 100); err != nil {
			t.Fatal(err)
		}

		now, err := b.Scheduled.Get(t.Context(), mug.ID, placed.Request.ID)
		if err != nil {
			t.Fatal(err)
		}

		if now.Status == scheduled.Applied {
			return
		}

		if now.Status != scheduled.Pending {
			t.Fatalf("%+v", now)
		}
	}
	t.Error("the request still waits")
}

// TestAWrongClockRenewsAllOrders: an order was placed after the time that the machine of the repair shows.
func TestAWrongClockRenewsAllOrders(t *testing.T) {
	for about, ahead := range map[string]time.Duration{"the service is ahead": time.Hour, "the service is behind": -time.Hour} {
		t.Run(about, func(t *testing.T) {
			env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
			now := func() time.Time { return time.Now().Add(ahead) }

			b, err := env.Backend.OnAWS(embeddedtest.Dated{Doer: env.Backend.Engine.AWSConfig().HTTPClient, Now: now})
			if err != nil {
				t.Fatal(err)
			}

			order := mug
			if order.Incarnation, err = b.Orders.NewIncarnation(t.Context()); err != nil {
				t.Fatal(err)
			}

			if r, err := b.Orders.Create(t.Context(), order); err != nil || !r.Verdict.Done() {
				t.Fatal(r.Verdict, err)
			}
			restoration := server.Restoration{Earliest: now().Add(-time.Minute)}

			done, err := b.Restored(t.Context(), restoration)
			if err != nil || done.Renewed != 1 || done.Began.Before(order.Incarnation.Began()) || done.Began.After(now().Add(time.Minute)) {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
}
