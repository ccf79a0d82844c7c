package costs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	ordersTable, journalTable, requestsTable = "orders", "order-events", "order-requests"

	orderID transitions.OrderID = "8f14e45f-ceea-467f-a1d3-c1b5d1e7a7c2"
)

// noon is the time of every transition. It is fixed because the digits of a time count in the
// size of an item.
var noon = time.UnixMilli(1795262400123)

// orderMeter is a metered engine with orders.
type orderMeter struct {
	*meteredEngine
	*transitions.Orders
	last transitions.Result
}

func openOrders(ctx context.Context, mode transitions.JournalMode) (*orderMeter, error) {
	l, err := openEngine(ctx, transitions.Mapping{}.OrdersTable(ordersTable), transitions.JournalTable(journalTable), transitions.RequestsTable(requestsTable))
	if err != nil {
		return nil, err
	}

	orders, err := transitions.New(transitions.Config{
		DynamoDB:      l.db,
		Table:         ordersTable,
		JournalTable:  journalTable,
		RequestsTable: requestsTable,
		Journal:       mode,
		Log:           quiet,
		Now:           func() time.Time { return noon },
	})
	if err != nil {
		return nil, err
	}

	// The first call of a process asks for the time. It is not one of those that are measured.
	_, err = orders.NewIncarnation(ctx)

	return &orderMeter{meteredEngine: l, Orders: orders}, err
}

// apply returns the cost of the request. Another verdict than the wanted one is an error.
func (s *orderMeter) apply(ctx context.Context, r transitions.Request, want transitions.Verdict) (Units, error) {
	return s.of(func() error {
		var err error
		if s.last, err = s.Apply(ctx, r); err == nil && s.last.Verdict != want {
			err = fmt.Errorf("apply %+v: %s, want %s", r, s.last.Verdict, want)
		}

		return err
	})
}

// place creates the order with that many lines and returns its cost.
func (s *orderMeter) place(ctx context.Context, lines int) (Units, error) {
	order := transitions.NewOrder{ID: orderID, Total: transitions.Money{Currency: "EUR"}}
	for i := range lines {
		line := transitions.Item{SKU: fmt.Sprintf("mug-%02d", i), Quantity: 2, Price: 1250}
		order.Items, order.Total.Amount = append(order.Items, line), order.Total.Amount+line.Quantity*line.Price
	}

	// Result and error are kept, because later calls go on from the placed order.
	return s.of(func() (err error) { s.last, err = s.Create(ctx, order); return err })
}

// record writes the journal row of the last transition, as the stream's reader does.
func (s *orderMeter) record(ctx context.Context) error {
	t := s.last.Transition

	return s.Record(ctx, transitions.Change{
		// The reader has both images; the journal needs only the old one's transitionId.
		Old:        &transitions.Order{TransitionID: t.ID - 1},
		New:        s.last.Order,
		Transition: t,
	})
}

// life lists the events of an order: paid, shipped, delivered, and then returns, until the ring
// is full.
var life = []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver, workflow.RequestReturn, workflow.RejectReturn,
	workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn, workflow.RejectReturn}

// given returns the request for the transition n, with that id.
func given(n int) transitions.Request {
	return transitions.Request{OrderID: orderID, Event: life[n-2], TransitionID: transitions.TransitionID(n)}
}

// keyed returns a request whose transition id is assigned.
func keyed(event workflow.Event, key transitions.RequestID) transitions.Request {
	return transitions.Request{OrderID: orderID, Event: event, RequestID: key}
}

// measurePaths measures the cost of each way to request a transition, for an order below 1 KB.
func measurePaths(ctx context.Context) (Table, error) {
	t := Table{Head: []string{"call", "read units", "write units"}}
	row := func(what string, u Units, err error) error {
		t.Rows = append(t.Rows, []string{what, number(u.Read), number(u.Write)})
		return err
	}

	// Both are measured also after an error, so that the table shows how far it came.
	return t, errors.Join(streamPaths(ctx, row), transactionalPaths(ctx, row))
}

// rowFunc adds a row to the table. It returns err.
type rowFunc = func(what string, u Units, err error) error

// streamPaths measures the calls with a journal that the stream's reader writes.
func streamPaths(ctx context.Context, row rowFunc) error {
	s, err := openOrders(ctx, transitions.JournalByStream)
	if err != nil {
		return err
	}
	defer s.close()
	seen := transitions.TransitionID(3)
	matched := keyed(workflow.Release, "key-2")
	// A pointer, so that a later call can change the version.
	matched.IfMatch = &seen
	type call struct {
		what string
		do   func() (Units, error)
	}
	apply := func(r transitions.Request, want transitions.Verdict) func() (Units, error) {
		return func() (Units, error) { return s.apply(ctx, r, want) }
	}

	hold := transitions.Request{OrderID: orderID, Event: workflow.Hold, TransitionID: 2}
	other := transitions.Request{OrderID: orderID, Event: workflow.Cancel, TransitionID: 2}
	record := func() (Units, error) { return s.of(func() error { return s.record(ctx) }) }
	// The calls build on each other: their order is part of the measurement.
	for _, c := range []call{
		{what: "place", do: func() (Units, error) { return s.place(ctx, 1) }},
		{what: "transition, id given", do: apply(hold, transitions.Applied)},
		{what: "its journal row, by the stream's reader", do: record},
		{what: "the row again, after a redelivery", do: record},
		{what: "the same again (replayed)", do: apply(hold, transitions.Replayed)},
		{what: "another request under the id (conflict)", do: apply(other, transitions.Conflict)},
		{
			what: "in the wrong state (refused)",
			do: apply(transitions.Request{
				OrderID:      orderID,
				Event:        workflow.Ship,
				TransitionID: 3,
			}, transitions.WrongState),
		},
		{
			what: "of no order (not found)",
			do: apply(transitions.Request{
				OrderID:      "none",
				Event:        workflow.Ship,
				TransitionID: 3,
			}, transitions.NotFound),
		},
		{
			what: "illegal in every state",
			do: apply(transitions.Request{
				OrderID:      orderID,
				Event:        workflow.Ship,
				From:         workflow.Delivered,
				TransitionID: 3,
			}, transitions.Illegal),
		},
		{
			what: "release, id given",
			do: apply(transitions.Request{
				OrderID:      orderID,
				Event:        workflow.Release,
				TransitionID: 3,
			}, transitions.Applied),
		},
		{what: "transition, id assigned", do: apply(keyed(workflow.Hold, "key-1"), transitions.Applied)},
		{what: "the same again (replayed)", do: apply(keyed(workflow.Hold, "key-1"), transitions.Replayed)},
		{
			what: "transition, If-Match given, of a past version (superseded)",
			do:   apply(matched, transitions.Superseded),
		},
		{
			what: "transition, If-Match given",
			// The order has moved since: now the version is the current one.
			do: func() (Units, error) { seen = 4; return s.apply(ctx, matched, transitions.Applied) },
		},
	} {
		u, err := c.do()
		if err := row(c.what, u, err); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}

	return nil
}

// transactionalPaths measures the calls that write the journal in the same transaction.
func transactionalPaths(ctx context.Context, row rowFunc) error {
	s, err := openOrders(ctx, transitions.JournalTransactional)
	if err != nil {
		return err
	}
	defer s.close()

	u, err := s.place(ctx, 1)
	if err := row("place, journal in the same transaction", u, err); err != nil {
		return err
	}

	u, err = s.apply(ctx, given(2), transitions.Applied)
	if err := row("transition, id given, journal in the same transaction", u, err); err != nil {
		return err
	}
	u, err = s.apply(ctx, given(2), transitions.Replayed)

	return row("the same again (replayed)", u, err)
}

// kind describes orders whose growth is measured.
type kind struct {
	what  string
	lines int
	// named orders get a request id with every request.
	named bool
	// address says that an address is set before the payment.
	address bool
	// cause is the cause of every transition.
	cause transitions.Cause
}

// longestCause has a text and a trace that together are as long as allowed, as an execution sends
// them.
var longestCause = transitions.Cause{
	Text:   strings.Repeat("t", 73),
	Actor:  "execution:" + string(orderID),
	Source: "execution",
	Trace:  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}

// withCode returns the cause with a code.
func withCode(c transitions.Cause) transitions.Cause {
	c.Code = "out-of-stock"

	return c
}

var kinds = []kind{
	{what: "one line", lines: 1},
	{what: "one line, text and trace", lines: 1, cause: longestCause},
	{what: "one line, a code as well", lines: 1, cause: withCode(longestCause)},
	{what: "one line, request ids", lines: 1, named: true},
	{what: "three lines, an address", lines: 3, address: true},
	{what: "ten lines", lines: 10},
}

// measureSizes measures how an order grows with its transitions, and the cost of each transition.
func measureSizes(ctx context.Context) (Table, error) {
	t := Table{Head: []string{"transition"}}
	// The first row is the placing.
	for n := range len(life) + 1 {
		t.Rows = append(t.Rows, []string{fmt.Sprint(n + 1)})
	}

	for _, k := range kinds {
		t.Head = append(t.Head, k.what)
		cells, err := k.grow(ctx)
		if err != nil {
			return t, fmt.Errorf("%s: %w", k.what, err)
		}

		for i, cell := range cells {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}

	return t, nil
}

// grow returns the cells of one column: size and cost after each transition.
func (k kind) grow(ctx context.Context) (cells []string, err error) {
	s, err := openOrders(ctx, transitions.JournalByStream)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var bill map[string]Units
	cell := func() error {
		size, err := s.bytes(ctx, ordersTable)

		text := fmt.Sprintf("%d B, %s", size, number(bill[ordersTable].Write))
		// Rows and reads occur only with request ids.
		if row, read := bill[requestsTable].Write, sum(bill).Read; row+read != 0 {
			text += fmt.Sprintf(" (and %s for a row, %s read)", number(row), number(read))
		}
		cells = append(cells, text)

		return err
	}

	if _, err := s.place(ctx, k.lines); err != nil {
		return nil, err
	}

	// The edit below has a bill of its own, and the cell shows the placing.
	bill = s.meteredEngine.last

	if k.address {
		if _, err := s.SetAddress(ctx, transitions.Edit{OrderID: orderID, EventID: "address-1"}, "shipping",
			transitions.Address{
				"name":       "A. Customer",
				"street":     "12 Example Street",
				"city":       "Exampletown",
				"postalCode": "12345",
				"country":    "DE",
			}); err != nil {
			return nil, err
		}
	}

	if err := cell(); err != nil {
		return nil, err
	}

	for n := 2; n < len(life)+2; n++ {
		r := given(n)
		r.Cause = k.cause

		if k.named {
			r.RequestID = transitions.RequestID(fmt.Sprintf("key-%d", n))
		}

		_, err := s.apply(ctx, r, transitions.Applied)
		// The bill is the transition's alone; the size is read from the table.
		if bill = s.meteredEngine.last; err == nil {
			err = cell()
		}

		if err != nil {
			return nil, fmt.Errorf("transition %d: %w", n, err)
		}
	}

	return cells, nil
}

// PerTransition measures the average cost of a transition: an order with one line, from its payment
// until its ring is full, with given ids.
func PerTransition(ctx context.Context) (average Units, err error) {
	s, err := openOrders(ctx, transitions.JournalByStream)
	if err != nil {
		return average, err
	}
	defer s.close()

	if _, err := s.place(ctx, 1); err != nil {
		return average, err
	}

	for n := 2; n < len(life)+2; n++ {
		u, err := s.apply(ctx, given(n), transitions.Applied)
		if err != nil {
			return average, err
		}
		average = average.plus(u)
	}

	return Units{Read: average.Read / float64(len(life)), Write: average.Write / float64(len(life))}, nil
}
