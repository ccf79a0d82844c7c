package costs

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

// timed is a definition whose orders expire at the time in an attribute, which a measurement can choose.
func timed() (*workflow.Definition, error) {
	return workflow.New(workflow.Spec{
		Name: "timed", Version: 1, Place: workflow.Place, Initial: workflow.Pending, Content: []workflow.Part{},
		States: []workflow.StateSpec{{State: workflow.Pending}, {State: workflow.Expired, Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: workflow.Expire, From: []workflow.State{workflow.Pending}, To: workflow.Expired, After: &workflow.After{Attribute: "dueAt"}},
		},
		Editable: []workflow.State{workflow.Pending},
	})
}

// timerMeter measures what the timers of orders cost, in addition to the transitions themselves.
type timerMeter struct {
	*meteredEngine
	orders *transitions.Orders
	timers *timers.Timers
	table  Table
	err    error // of the first failure; nothing more is measured after it
}

func measureTimers(ctx context.Context) (Table, error) {
	l, err := openEngine(ctx, transitions.Mapping{}.OrdersTable(ordersTable), timers.TableInput("orders-due"))
	if err != nil {
		return Table{}, err
	}
	m := &timerMeter{meteredEngine: l, table: Table{Head: []string{"what happens", "read units", "write units"}}}

	if err := m.open(); err != nil {
		return Table{}, errors.Join(err, l.close())
	}

	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	created := m.change(ctx, func() error { return m.place(ctx, "moved", future) }, "moved")
	edited := m.change(ctx, func() error { return m.move(ctx, "moved", past) }, "moved")
	left := m.change(ctx, func() error {
		_, err := m.orders.Apply(ctx, transitions.Request{OrderID: "moved", Event: workflow.Expire, RequestID: "r"})
		return err
	}, "moved")
	due := m.change(ctx, func() error { return m.place(ctx, "due", past) }, "due")

	m.add("an order enters a state with a timer", func() error { return created(ctx) })
	m.add("an edit moves the timer", func() error { return edited(ctx) })
	m.add("the order leaves the state", func() error { return left(ctx) })
	m.add("a sweep, every 15 seconds in each worker", func() error { return m.sweep(ctx, 0) })

	if m.err == nil {
		m.err = due(ctx)
	}
	m.add("a sweep that moves one order, with its transition", func() error { return m.sweep(ctx, 1) })

	return m.table, errors.Join(m.err, l.close())
}

func (m *timerMeter) open() (err error) {
	d, err := timed()
	if err != nil {
		return err
	}

	if m.orders, err = transitions.New(transitions.Config{DynamoDB: m.db, Table: ordersTable, Definition: d, Log: quiet}); err != nil {
		return err
	}

	m.timers, err = timers.New(timers.Config{DynamoDB: m.db, Table: "orders-due", Orders: m.orders, Log: quiet})

	return err
}

func (m *timerMeter) add(name string, call func() error) {
	if m.err != nil {
		return
	}

	var u Units
	u, m.err = m.of(call)
	m.table.Rows = append(m.table.Rows, []string{name, number(u.Read), number(u.Write)})
}

// change makes a change of an order and returns the call with which the stream reports it.
func (m *timerMeter) change(ctx context.Context, change func() error, id transitions.OrderID) (report func(context.Context) error) {
	before := m.item(ctx, id)
	if m.err == nil {
		m.err = change()
	}
	after := m.item(ctx, id)

	return func(ctx context.Context) error { return m.timers.Record(ctx, before, after) }
}

func (m *timerMeter) item(ctx context.Context, id transitions.OrderID) map[string]types.AttributeValue {
	if m.err != nil {
		return nil
	}

	name := ordersTable

	out, err := m.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: transitions.Mapping{}.ItemKey(id)})
	if err != nil {
		m.err = err
		return nil
	}

	return out.Item
}

func (m *timerMeter) place(ctx context.Context, id transitions.OrderID, due time.Time) error {
	_, err := m.orders.Create(ctx, transitions.NewOrder{ID: id, Own: transitions.Attributes{"dueAt": dynamo.Millis(due)}})
	return err
}

func (m *timerMeter) move(ctx context.Context, id transitions.OrderID, due time.Time) error {
	_, err := m.orders.SetOwn(ctx, transitions.Edit{OrderID: id, EventID: "e"}, transitions.OwnChange{Set: transitions.Attributes{"dueAt": dynamo.Millis(due)}})
	return err
}

func (m *timerMeter) sweep(ctx context.Context, rows int) error {
	swept, err := m.timers.Sweep(ctx, 10)
	if err == nil && swept.Rows != rows {
		err = errors.New("the sweep handled another number of rows")
	}

	return err
}
