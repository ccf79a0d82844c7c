package erasure

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// Ended selects orders that have ended and still have their person.
type Ended struct {
	Orders *transitions.Orders
	// Lists are an index by state and time. Without them, and while they are not ready, the table of orders is scanned.
	Lists *lists.Lists
	// Scans, if set, is called before a scan. Read, if set, is called with the number of orders that were read so far.
	Scans func()
	Read  func(orders int)
}

// Before calls found with the owner's orders that ended before the moment, "" for the owner of orders without a tenant. An
// order that cannot be read comes with its id and the error.
func (e Ended) Before(ctx context.Context, owner string, before time.Time, found func(*transitions.Order, error) error) error {
	if e.Read == nil {
		e.Read = func(int) {}
	}

	ready := false
	if e.Lists != nil {
		var err error
		if ready, err = e.Lists.Ready(ctx); err != nil {
			return err
		}
	}

	if ready {
		return e.inLists(ctx, owner, before, found)
	}

	if e.Scans != nil {
		e.Scans()
	}

	return e.inTable(ctx, owner, before, found)
}

// inLists finds the orders in the lists of the states in which orders end.
func (e Ended) inLists(ctx context.Context, owner string, before time.Time, found func(*transitions.Order, error) error) error {
	read := 0

	for _, s := range e.Orders.Definition().States() {
		if !s.Terminal {
			continue
		}

		for id, err := range e.Lists.Unerased(ctx, owner, s.State, before) {
			if err == nil {
				err = e.listed(ctx, id, s.State, before, found)
			}

			if err != nil {
				return err
			}
			read++
			e.Read(read)
		}
	}

	return nil
}

// listed reads an order again: the list lags behind its orders.
func (e Ended) listed(ctx context.Context, id transitions.OrderID, state workflow.State, before time.Time, found func(*transitions.Order, error) error) error {
	order, exists, err := e.Orders.Get(ctx, id)

	switch {
	case err != nil:
		// Reported like any other order that cannot be read.
		return found(&transitions.Order{ID: id}, err)
	// The list may lack the mark of an erased order, or show an order that was deleted and placed again.
	case exists && order.State == state:
		return e.ended(order, before, found)
	}

	return nil
}

// inTable finds the orders in their table.
func (e Ended) inTable(ctx context.Context, owner string, before time.Time, found func(*transitions.Order, error) error) error {
	// Erased orders are filtered by the table, which still reads them.
	filter := "attribute_not_exists(erasedAt)"
	in := dynamodb.ScanInput{FilterExpression: &filter}
	sweep := transitions.Sweep{Segments: 1, Progress: e.Read}

	return e.Orders.Scan(ctx, sweep, in, func(_ context.Context, order *transitions.Order, err error) error {
		tenant, _, prefixed := strings.Cut(string(order.ID), ":")

		switch {
		// An order that cannot be read still has its state, so the state is checked first.
		case prefixed != (owner != ""), prefixed && tenant != owner, !e.Orders.Definition().Terminal(order.State):
			return nil
		case err != nil:
			return found(order, err)
		}

		return e.ended(order, before, found)
	})
}

// ended calls found with the order, which has ended, if it ended before the moment and still has its person.
func (e Ended) ended(order *transitions.Order, before time.Time, found func(*transitions.Order, error) error) error {
	switch is, err := EndedBefore(order, before); {
	case !order.ErasedAt.IsZero():
		return nil
	case err != nil || is:
		return found(order, err)
	}

	return nil
}

// EndedBefore reports whether the order, which has ended, ended before the moment. The error says that nothing tells
// when: another program has ended it, and has written no time.
func EndedBefore(order *transitions.Order, before time.Time) (bool, error) {
	entered := order.EnteredAt()
	if _, moved := order.MovedByOther(); moved || entered.IsZero() {
		return false, fmt.Errorf("order %s: %w: another program has brought it to %s, and nothing tells when", order.ID, transitions.ErrUnreadable, order.State)
	}

	return entered.Before(before), nil
}
