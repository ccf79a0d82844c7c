package inspect

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/transitions"
	"ratchet/workflow"
)

// Counts says how many orders are in each state, by the version of the definition that
// moved them last. Version 0 means that no version is recorded.
type Counts map[int]map[workflow.State]int

// Count counts all orders. It reads the whole table, consistently: one read unit for each 4 KB of
// orders. An order whose state cannot be read is counted under the empty state.
func Count(ctx context.Context, o *transitions.Orders, s transitions.Sweep) (Counts, error) {
	counts := Counts{}

	err := EachState(ctx, o, s, func(order *transitions.Order) {
		if counts[order.DefinitionVersion] == nil {
			counts[order.DefinitionVersion] = map[workflow.State]int{}
		}
		counts[order.DefinitionVersion][order.State]++
	})
	if err != nil {
		return nil, err
	}

	return counts, nil
}

// EachState calls count with the id, the state and the version of each order. It reads the table as [Count] does. Calls do not overlap.
func EachState(ctx context.Context, o *transitions.Orders, s transitions.Sweep, count func(*transitions.Order)) error {
	// The projection saves network traffic, not read units.
	input := dynamodb.ScanInput{ProjectionExpression: aws.String("orderId, orderState, definitionVersion")}

	var mu sync.Mutex

	// The error of a single order is ignored on purpose: an order that cannot be read still counts.
	err := o.Scan(ctx, s, input, func(_ context.Context, order *transitions.Order, _ error) error {
		mu.Lock()
		defer mu.Unlock()

		count(order)

		return nil
	})
	if err != nil {
		return fmt.Errorf("count orders: %w", err)
	}

	return nil
}
