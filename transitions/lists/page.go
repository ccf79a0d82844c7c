package lists

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
		return l.newest(ctx, referenceList(q.Owner, q.Reference), q.After, q.Limit)
	}

	if q.Customer != "" {
		return l.newest(ctx, customerList(q.Owner, q.Customer), q.After, q.Limit)
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
			found[shard], err = l.newest(ctx, list, q.After, q.Limit)

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

// newest returns the newest places of one shard below the bound, at most limit.
func (l *Lists) newest(ctx context.Context, list, bound string, limit int) ([]string, error) {
	condition, values := listAttribute+" = :list", dynamo.Item{":list": dynamo.S(list)}
	if bound != "" {
		condition += " AND " + placeAttribute + " < :bound"
		values[":bound"] = dynamo.S(bound)
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
			places = append(places, dynamo.Text(item, placeAttribute))
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}

	return places, nil
}
