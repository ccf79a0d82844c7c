package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/worker"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/transitions"
)

const (
	// defaultCountUnits is how many read units a second the count of orders uses without the setting count-units: 432,000 a day,
	// which cost 5 US cents.
	defaultCountUnits = 5
	// countLook is the time between two looks of a worker whether a count is due, countShortest the shortest time between two counts.
	// For so long no other worker counts, too: one that goes on says so again.
	countLook     = time.Minute
	countShortest = 15 * time.Minute
	// usualOrder is how many bytes an order has, if DynamoDB does not know it.
	usualOrder = 2048
	// mostOwners is how many tenants' orders are counted.
	mostOwners = 1000
)

// countOrders counts the orders by state whenever a count is due and this worker claims it, and adds what has moved since, until ctx
// ends.
func (b *Backend) countOrders(ctx context.Context) error {
	units := b.Config.CountUnits
	if units < 0 {
		return nil
	}

	if units == 0 {
		units = defaultCountUnits
	}

	for worker.Wait(ctx, countLook) {
		if err := b.countIfDue(ctx, units); err != nil && ctx.Err() == nil {
			b.log.Warn("the orders could not be counted", "error", err)
		}
	}

	return nil
}

func (b *Backend) countIfDue(ctx context.Context, units float64) error {
	every, err := b.countEvery(ctx, units)
	if err != nil {
		return err
	}

	mine, err := b.Processes.ClaimCount(ctx, time.Now(), every)
	if err == nil && mine {
		began := time.Now()

		orders, err := b.CountOrders(ctx)
		if err != nil {
			return err
		}

		return b.Processes.EndCount(ctx, orders, began.Add(every(orders)))
	}

	if err == nil {
		err = b.Processes.AddMoves(ctx, time.Now())
	}

	return err
}

// countEvery returns the time between two counts, in which the budget pays for one, by how many orders the last one has counted. The
// size of the table is DynamoDB's, which is up to six hours old: the larger of both counts.
func (b *Backend) countEvery(ctx context.Context, units float64) (func(orders int64) time.Duration, error) {
	table, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.Tables.Orders})
	if err != nil {
		return nil, fmt.Errorf("count orders of table %s: %w", b.Tables.Orders, err)
	}
	size, items := float64(aws.ToInt64(table.Table.TableSizeBytes)), float64(aws.ToInt64(table.Table.ItemCount))

	each := float64(usualOrder)
	if items > 0 {
		each = size / items
	}

	return func(orders int64) time.Duration {
		seconds := max(size, float64(orders)*each) / 4096 / units // one read unit for each 4 KB

		return max(countShortest, time.Duration(seconds*float64(time.Second)))
	}, nil
}

// CountOrders counts the orders of each tenant by version and state, stores the counts for all processes, and returns how many
// orders there are. It reads every order.
func (b *Backend) CountOrders(ctx context.Context) (orders int64, err error) {
	began := time.Now().UTC().Truncate(time.Millisecond)

	counts := map[string]processes.Count{"": {Orders: map[int]map[string]int64{}}} // the default tenant has a count also without orders

	held := began

	err = inspect.EachState(ctx, b.Orders, transitions.Sweep{Segments: 1}, func(order *transitions.Order) {
		orders++
		if orders%1000 == 0 && time.Since(held) > countLook {
			held = time.Now()
			if err := b.Processes.HoldCount(ctx, held.Add(countShortest)); err != nil {
				b.log.Warn("another worker may count the orders, too", "error", err)
			}
		}

		owner := ownerOf(order.ID)

		c, known := counts[owner]
		if !known {
			if len(counts) == mostOwners {
				return
			}
			c = processes.Count{Orders: map[int]map[string]int64{}}
			counts[owner] = c
		}

		if c.Orders[order.DefinitionVersion] == nil {
			c.Orders[order.DefinitionVersion] = map[string]int64{}
		}
		c.Orders[order.DefinitionVersion][string(order.State)]++
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(began)

	// An owner that was counted before may have no order now.
	stored, err := b.Processes.Counted(ctx)
	if err != nil {
		return 0, err
	}

	for owner := range stored {
		if _, met := counts[owner]; !met && len(counts) < mostOwners {
			counts[owner] = processes.Count{}
		}
	}

	for owner, c := range counts {
		c.At, c.Took = began, took
		if err := b.Processes.StoreCount(ctx, owner, c); err != nil {
			return 0, err
		}
	}

	return orders, nil
}

// ownerOf returns the tenant of an order, "" for the default one.
func ownerOf(id transitions.OrderID) string {
	owner, _, owned := strings.Cut(string(id), ":")
	if !owned {
		return ""
	}

	return owner
}
