package lists

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/workflow"
)

// maxReads is how many reads of one page run at the same time.
const maxReads = 16

// Query asks for a part of a list.
type Query struct {
	// Owner is the text before the colon of the orders' ids, "" for ids without a colon.
	Owner string
	// State asks for the orders in that state, in the order in which they entered it.
	// Empty asks for all orders, in the order in which they were placed.
	State workflow.State
	// Customer asks for the orders of that customer, in the order in which they were placed.
	// With a state, orders in other states are left out: a page may be shorter than the
	// limit, even empty, and have a next one.
	Customer string
	// Reference asks for the orders with that reference, in the order in which they were placed.
	// Orders in another state or of another customer are left out: a page may be shorter than
	// the limit.
	Reference string
	// Since and Until bound the time by which the list is sorted: since Since, and before Until, in milliseconds.
	// Zero is no bound. They are a range of the list's keys and cost nothing.
	Since, Until time.Time
	// After is the Next of the page before. Empty begins with the newest order.
	After string
	// Limit is how many orders to return at most, 1 to 1,000.
	Limit int
}

// Page is a part of a list, newest first.
type Page struct {
	// Orders are the orders as they are now.
	Orders []*transitions.Order
	// Next is the After of the next page, "" at the end.
	Next string
	// Stale counts the rows that were left out, because their orders have moved or are
	// gone: the lists lag behind the orders. It does not count orders that Query.State or
	// Query.Customer leave out of the list of a customer or reference.
	Stale int
	// Unreadable are the orders of the page that cannot be read at all, and why.
	Unreadable []Unreadable
}

// Unreadable is an order that cannot be read, with an error that wraps transitions.ErrUnreadable.
type Unreadable struct {
	OrderID transitions.OrderID
	Err     error
}

// Page returns a part of a list. It costs half a read unit for each of 8 shards (for one, if
// it asks for a customer or a reference), and a read of each order.
func (l *Lists) Page(ctx context.Context, q Query) (Page, error) {
	if q.Limit < 1 || q.Limit > 1000 {
		return Page{}, fmt.Errorf("list orders: %w: limit %d: 1 to 1000", transitions.ErrInvalidRequest, q.Limit)
	}

	places, err := l.places(ctx, q)
	if err != nil {
		return Page{}, fmt.Errorf("list orders: %w", err)
	}

	orders, faults := make([]*transitions.Order, len(places)), make([]error, len(places))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)

	for i, place := range places {
		group.Go(func() error {
			o, found, err := l.cfg.Orders.Get(groupCtx, orderAt(place))
			if found {
				orders[i] = o
			}

			if errors.Is(err, transitions.ErrUnreadable) {
				faults[i], err = err, nil
			}

			return err
		})
	}

	if err := group.Wait(); err != nil {
		return Page{}, fmt.Errorf("list orders: %w", err)
	}

	var page Page
	for i, o := range orders {
		switch {
		case faults[i] != nil:
			page.Unreadable = append(page.Unreadable, Unreadable{orderAt(places[i]), faults[i]})
		// An order that moves leaves only the list of its state. Its row there is not removed yet.
		case o == nil, q.isOfState() && o.State != q.State:
			page.Stale++
		case q.State != "" && o.State != q.State, q.Customer != "" && o.Customer != q.Customer:
		default:
			page.Orders = append(page.Orders, o)
		}
	}

	// The number of places counts, not the number of orders: even if orders were left out, there
	// may be a next page.
	if len(places) == q.Limit {
		page.Next = places[len(places)-1]
	}

	return page, nil
}

// isOfState reports whether the page comes from the list of a state.
func (q Query) isOfState() bool { return q.State != "" && q.Customer == "" && q.Reference == "" }

// places returns the newest places of the list after q.After, at most q.Limit.
func (l *Lists) places(ctx context.Context, q Query) ([]string, error) {
	if q.Reference != "" {
		return l.newest(ctx, referenceList(q.Owner, q.Reference), q)
	}

	if q.Customer != "" {
		return l.newest(ctx, customerList(q.Owner, q.Customer), q)
	}

	found := make([][]string, shards)
	group, ctx := errgroup.WithContext(ctx)

	for shard := range shards {
		group.Go(func() (err error) {
			// One shard may have all of the newest orders, so each is asked for a whole page.
			list := timeShard(q.Owner, shard)
			if q.State != "" {
				list = stateShard(q.Owner, q.State, shard)
			}
			found[shard], err = l.newest(ctx, list, q)

			return err
		})
	}

	if err := group.Wait(); err != nil {
		return nil, err
	}

	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(b, a) })

	return all[:min(len(all), q.Limit)], nil
}

// bounds are the range of places that the query asks for: from the first on, and below the second. Empty is no
// bound.
func (q Query) bounds() (from, below string) {
	if !q.Since.IsZero() {
		from = placeAt("", q.Since)
	}

	if !q.Until.IsZero() {
		below = placeAt("", q.Until)
	}

	// A page goes on below the last place of the page before, which is below the bound.
	return from, cmp.Or(q.After, below)
}

// newest returns the newest places of one shard that the query asks for, at most its limit.
func (l *Lists) newest(ctx context.Context, list string, q Query) ([]string, error) {
	limit := q.Limit
	condition, values := listAttribute+" = :list", dynamo.Item{":list": dynamo.S(list)}

	// A condition on a sort key has one comparison, or a range that includes both ends. No order is at the
	// upper end: a place of a time without an order's id is none, and After is left out below.
	switch from, below := q.bounds(); {
	case from != "" && below != "":
		if from >= below {
			return nil, nil
		}
		condition += " AND " + placeAttribute + " BETWEEN :from AND :below"
		values[":from"], values[":below"] = dynamo.S(from), dynamo.S(below)
	case from != "":
		condition += " AND " + placeAttribute + " >= :from"
		values[":from"] = dynamo.S(from)
	case below != "":
		condition += " AND " + placeAttribute + " < :below"
		values[":below"] = dynamo.S(below)
	}

	// The read is eventually consistent, at half the cost: the lists lag behind the orders in any
	// case.
	in := &dynamodb.QueryInput{
		TableName:                 &l.cfg.Table,
		KeyConditionExpression:    &condition,
		ExpressionAttributeValues: values,
		ScanIndexForward:          aws.Bool(false),
	}

	var places []string
	for len(places) < limit {
		in.Limit = aws.Int32(int32(limit - len(places)))

		out, err := l.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, err
		}

		for _, item := range out.Items {
			if place := dynamo.Text(item, placeAttribute); place != q.After {
				places = append(places, place)
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}

	return places, nil
}
