package reactions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

// desk is a place of work whose effects are counted.
type desk struct {
	db       *dynamodb.Client
	notices  int
	carriers *sandbox.Carrier
}

func (d *desk) Send(context.Context, notify.Notification) error {
	d.notices++
	return nil
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{db: embeddedtest.DynamoDB(t, transitions.OrdersTable("orders"), transitions.JournalTable("events"),
		once.TableInput("once"), tasktoken.TableInput("parked"), sandbox.Table("shipments"))}
	d.carriers = &sandbox.Carrier{DynamoDB: d.db, Table: "shipments"}

	return d
}

// at returns the orders and reactions of workers of a version of the definition.
func (d *desk) at(t *testing.T, version int) (*transitions.Orders, map[string]streams.HandlerFunc) {
	t.Helper()
	spec := workflow.Order().Spec()
	spec.Version = version

	definition, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	orders, err := transitions.New(transitions.Config{DynamoDB: d.db, Table: "orders", JournalTable: "events", Definition: definition, Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	claims, err := once.New(once.Config{DynamoDB: d.db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	parked, err := tasktoken.New(tasktoken.Config{DynamoDB: d.db, Table: "parked"})
	if err != nil {
		t.Fatal(err)
	}

	r := &reactions.Reactions{Orders: orders, Claims: claims, Desk: shipping.NewDesk(claims, d.carriers),
		Parked: parked, Sink: d, Log: embeddedtest.Quiet()}
	handlers := map[string]streams.HandlerFunc{}
	for _, h := range r.Handlers() {
		handlers[h.Name] = h.Handle
	}

	return orders, handlers
}

// change runs fn and returns what it did to the order as a record.
func (d *desk) change(t *testing.T, fn func()) streams.Record {
	t.Helper()
	item := func() map[string]types.AttributeValue {
		out, err := d.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"),
			Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}}})
		if err != nil {
			t.Fatal(err)
		}

		return out.Item
	}
	old := item()
	fn()

	return streams.Record{Old: old, New: item()}
}

func placeAndPay(t *testing.T, orders *transitions.Orders) {
	t.Helper()

	if _, err := orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	if r, err := orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
}

// TestReactionsRefuseAnUnknownVersion: only a newer worker knows what is to be done
// about a state of a newer definition. The journal is written all the same.
func TestReactionsRefuseAnUnknownVersion(t *testing.T) {
	d := newDesk(t)

	newer, new := d.at(t, 2)
	_, old := d.at(t, 1)
	record := d.change(t, func() { placeAndPay(t, newer) })
	for _, name := range []string{reactions.ShippingHandler, reactions.NotifyHandler} {
		if err := old[name](t.Context(), record); !errors.Is(err, transitions.ErrUnknownVersion) {
			t.Errorf("%s: got %v", name, err)
		}

		if err := new[name](t.Context(), record); err != nil {
			t.Errorf("%s of the newer worker: %v", name, err)
		}
	}

	if err := old[reactions.JournalHandler](t.Context(), record); err != nil {
		t.Errorf("journal: %v", err)
	}

	if d.notices != 1 {
		t.Errorf("%d notices", d.notices)
	}
}

// TestMigrationTriggersNoReaction: the order has not moved for anybody outside. Whoever waits
// for it under its new name is answered.
func TestMigrationTriggersNoReaction(t *testing.T) {
	d := newDesk(t)
	older, _ := d.at(t, 1)
	newer, handlers := d.at(t, 2)
	placeAndPay(t, older)

	m, err := workflow.NewMigrations([]*workflow.Definition{older.Definition(), newer.Definition()}, []workflow.Migration{{From: 1, To: 2}})
	if err != nil {
		t.Fatal(err)
	}

	record := d.change(t, func() {
		order, _, err := newer.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		if _, moved, err := newer.Migrate(t.Context(), m, order); err != nil || !moved {
			t.Fatalf("moved %v, %v", moved, err)
		}
	})
	for name, handle := range handlers {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := handle(ctx, record); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}

	if d.notices != 0 {
		t.Errorf("%d notices", d.notices)
	}

	count, err := d.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("shipments")})
	if err != nil || count.Count != 0 {
		t.Errorf("%d shipments, %v", count.Count, err)
	}

	rows, err := newer.History(t.Context(), "o-1", 2, 0)
	if err != nil || len(rows) != 1 || rows[0].Event != workflow.Migrate {
		t.Errorf("journal %+v, %v", rows, err)
	}
}
