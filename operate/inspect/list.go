package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Page asks for a part of all orders.
type Page struct {
	// State keeps only orders in that state. Empty keeps all.
	State workflow.State
	// Customer keeps only orders of that customer. Empty keeps all.
	Customer string
	// Reference keeps only orders with that reference. Empty keeps all.
	Reference string
	// Version keeps only orders of that version of the definition. 0 keeps all.
	Version int
	// Since and Until keep orders that were placed or have entered their state since Since and before Until, in
	// milliseconds; By says which. Only the lists of orders have these times. Zero keeps all.
	Since, Until time.Time
	By           Time
	// After is the id of the last order of the page before. Empty starts at the beginning.
	After transitions.OrderID
	// Limit is how many orders to return at most, 1 to 1,000. Default 100.
	Limit int
	// Progress, if it is set, is called by a scan now and then with the number of orders read so
	// far.
	Progress func(orders int)
}

// Time says by which time a page of orders is bounded. Empty is the time by which the list is sorted.
type Time string

// The times of an order. A list of a state is sorted by the time at which orders have entered it, and every other
// list by the time at which they were placed.
const (
	ByPlacing  Time = "placed"
	ByEntering Time = "entered"
)

// ErrFilter means that orders cannot be filtered like that: the error says why.
var ErrFilter = errors.New("orders cannot be filtered like that")

// ErrListsNotReady means that a page needs lists of orders that are being built. The same page is answered when they
// are ready, see [lists.Lists.Ready].
var ErrListsNotReady = errors.New("the lists of orders are being built")

// timed reports whether the page is bounded by time.
func (p Page) timed() bool { return !p.Since.IsZero() || !p.Until.IsZero() || p.By != "" }

// timeName names the first of the page's times.
func (p Page) timeName() string {
	switch {
	case !p.Since.IsZero():
		return "since"
	case !p.Until.IsZero():
		return "until"
	default:
		return "by"
	}
}

// checkTimes returns ErrFilter if the times of the page are those of another list than the one that the page comes
// from.
func (p Page) checkTimes(fromLists bool) error {
	byEntering := p.State != "" && p.Customer == "" && p.Reference == ""

	switch {
	case !p.timed():
		return nil
	case !fromLists:
		return fmt.Errorf("%w: %s: only with lists of orders (setting order-lists) and without a version", ErrFilter, p.timeName())
	case p.By == ByEntering && !byEntering:
		return fmt.Errorf("%w: by: the time of entering only with a state, and without a customer and a reference", ErrFilter)
	case p.By == ByPlacing && byEntering:
		return fmt.Errorf("%w: by: a list of a state has only the times of entering it", ErrFilter)
	}

	return nil
}

// errPageFull ends a scan whose page is full.
var errPageFull = errors.New("the page is full")

// List returns orders in no useful order. It scans the table. An order that cannot be read does not hide
// the others: it is in Unreadable. An invalid page is [transitions.ErrInvalidRequest].
func List(ctx context.Context, o *transitions.Orders, p Page) (Listing, error) {
	if err := p.checkTimes(false); err != nil {
		return Listing{}, fmt.Errorf("list orders: %w", err)
	}

	if p.Limit == 0 {
		p.Limit = 100
	}
	found := Listing{Scanned: true}

	err := Each(ctx, o, p, func(order *transitions.Order, err error) error {
		switch {
		case errors.Is(err, transitions.ErrUnreadable):
			found.Unreadable = append(found.Unreadable, Unreadable{OrderID: order.ID, State: order.State, Reason: ReasonOf(err)})
		case err != nil:
			return err
		default:
			found.Orders = append(found.Orders, order)
		}

		if len(found.Orders)+len(found.Unreadable) == p.Limit {
			found.Next = string(order.ID)
			return errPageFull
		}

		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return Listing{}, fmt.Errorf("list orders: %w", err)
	}

	return found, nil
}

// ReasonOf returns the part of a [transitions.ErrUnreadable] that names the attribute, and the whole text of
// another error.
func ReasonOf(err error) string {
	text := fmt.Sprint(err)
	if _, reason, found := strings.Cut(text, transitions.ErrUnreadable.Error()+": "); found {
		return reason
	}

	return text
}

// Each calls fn with all orders of the page and of the pages after it, in no useful order. It scans
// the table, in requests that read Limit orders each (0: a megabyte). An order that cannot be read
// comes with the error and with no more than its ID, state and version. An error of fn ends the
// scan. An invalid page is [transitions.ErrInvalidRequest].
func Each(ctx context.Context, o *transitions.Orders, p Page, fn func(*transitions.Order, error) error) error {
	if err := p.check(o.Definition()); err != nil {
		return fmt.Errorf("%w: %w", transitions.ErrInvalidRequest, err)
	}

	// One segment: After is the cursor of a whole scan, and each segment would need a cursor of its
	// own.
	sweep := transitions.Sweep{Segments: 1, Progress: p.Progress}

	return o.Scan(ctx, sweep, p.input(o.Mapping()), func(_ context.Context, order *transitions.Order, err error) error { return fn(order, err) })
}

// check names the first field that breaks a rule. Only the program's own version of the definition
// is known, so the states of other versions are not checked.
func (p Page) check(d *workflow.Definition) error {
	if p.Customer != "" {
		if err := transitions.CheckCustomer(p.Customer); err != nil {
			return err
		}
	}

	if p.Reference != "" {
		if err := transitions.CheckReference(p.Reference); err != nil {
			return err
		}
	}

	switch {
	case p.Limit < 0 || p.Limit > 1000:
		return fmt.Errorf("limit %d: 1 to 1000", p.Limit)
	case p.Version < 0:
		return fmt.Errorf("version %d: versions count from 1", p.Version)
	case !p.Since.IsZero() && !p.Until.IsZero() && !p.Until.After(p.Since):
		return fmt.Errorf("until %s: must be after since", p.Until.UTC().Format(time.RFC3339Nano))
	case p.State != "" && (p.Version == 0 || p.Version == d.Version()) && !d.HasState(p.State):
		return fmt.Errorf("state %.64q is not one of the definition's", p.State)
	}

	return nil
}

// input is the scan of the page. Its limit counts the orders that are read, before the
// filter: a page may take several requests.
func (p Page) input(m transitions.Mapping) dynamodb.ScanInput {
	var in dynamodb.ScanInput
	if p.Limit > 0 {
		in.Limit = aws.Int32(int32(p.Limit))
	}

	var filters []string
	values := dynamo.Item{}
	if p.State != "" {
		filters, values[":state"] = append(filters, "orderState = :state"), dynamo.S(string(p.State))
	}

	if p.Customer != "" {
		filters, values[":customer"] = append(filters, "customer = :customer"), dynamo.S(p.Customer)
	}

	if p.Reference != "" {
		// The word is reserved in expressions.
		in.ExpressionAttributeNames = map[string]string{"#reference": "reference"}
		filters, values[":reference"] = append(filters, "#reference = :reference"), dynamo.S(p.Reference)
	}

	if p.Version != 0 {
		filters, values[":version"] = append(filters, "definitionVersion = :version"), dynamo.N(int64(p.Version))
	}

	if len(filters) > 0 {
		filter := strings.Join(filters, " AND ")
		in.FilterExpression, in.ExpressionAttributeValues = &filter, values
	}

	if p.After != "" {
		in.ExclusiveStartKey = m.ItemKey(p.After)
	}

	return in
}
