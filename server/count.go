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
	// countLook is the time between two looks of a worker whether a count is due, and the shortest time between two counts.
	countLook = time.Minute
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
		return b.CountOrders(ctx)
	}

	if err == nil {
		err = b.Processes.AddMoves(ctx, time.Now())
	}

	return err
}

// countEvery returns the time between two counts, in which the budget pays for one. The size of the table is DynamoDB's, which is up to
// six hours old.
func (b *Backend) countEvery(ctx context.Context, units float64) (time.Duration, error) {
	table, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.Tables.Orders})
	if err != nil {
		return 0, fmt.Errorf("count orders of table %s: %w", b.Tables.Orders, err)
	}
	// One read unit for each 4 KB.
	seconds := float64(aws.ToInt64(table.Table.TableSizeBytes)) / 4096 / units

	return max(countLook, time.Duration(seconds*float64(time.Second))), nil
}

// CountOrders counts the orders of each tenant by version and state, and stores the counts for all processes. It reads every order.
func (b *Backend) CountOrders(ctx context.Context) error {
	began := time.Now().UTC().Truncate(time.Millisecond)

	counts := map[string]processes.Count{"": {Orders: map[int]map[string]int64{}}} // the default tenant has a count also without orders

	err := inspect.EachState(ctx, b.Orders, transitions.Sweep{Segments: 1}, func(order *transitions.Order) {
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
		return err
	}
	took := time.Since(began)

	for owner, c := range counts {
		c.At, c.Took = began, took
		if err := b.Processes.StoreCount(ctx, owner, c); err != nil {
			return err
		}
	}

	return nil
}

// ownerOf returns the tenant of an order, "" for the default one.
func ownerOf(id transitions.OrderID) string {
	owner, _, owned := strings.Cut(string(id), ":")
	if !owned {
		return ""
	}

	return owner
}
