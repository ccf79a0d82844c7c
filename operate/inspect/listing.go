package inspect

import (
	"context"
	"fmt"
	"strings"

	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// Listing is a page of orders, and where it comes from.
type Listing struct {
	Orders []*transitions.Order
	// Next is the After of the next page, "" at the end.
	Next string
	// Scanned says that the table was scanned: the sequence of the orders means nothing, and
	// the orders of all owners are among them.
	Scanned bool
	// Unreadable are the orders of the page that cannot be read at all. Those from the lists have no state.
	Unreadable []Unreadable
	// Stale counts the rows of the lists that were left out, because their orders have
	// moved since: the lists lag.
	Stale int
}

// Unreadable is an order without one of the attributes that every decision needs, or with another form of
// it than Ratchet writes.
type Unreadable struct {
	OrderID transitions.OrderID `json:"orderId"`
	// State is the text in the attribute of the state, empty if there is none.
	State workflow.State `json:"state,omitempty"`
	// Reason names the attribute.
	Reason string `json:"reason"`
}

// Listed returns a page of the orders of one owner (see [lists.Query]) from the lists, newest
// first. If the lists are not ready, or the page asks for a version or continues a scan, it
// returns a page of all orders from a scan; a page that is bounded by time is ErrListsNotReady then. l may be nil.
func Listed(ctx context.Context, o *transitions.Orders, l *lists.Lists, owner string, p Page) (Listing, error) {
	if p.Limit == 0 {
		p.Limit = 100
	}

	if err := p.check(o.Definition()); err != nil {
		return Listing{}, fmt.Errorf("list orders: %w: %w", transitions.ErrInvalidRequest, err)
	}

	// A place in a list contains a #, and no order's id does.
	after := string(p.After)
	fromLists := l != nil && p.Version == 0 && (after == "" || strings.Contains(after, "#"))

	// A cursor of a list goes on in the list even if the lists are not ready any more, and so does
	// a cursor of a scan: a page of the other kind would repeat or skip orders.
	if fromLists && after == "" {
		ready, err := l.Ready(ctx)
		if err != nil {
			return Listing{}, err
		}
		fromLists = ready

		// A filter that no list can answer stays a fault of the caller.
		if err := p.checkTimes(true); err == nil && !ready && p.timed() {
			return Listing{}, fmt.Errorf("list orders by time: %w", ErrListsNotReady)
		}
	}

	if fromLists {
		if err := p.checkTimes(true); err != nil {
			return Listing{}, fmt.Errorf("list orders: %w", err)
		}

		page, err := l.Page(ctx, lists.Query{
			Owner: owner, State: p.State, Customer: p.Customer, Reference: p.Reference, Since: p.Since, Until: p.Until, After: after, Limit: p.Limit,
		})
		listing := Listing{Orders: page.Orders, Next: page.Next, Stale: page.Stale}
		for _, u := range page.Unreadable {
			listing.Unreadable = append(listing.Unreadable, Unreadable{OrderID: u.OrderID, Reason: ReasonOf(u.Err)})
		}

		return listing, err
	}

	return List(ctx, o, p)
}
