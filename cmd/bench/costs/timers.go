package costs

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

// measureTimers measures what timed transitions cost in addition to the transitions that callers make.
func measureTimers(ctx context.Context) (t Table, err error) {
	l, err := openEngine(ctx, transitions.Mapping{}.OrdersTable("orders"), timers.TableInput("orders-due"))
	if err != nil {
		return Table{}, err
	}
	defer func() { err = errors.Join(err, l.close()) }()

	definition, err := workflow.OrderWith(workflow.Terms{ExpireUnpaid: time.Hour})
	if err != nil {
		return Table{}, err
	}

	orders, err := transitions.New(transitions.Config{DynamoDB: l.db, Table: "orders", Definition: definition})
	if err != nil {
		return Table{}, err
	}

	later := time.Duration(0)

	timed, err := timers.New(timers.Config{
		DynamoDB: l.db, Table: "orders-due", Orders: orders,
		Now: func() time.Time { return time.Now().Add(later) },
	})
	if err != nil {
		return Table{}, err
	}

	add := l.calls(&t, &err)
	sweep := func() error {
		_, err := timed.Sweep(ctx, 100)
		return err
	}

	images, err := timedHistory(ctx, l.db, orders)
	if err != nil {
		return Table{}, err
	}

	// The clock asks once in the life of a process what time it is.
	if err := sweep(); err != nil {
		return Table{}, err
	}

	add("an order enters a state that time leaves", func() error { return timed.Record(ctx, nil, images[0]) })
	add("it moves within its state, or is edited", func() error { return timed.Record(ctx, images[0], images[0]) })
	add("it leaves the state", func() error { return timed.Record(ctx, images[0], images[1]) })
	add("a look at what is due, when nothing is", sweep)

	if err == nil {
		err = timed.Record(ctx, nil, images[2])
	}

	later = 2 * time.Hour
	add("the same, and one order is moved", sweep)

	return t, err
}

// timedHistory places two orders and pays the first. It returns the items of the first one before and after that, and that
// of the second.
func timedHistory(ctx context.Context, db *dynamodb.Client, orders *transitions.Orders) (images []dynamo.Item, err error) {
	item := func(id string) error {
		out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: dynamo.Item{"orderId": dynamo.S(id)}})
		if err == nil {
			images = append(images, out.Item)
		}

		return err
	}

	place := func(id transitions.OrderID) error {
		_, err := orders.Create(ctx, transitions.NewOrder{
			ID:    id,
			Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
			Total: transitions.Money{Amount: 2500, Currency: "EUR"},
		})

		return err
	}

	for _, step := range []func() error{
		func() error { return place("o-1") },
		func() error { return item("o-1") },
		func() error {
			_, err := orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2})
			return err
		},
		func() error { return item("o-1") },
		func() error { return place("o-2") },
		func() error { return item("o-2") },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}

	return images, nil
}
