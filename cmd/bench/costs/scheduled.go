package costs

import (
	"context"
	"errors"
	"time"

	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

// measureScheduled measures what a request for later costs, without the journal.
func measureScheduled(ctx context.Context) (t Table, err error) {
	l, err := openEngine(ctx, transitions.Mapping{}.OrdersTable("orders"), timers.TableInput("orders-due"), scheduled.TableInput("scheduled"))
	if err != nil {
		return Table{}, err
	}
	defer func() { err = errors.Join(err, l.close()) }()

	orders, err := transitions.New(transitions.Config{DynamoDB: l.db, Table: "orders"})
	if err != nil {
		return Table{}, err
	}

	later := time.Duration(0)

	schedule, err := scheduled.New(scheduled.Config{
		DynamoDB: l.db, Table: "scheduled", DueTable: "orders-due", Orders: orders,
		Now: func() time.Time { return time.Now().Add(later) },
	})
	if err != nil {
		return Table{}, err
	}

	_, err = orders.Create(ctx, transitions.NewOrder{
		ID:    "o-1",
		Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
		Total: transitions.Money{Amount: 2500, Currency: "EUR"},
	})
	if err != nil {
		return Table{}, err
	}

	add := l.calls(&t, &err)

	var placed scheduled.Placed

	at := time.Now().Add(time.Hour)
	place := func(event workflow.Event) func() error {
		return func() (err error) {
			placed, err = schedule.Place(ctx, transitions.Request{OrderID: "o-1", Event: event, RequestID: transitions.RequestID("later-" + event)}, at)
			return err
		}
	}
	sweep := func() error {
		_, err := schedule.Sweep(ctx, 100)
		return err
	}

	// The clock asks once in the life of a process what time it is.
	if err := sweep(); err != nil {
		return Table{}, err
	}

	add("a look at what is due, while no request is kept", sweep)
	add("a request for later is placed", place(workflow.Pay))
	add("it is moved", func() error {
		_, err := schedule.Move(ctx, "o-1", placed.Request.ID, at.Add(time.Minute))
		return err
	})
	add("it is withdrawn", func() error {
		_, err := schedule.Withdraw(ctx, "o-1", placed.Request.ID)
		return err
	})
	add("a look at what is due, when nothing is", sweep)

	if err == nil {
		err = place(workflow.Cancel)()
	}

	later = 2 * time.Hour
	add("the same, and one request is applied", sweep)

	if err == nil {
		later = 0
		err = place(workflow.Ship)()
	}

	later = 4 * time.Hour
	add("the same, and one request is refused", sweep)

	return t, err
}
