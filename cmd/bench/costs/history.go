package costs

import (
	"context"
	"errors"
	"fmt"

	"ratchet/transitions"
	"ratchet/workflow"
)

// histories measures the cost of requests on orders with longer and longer histories. No reader of
// the stream writes the journal.
func histories(ctx context.Context) (Table, error) {
	lengths := []int{9, 10, 100, 1000}
	columns := []struct {
		what    string
		measure func(*orderMeter, context.Context, int) (Units, error)
	}{
		{"id assigned", (*orderMeter).fresh},
		{"the first request again", (*orderMeter).oldest},
		{"If-Match given", (*orderMeter).matched},
		{"id given, no request id", (*orderMeter).unnamed},
	}

	t := Table{Head: []string{"transitions so far"}}
	for _, c := range columns {
		t.Head = append(t.Head, c.what)
	}

	for _, n := range lengths {
		s, err := openHistory(ctx, n)
		if err != nil {
			return t, err
		}

		row := []string{fmt.Sprint(n)}
		for i, c := range columns {
			u, err := c.measure(s, ctx, n+i)
			if err != nil {
				return t, errors.Join(fmt.Errorf("%s after %d transitions: %w", c.what, n, err), s.close())
			}
			row = append(row, number(u.Read)+" read, "+number(u.Write)+" written")
		}
		t.Rows = append(t.Rows, row)

		if err := s.close(); err != nil {
			return t, err
		}
	}

	return t, nil
}

// KeyedAfter measures a new request with a request id and without a transitionId, on an order
// that has made n transitions, all of them with request ids.
func KeyedAfter(ctx context.Context, n int) (Units, error) {
	s, err := openHistory(ctx, n)
	if err != nil {
		return Units{}, err
	}
	u, err := s.fresh(ctx, n)

	return u, errors.Join(err, s.close())
}

// openHistory returns an order that has made n transitions, placing included, all of them
// with request ids except the first.
func openHistory(ctx context.Context, n int) (*orderMeter, error) {
	s, err := openOrders(ctx, transitions.JournalByStream)
	if err != nil {
		return nil, err
	}
	_, err = s.place(ctx, 1)

	for i := 1; i < n && err == nil; i++ {
		_, err = s.fresh(ctx, i)
	}

	if err != nil {
		return nil, errors.Join(err, s.close())
	}

	return s, nil
}

// toAndFro is the event that follows n transitions.
func toAndFro(n int) workflow.Event {
	// Hold and release alternate, so an order can make any number of transitions.
	return []workflow.Event{workflow.Release, workflow.Hold}[n%2]
}

// request returns the request with a key that follows n transitions.
func request(n int) transitions.Request {
	return keyed(toAndFro(n), transitions.RequestID(fmt.Sprint("key-", n)))
}

func (s *orderMeter) fresh(ctx context.Context, n int) (Units, error) {
	return s.apply(ctx, request(n), transitions.Applied)
}

func (s *orderMeter) oldest(ctx context.Context, _ int) (Units, error) {
	return s.apply(ctx, request(1), transitions.Replayed)
}

func (s *orderMeter) matched(ctx context.Context, _ int) (Units, error) {
	id := s.last.Order.TransitionID
	r := request(int(id))
	r.IfMatch = &id

	return s.apply(ctx, r, transitions.Applied)
}

func (s *orderMeter) unnamed(ctx context.Context, _ int) (Units, error) {
	id := s.last.Order.TransitionID
	r := transitions.Request{OrderID: orderID, Event: toAndFro(int(id)), TransitionID: id + 1}

	return s.apply(ctx, r, transitions.Applied)
}
