package server_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// charges returns the amounts that the bank has taken, by their keys.
func (s *stockedBackend) charges(t *testing.T) map[string]int64 {
	t.Helper()

	taken := map[string]int64{}
	scan(t, s.DynamoDB, s.Tables.SandboxCharges, func(item map[string]types.AttributeValue) {
		taken[dynamo.Text(item, "paymentKey")] = dynamo.Number(item, "amount")
	})

	return taken
}

// bookings returns the keys under which the carrier has booked shipments.
func (s *stockedBackend) bookings(t *testing.T) (keys []string) {
	t.Helper()

	scan(t, s.DynamoDB, s.Tables.SandboxShipments, func(item map[string]types.AttributeValue) {
		if pk := dynamo.Text(item, "pk"); dynamo.Text(item, "status") != "" {
			keys = append(keys, pk[len("shipment#"):])
		}
	})
	slices.Sort(keys)

	return keys
}

// recountLives wants the bank to have taken the money of each life once, and the carrier to have booked
// one shipment for each.
func (s *stockedBackend) recountLives(t *testing.T, lives ...*transitions.Order) {
	t.Helper()

	taken, booked := map[string]int64{}, []string{}
	for _, life := range lives {
		taken[payments.IDForOrder(life.LifeID())+"/charge"] = life.Total.Amount
		booked = append(booked, life.EffectKey(2, shipping.Effect))
	}
	slices.Sort(booked)

	if got := s.charges(t); !maps.Equal(got, taken) {
		t.Errorf("the bank has taken %v, want %v", got, taken)
	}

	if got := s.bookings(t); !slices.Equal(got, booked) {
		t.Errorf("the carrier has booked %q, want %q", got, booked)
	}
}

func (s *stockedBackend) orderNow(t *testing.T) *transitions.Order {
	t.Helper()

	order, found, err := s.Orders.Get(t.Context(), mug.ID)
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return order
}

func (s *stockedBackend) deleteOrder(t *testing.T) {
	t.Helper()

	if _, err := s.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &s.Tables.Orders, Key: dynamo.Item{"orderId": dynamo.S(string(mug.ID))},
	}); err != nil {
		t.Fatal(err)
	}
}

// newSlowBackend is newStockedBackend in a bubble, with a carrier that needs two minutes for each milestone.
func newSlowBackend(t *testing.T) *stockedBackend {
	t.Helper()

	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{CarrierDelay: 2 * time.Minute}, Patience: 10 * time.Minute})
	env.SetStock("mug", 10)

	return &stockedBackend{Backend: env.Backend, env: env}
}

// untilOrder waits until the order as it is now is in the state.
func (s *stockedBackend) untilOrder(t *testing.T, want workflow.State) *transitions.Order {
	t.Helper()

	var order *transitions.Order
	s.env.Wait("the order to be "+string(want), func() (bool, string, error) {
		var err error
		if order, _, err = s.Orders.Get(t.Context(), mug.ID); err != nil || order == nil {
			return false, "no order", err
		}

		return order.State == want, string(order.State), nil
	})

	return order
}

// TestAnIDThatIsUsedAgainIsAnotherOrder: the order is deleted while its execution waits for its shipment,
// and the same request places it again. The second life is charged and shipped of its own, and the
// carrier's reports about the first one do not move it.
func TestAnIDThatIsUsedAgainIsAnotherOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("TestAnOrderIsDelivered has the same goroutines")
	}

	synctest.Test(t, func(t *testing.T) {
		s := newSlowBackend(t)
		s.env.Execute(mug)
		s.until(workflow.PaymentReceived)
		s.env.Wait("the first booking", func() (bool, string, error) { return len(s.bookings(t)) == 1, "", nil })
		first := s.orderNow(t)

		time.Sleep(time.Minute)
		s.deleteOrder(t)
		s.env.Execute(mug)
		s.env.Execute(mug) // a repeat of the request

		second := s.untilOrder(t, workflow.PaymentReceived)
		if second.Incarnation == first.Incarnation {
			t.Fatalf("the second order has the life %s of the first", second.Incarnation)
		}
		s.env.Wait("the second booking", func() (bool, string, error) { return len(s.bookings(t)) == 2, "", nil })
		s.recountLives(t, first, second)

		// The carrier reports the first shipment a minute before the second one.
		time.Sleep(90 * time.Second)

		if state := s.orderNow(t).State; state != workflow.PaymentReceived {
			t.Errorf("after the report of the first shipment the order is %s", state)
		}

		delivered := s.untilOrder(t, workflow.Delivered)
		for _, made := range delivered.Recent() {
			if made.Event == workflow.Ship && !made.IsBy(transitions.RequestID("carrier/"+second.EffectKey(2, shipping.Effect)+"/shipped")) {
				t.Errorf("the order was shipped by %+v", made)
			}
		}
		s.recountLives(t, first, second)
		// The pieces of the deleted order stay reserved.
		s.untilStock(t, inventory.Level{Available: 8, Reserved: 1, Committed: 1})
	})
}

// TestARestoredOrderIsRenewed: the tables are restored to the time before the order was paid,
// and the order is renewed, as `ratchet orders renew` says. It is charged and shipped again, in its new
// life, though the bank and the carrier know the life before; their late reports change nothing.
func TestARestoredOrderIsRenewed(t *testing.T) {
	if testing.Short() {
		t.Skip("TestAnOrderIsDelivered has the same goroutines")
	}

	synctest.Test(t, func(t *testing.T) {
		s := newSlowBackend(t)
		s.env.Place(mug)
		s.until(workflow.Pending)

		saved := s.save(t)

		if _, err := s.Executions.StartPlaced(t.Context(), mug.ID); err != nil {
			t.Fatal(err)
		}
		first := s.untilOrder(t, workflow.Delivered)
		s.recountLives(t, first)
		time.Sleep(time.Minute)

		s.restore(t, saved)

		if renewed, err := s.Orders.Renew(t.Context(), s.orderNow(t)); !renewed || err != nil {
			t.Fatal(renewed, err)
		}
		time.Sleep(time.Minute)

		if _, err := s.Executions.StartPlaced(t.Context(), mug.ID); err != nil {
			t.Fatal(err)
		}
		s.env.Wait("the second booking", func() (bool, string, error) { return len(s.bookings(t)) == 2, "", nil })
		second := s.orderNow(t)
		s.recountLives(t, first, second)

		// The carrier repeats its reports about the first life.
		for _, m := range []shipping.Milestone{shipping.Shipped, shipping.Delivered, shipping.Lost} {
			r := shipping.Report{ID: "late/" + string(m), Shipment: first.EffectKey(2, shipping.Effect), OrderID: string(mug.ID), Milestone: m}
			if answer, err := s.Reports.Take(t.Context(), r); answer != shipping.Rejected || err != nil {
				t.Errorf("%s: answer %d, %v", m, answer, err)
			}
		}

		if now := s.orderNow(t); now.TransitionID != second.TransitionID {
			t.Errorf("the late reports have moved the order to %s", now.State)
		}

		s.untilOrder(t, workflow.Delivered)
		s.recountLives(t, first, second)
		s.untilStock(t, inventory.Level{Available: 9, Committed: 1})
	})
}

// TestARenewedOrderKeepsWhatItHas: the tables are restored to the time after the order was paid and its
// shipment was booked. The renewed order goes on with this payment, this reservation and this shipment,
// whose reports move it; only what it does from then on has new keys.
func TestARenewedOrderKeepsWhatItHas(t *testing.T) {
	if testing.Short() {
		t.Skip("TestAnOrderIsDelivered has the same goroutines")
	}

	synctest.Test(t, func(t *testing.T) {
		s := newSlowBackend(t)
		s.env.Execute(mug)
		s.until(workflow.PaymentReceived)
		s.env.Wait("the booking", func() (bool, string, error) { return len(s.bookings(t)) == 1, "", nil })
		first, saved := s.orderNow(t), s.save(t)

		s.untilOrder(t, workflow.Delivered)
		time.Sleep(time.Minute)
		s.restore(t, saved)

		if renewed, err := s.Orders.Renew(t.Context(), s.orderNow(t)); !renewed || err != nil {
			t.Fatal(renewed, err)
		}
		second := s.orderNow(t)

		if second.LifeID() == first.LifeID() || second.EffectKey(2, "any") != first.EffectKey(2, "any") || second.EffectKey(3, "any") == first.EffectKey(3, "any") {
			t.Errorf("the lives %s and %s", first.LifeID(), second.LifeID())
		}

		if id, err := s.Payments.OfOrder(t.Context(), second.LifeIDs()); id != payments.IDForOrder(first.LifeID()) || err != nil {
			t.Errorf("the payment is %s, %v", id, err)
		}

		// A shipment of a transition that was forgotten is not the order's.
		forgotten := shipping.Report{ID: "late", Shipment: first.EffectKey(3, shipping.Effect), OrderID: string(mug.ID), Milestone: shipping.Shipped}
		if answer, err := s.Reports.Take(t.Context(), forgotten); answer != shipping.Rejected || err != nil {
			t.Errorf("a forgotten shipment: answer %d, %v", answer, err)
		}

		for _, m := range []shipping.Milestone{shipping.Shipped, shipping.Delivered} {
			r := shipping.Report{ID: "again/" + string(m), Shipment: first.EffectKey(2, shipping.Effect), OrderID: string(mug.ID), Milestone: m}
			if answer, err := s.Reports.Take(t.Context(), r); answer != shipping.Accepted || err != nil {
				t.Errorf("%s: answer %d, %v", m, answer, err)
			}
		}

		s.untilOrder(t, workflow.Delivered)
		s.recountLives(t, first)
		s.untilStock(t, inventory.Level{Available: 9, Committed: 1})
	})
}

// save returns the items of the tables that a restore to a point in time brings back. The tables of the
// bank and the carrier are theirs, and the ledger is left alone because this process goes on and has read
// its accounts.
func (s *stockedBackend) save(t *testing.T) map[string][]map[string]types.AttributeValue {
	t.Helper()

	saved := map[string][]map[string]types.AttributeValue{}
	for _, table := range []string{
		s.Tables.Orders, s.Tables.Events, s.Tables.Payments, s.Tables.PaymentsDue, s.Tables.Inventory, s.Tables.InventoryDue,
		s.Tables.Once, s.Tables.CarrierReports,
	} {
		saved[table] = nil
		scan(t, s.DynamoDB, table, func(item map[string]types.AttributeValue) { saved[table] = append(saved[table], item) })
	}

	return saved
}

// restore brings back the items that save returned.
func (s *stockedBackend) restore(t *testing.T, saved map[string][]map[string]types.AttributeValue) {
	t.Helper()

	for table, items := range saved {
		out, err := s.DynamoDB.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
		if err != nil {
			t.Fatal(err)
		}

		var key []string
		for _, k := range out.Table.KeySchema {
			key = append(key, *k.AttributeName)
		}
		s.restoreTable(t, table, key, items)
	}
}

// restoreTable makes the table hold these items and no others.
func (s *stockedBackend) restoreTable(t *testing.T, table string, key []string, items []map[string]types.AttributeValue) {
	t.Helper()

	scan(t, s.DynamoDB, table, func(item map[string]types.AttributeValue) {
		is := dynamo.Item{}
		for _, name := range key {
			is[name] = item[name]
		}

		if _, err := s.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: is}); err != nil {
			t.Fatal(err)
		}
	})

	for _, item := range items {
		if _, err := s.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}
