package costs

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// listedOrders is how many orders the lists hold when a page is read.
const listedOrders = 500

// measureLists measures the cost of the lists of orders, in addition to the transitions themselves.
func measureLists(ctx context.Context) (t Table, err error) {
	l, err := openEngine(ctx, transitions.Mapping{}.OrdersTable("orders"), lists.TableInput("lists"))
	if err != nil {
		return Table{}, err
	}
	defer func() { err = errors.Join(err, l.close()) }()

	orders, err := transitions.New(transitions.Config{DynamoDB: l.db, Table: "orders"})
	if err != nil {
		return Table{}, err
	}

	kept, err := lists.New(lists.Config{DynamoDB: l.db, Table: "lists", Orders: orders})
	if err != nil {
		return Table{}, err
	}

	add := l.calls(&t, &err)

	history, err := listedHistory(ctx, orders)
	if err != nil {
		return Table{}, err
	}

	// An order of a customer has a row in one more list.
	placed, err := orders.Create(ctx, transitions.NewOrder{ID: "of-customer", Total: transitions.Money{Amount: 2500, Currency: "EUR"}, Customer: "c-1"})
	if err != nil {
		return Table{}, err
	}
	ofCustomer := transitions.Change{New: placed.Order, Transition: placed.Transition}

	add("an order is placed", func() error { return kept.Record(ctx, history[0]) })
	add("an order of a customer is placed", func() error { return kept.Record(ctx, ofCustomer) })
	add("it enters another state", func() error { return kept.Record(ctx, history[1]) })
	add("it moves within its state", func() error { return kept.Record(ctx, history[3]) })
	add("a record comes again or late", func() error { return kept.Record(ctx, history[2]) })

	// The handler gets the removal as a change of the stream, so the order must be gone.
	if err == nil {
		err = deleteOrder(ctx, l.db, ofCustomer.New.ID)
	}
	add("an order of a customer is deleted", func() error { return kept.Remove(ctx, ofCustomer.New) })

	if err != nil {
		return Table{}, err
	}

	// The other orders were placed without the handler, so the lists do not have them yet.
	if _, rebuilt := kept.Rebuild(ctx, nil); err == nil {
		err = rebuilt
	}

	read := func(from *lists.Lists, state workflow.State) func() error {
		return func() error {
			_, err := inspect.Listed(ctx, orders, from, "", inspect.Page{State: state, Limit: 10})
			return err
		}
	}
	add(fmt.Sprintf("the one of %d orders in a state, from the lists", listedOrders), read(kept, workflow.OnHold))
	add("the same from a scan", read(nil, workflow.OnHold))
	add("a page of 10 that are in a state like all others, from the lists", read(kept, workflow.Pending))
	add("the same from a scan", read(nil, workflow.Pending))

	return t, err
}

func deleteOrder(ctx context.Context, db *dynamodb.Client, id transitions.OrderID) error {
	_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String("orders"),
		Key:       dynamo.Item{"orderId": dynamo.S(string(id))},
	})

	return err
}

// listedHistory places the orders and returns the changes of the first: placed, on hold,
// released and on hold again.
func listedHistory(ctx context.Context, orders *transitions.Orders) (changes []transitions.Change, err error) {
	for i := range listedOrders {
		n := transitions.NewOrder{
			ID:    transitions.OrderID(fmt.Sprintf("o-%03d", i)),
			Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
			Total: transitions.Money{Amount: 2500, Currency: "EUR"},
		}

		placed, err := orders.Create(ctx, n)
		if err != nil {
			return nil, err
		}

		// Only the first order moves; the others fill the list.
		if i == 0 {
			changes = append(changes, transitions.Change{New: placed.Order, Transition: placed.Transition})
		}
	}

	for id, event := range []workflow.Event{workflow.Hold, workflow.Release, workflow.Hold} {
		old := changes[len(changes)-1].New

		r, err := orders.Apply(ctx, transitions.Request{OrderID: old.ID, Event: event, TransitionID: transitions.TransitionID(id + 2)})
		if err != nil {
			return nil, err
		}
		changes = append(changes, transitions.Change{Old: old, New: r.Order, Transition: r.Transition})
	}

	return changes, nil
}
