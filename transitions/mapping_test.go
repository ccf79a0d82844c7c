package transitions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// aLife is a program of every kind of write and read of an order. It returns what a caller has seen, without what
// differs from run to run, and the names of the order's attributes after each step.
func aLife(t *testing.T, s *orders) (seen []string, items []map[string]types.AttributeValue) {
	t.Helper()

	const id = "a/1 #é"
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	life := transitions.NewIncarnation(at)
	ctx := t.Context()

	note := func(step string, r transitions.Result, err error) {
		t.Helper()

		// What the step has cost: its calls, each of which writes or reads the same items in every mapping.
		text := fmt.Sprintf("%s: %s %s %v, with %v", step, r.Verdict, r.Reason, err, s.Wire.Calls())
		if o := r.Order; o != nil {
			shown, fault := json.Marshal(map[string]any{
				"id": o.ID, "state": o.State, "previous": o.PreviousState, "transition": o.TransitionID, "version": o.DefinitionVersion,
				"items": o.Items, "total": o.Total, "content": o.ContentVersion, "shipping": map[string]string(o.Shipping),
				"billing": map[string]string(o.Billing), "notes": len(o.Notes), "customer": o.Customer, "reference": o.Reference,
				"metadata": map[string]string(o.Metadata), "placedBy": o.PlacedBy, "cause": o.Cause, "editCause": o.EditCause,
				"unreadable": o.Unreadable, "erased": !o.ErasedAt.IsZero(), "placed": !o.CreatedAt.IsZero(),
				"updated": !o.UpdatedAt.IsZero(), "entered": !o.EnteredAt().IsZero(), "parcels": o.Parcels(), "recent": len(o.Recent()),
				"lives": len(o.LifeIDs()), "placedWith": o.PlacedWith(o.Content()),
			})
			if fault != nil {
				t.Fatal(fault)
			}
			text += " " + string(shown)
		}
		seen, items = append(seen, text), append(items, s.Item(t, id))
		s.Wire.Reset()
	}
	edit := func(key transitions.RequestID) transitions.Edit {
		return transitions.Edit{OrderID: id, EventID: key, Cause: transitions.Cause{Text: "as asked", Actor: "cli:ada"}}
	}
	apply := func(step string, r transitions.Request) {
		t.Helper()
		r.OrderID = id
		result, err := s.Apply(ctx, r)
		note(step, result, err)
	}

	placed := transitions.NewOrder{
		ID: id, Items: []transitions.Item{{SKU: "mug", Quantity: 3, Price: 5}, {SKU: "cup", Quantity: 1, Price: 1}},
		Total: transitions.Money{Amount: 16, Currency: "EUR"}, Customer: "c-1", Reference: "r-1", PlacedBy: "an execution",
		Shipping: transitions.Address{"city": "Ulm"}, Billing: transitions.Address{"city": "Bonn"},
		Metadata: transitions.Metadata{"channel": "web"}, Incarnation: life, Cause: transitions.Cause{Code: "new", Text: "placed", Trace: trace},
	}
	for _, step := range []string{"place", "place again"} {
		result, err := s.Create(ctx, placed)
		note(step, result, err)
	}
	placed.Customer = "c-2"
	result, err := s.Create(ctx, placed)
	note("place other content", result, err)

	result, err = s.AddItems(ctx, edit("e-1"), transitions.Item{SKU: "pen", Quantity: 1, Price: 2})
	note("add", result, err)
	result, err = s.AddItems(ctx, edit("e-1"), transitions.Item{SKU: "pen", Quantity: 1, Price: 2})
	note("add again", result, err)
	result, err = s.ChangeItem(ctx, edit("e-2"), transitions.Item{SKU: "mug", Quantity: 2, Price: 5})
	note("change", result, err)
	result, err = s.RemoveItem(ctx, edit("e-3"), "cup")
	note("remove", result, err)
	result, err = s.SetAddress(ctx, edit("e-4"), "billing", transitions.Address{"city": "Köln"})
	note("address", result, err)
	result, err = s.AddNote(ctx, edit("e-5"), transitions.Note{By: "ada", Text: "ring twice"})
	note("note", result, err)

	add, err := s.AddItemsIn(edit("e-6"), transitions.Item{SKU: "cap", Quantity: 1, Price: 9})
	if err != nil {
		t.Fatal(err)
	}

	writer, err := txn.New(txn.Config{DynamoDB: s.DB})
	if err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second time, the transaction brings the order, which has made the edit
		var tx txn.Transaction
		add(&tx)
		note("add in a transaction", transitions.Result{}, errKind(writer.Write(ctx, &tx)))
	}

	order, found, err := s.Get(ctx, id)
	if err != nil || !found {
		t.Fatalf("the order is not found: %v", err)
	}
	var check txn.Transaction
	s.Unchanged(order)(&check)
	note("unchanged", transitions.Result{Order: order}, writer.Write(ctx, &check))

	content := order.ContentVersion + 1
	apply("pay other content", transitions.Request{Event: workflow.Pay, TransitionID: 2, IfContent: &content})
	apply("pay", transitions.Request{Event: workflow.Pay, TransitionID: 2, RequestID: "p", Cause: transitions.Cause{Code: "paid", Text: "by card", Actor: "bank"}})
	apply("pay again", transitions.Request{Event: workflow.Pay, TransitionID: 2, RequestID: "p"})
	apply("pay late", transitions.Request{Event: workflow.Pay, TransitionID: 3})
	apply("in another life", transitions.Request{Event: workflow.Ship, TransitionID: 3, Incarnation: "06se1is71063e"})

	renewed, err := s.Renew(ctx, order)
	note(fmt.Sprintf("renew an order that has moved: %t", renewed), transitions.Result{}, err)
	order, _, _ = s.Get(ctx, id)
	renewed, err = s.Renew(ctx, order)
	note(fmt.Sprintf("renew: %t", renewed), transitions.Result{}, err)

	for _, p := range []transitions.Parcel{
		{OrderID: id, ID: "p-1", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 2}}},
		{OrderID: id, ID: "p-1", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 2}}},
		{OrderID: id, ID: "p-2", Lines: []transitions.ParcelLine{{SKU: "pen", Quantity: 1}, {SKU: "cap", Quantity: 1}}},
	} {
		result, err := s.ShipParcel(ctx, p)
		note("parcel", result, err)
	}

	apply("deliver", transitions.Request{Event: workflow.Deliver, RequestID: "d"})

	for n := range 5 { // until the ring has forgotten requests
		apply("return", transitions.Request{Event: workflow.RequestReturn, RequestID: transitions.RequestID(fmt.Sprint("r-", n))})
		apply("reject", transitions.Request{Event: workflow.RejectReturn, RequestID: transitions.RequestID(fmt.Sprint("j-", n))})
	}
	// A writer without a table of requests leaves no rows.
	other := s.Shop.Orders(shop.Journal(s.mode), shop.WithoutRequests)
	for n, event := range []workflow.Event{workflow.RequestReturn, workflow.RejectReturn} {
		result, err := other.Apply(ctx, transitions.Request{OrderID: id, Event: event, TransitionID: transitions.TransitionID(20 + n)})
		note("without a table of requests", result, err)
	}
	apply("with a table again", transitions.Request{Event: workflow.RequestReturn, TransitionID: 22})
	apply("and back", transitions.Request{Event: workflow.RejectReturn, TransitionID: 23})

	apply("forgotten", transitions.Request{Event: workflow.RequestReturn, RequestID: "r-1"})
	apply("return", transitions.Request{Event: workflow.RequestReturn, TransitionID: 24})
	apply("return it", transitions.Request{Event: workflow.ReceiveReturn, TransitionID: 25})
	apply("refund", transitions.Request{Event: workflow.Refund, TransitionID: 26})

	if order, _, err = s.Get(ctx, id); err != nil {
		t.Fatal(err)
	}

	erase, err := s.EraseIn(order)
	if err != nil {
		t.Fatal(err)
	}
	var erasure txn.Transaction
	erase(&erasure)
	err = writer.Write(ctx, &erasure)
	order, _, _ = s.Get(ctx, id)
	note("erase", transitions.Result{Order: order}, err)

	names := []string{}
	err = s.Scan(ctx, transitions.Sweep{Segments: 1}, dynamodb.ScanInput{
		FilterExpression:          aws.String("orderState = :s"),
		ExpressionAttributeValues: dynamo.Item{":s": dynamo.S(string(order.State))},
		ProjectionExpression:      aws.String("orderId, orderState, transitionId"),
	}, func(_ context.Context, o *transitions.Order, err error) error {
		names = append(names, fmt.Sprint(o.ID, o.State, o.TransitionID, err))
		return nil
	})
	note("scan: "+strings.Join(names, ", "), transitions.Result{}, err)

	return seen, items
}

// errKind leaves out of an error what differs from run to run.
func errKind(err error) error {
	if err == nil {
		return nil
	}

	return fmt.Errorf("%T", err)
}

// namesIn returns the item with the mapping's names, written out and not taken from the code under test.
func namesIn(m transitions.Mapping, item map[string]types.AttributeValue) []string {
	var names []string
	for name := range item {
		switch {
		case name == "orderId":
			names = append(names, m.PartitionKey)
		case m.Attributes[name] != "":
			names = append(names, m.Attributes[name])
		default:
			names = append(names, m.Prefix+name)
		}
	}

	if m.SortKey != "" {
		names = append(names, m.SortKey)
	}
	slices.Sort(names)

	return names
}

// lived is what a caller has seen of an order's life, and the order's items.
type lived struct {
	seen  []string
	items []map[string]types.AttributeValue
}

func live(t *testing.T, s *orders) (l lived) {
	t.Helper()
	l.seen, l.items = aLife(t, s)

	return l
}

// differsFrom returns the first step after which a caller has seen something else than in Ratchet's own table, or
// the item has not the names of the mapping.
func (l lived) differsFrom(own lived, m transitions.Mapping) string {
	for i, want := range own.seen {
		if l.seen[i] != want {
			return fmt.Sprintf("own table: %s\nmapped:    %s", want, l.seen[i])
		}

		if names := slices.Sorted(maps.Keys(l.items[i])); !slices.Equal(names, namesIn(m, own.items[i])) {
			return fmt.Sprintf("%s: the item has %q, want %q", want, names, namesIn(m, own.items[i]))
		}
	}

	return ""
}

// What a caller sees does not depend on the mapping, and each attribute has the name that the mapping gives it.
func TestAnOrderLivesInEveryMapping(t *testing.T) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		own := live(t, newOrdersIn(t, mode))

		for name, mapping := range shop.Mappings() {
			if mapping.PartitionKey == "" {
				continue
			}

			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				if d := live(t, newMappedOrders(t, mode, mapping)).differsFrom(own, mapping); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// A field whose name is not the mapping's is noticed, whichever it is: with its default in place of the mapping's name,
// or with another name.
func TestEachFieldOfAMappingIsUsed(t *testing.T) {
	own := live(t, newOrders(t))

	// No field of this mapping has the name of another field, so each of them may have its default.
	renamed := transitions.Mapping{PartitionKey: "pk", Key: "ORDER#{id}", Attributes: map[string]string{}}
	for _, field := range renamed.Fields() {
		renamed.Attributes[field] = "my." + field
	}

	for _, field := range renamed.Fields() {
		if field == "timers" {
			continue // only orders with timed transitions have it: see TestTimersInEveryMapping
		}

		for what, change := range map[string]func(map[string]string){
			"its default":  func(names map[string]string) { delete(names, field) },
			"another name": func(names map[string]string) { names[field] = "other." + field },
		} {
			one := renamed
			one.Attributes = maps.Clone(renamed.Attributes)
			change(one.Attributes)

			if live(t, newMappedOrders(t, transitions.JournalByStream, one)).differsFrom(own, renamed) == "" {
				t.Errorf("the field %s may have %s, and nothing notices it", field, what)
			}
		}
	}
}
