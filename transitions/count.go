package transitions

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Counts says how many orders stand in each state, by the version of the definition
// that moved them last. Version 0: the order has none recorded.
type Counts map[int]map[workflow.State]int

// Sweep says how to go through all orders.
type Sweep struct {
	// Segments is how many parts of the table are read at the same time, 1 to 64.
	// Default 4.
	Segments int
	// Progress, when set, is called after each page with the orders seen so far. Calls
	// do not overlap.
	Progress func(orders int)
}

// Count counts all orders. It reads the whole table, consistently: one read unit per
// 4 KB of orders.
func (o *Orders) Count(ctx context.Context, s Sweep) (Counts, error) {
	counts := Counts{}
	input := dynamodb.ScanInput{ProjectionExpression: aws.String("orderState, definitionVersion")}
	var mu sync.Mutex

	err := o.sweep(ctx, s, input, func(_ context.Context, items []image) error {
		mu.Lock()
		defer mu.Unlock()

		for _, item := range items {
			version, state := int(dynamo.Number(item, "definitionVersion")), workflow.State(dynamo.Text(item, "orderState"))
			if counts[version] == nil {
				counts[version] = map[workflow.State]int{}
			}
			counts[version][state]++
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count orders: %w", err)
	}

	return counts, nil
}

// MigrateAll migrates every order of another version (see [Orders.Migrate]) and returns
// how many it has moved. It passes over an order without a mapping and returns how many
// there were. Any other error ends it: what was migrated stays so, and the next call
// goes on with the rest.
func (o *Orders) MigrateAll(ctx context.Context, m *workflow.Migrations, s Sweep) (moved, unmapped int, err error) {
	input := dynamodb.ScanInput{FilterExpression: aws.String("definitionVersion <> :version AND attribute_exists(definitionVersion)"),
		ExpressionAttributeValues: image{":version": dynamo.N(int64(o.def.Version()))}}
	var mu sync.Mutex

	err = o.sweep(ctx, s, input, func(ctx context.Context, items []image) error {
		for _, item := range items {
			order, err := decode(item)
			if err != nil {
				return err
			}

			if _, err := m.Map(order.DefinitionVersion, o.def.Version(), order.State); err != nil {
				mu.Lock()
				unmapped++
				mu.Unlock()
				continue
			}

			_, did, err := o.Migrate(ctx, m, order)
			if err != nil {
				return err
			}

			if did {
				mu.Lock()
				moved++
				mu.Unlock()
			}
		}

		return nil
	})
	if err != nil {
		return moved, unmapped, fmt.Errorf("migrate orders: %w", err)
	}

	return moved, unmapped, nil
}

// sweep scans the table in segments and calls fn with each page, from one goroutine per
// segment.
func (o *Orders) sweep(ctx context.Context, s Sweep, input dynamodb.ScanInput, fn func(context.Context, []image) error) error {
	if s.Segments == 0 {
		s.Segments = 4
	}

	if s.Segments < 1 || s.Segments > 64 {
		return fmt.Errorf("%w: segments %d: 1 to 64", ErrInvalidRequest, s.Segments)
	}
	input.TableName, input.ConsistentRead = &o.cfg.Table, aws.Bool(true)
	input.TotalSegments = aws.Int32(int32(s.Segments))

	var mu sync.Mutex
	seen := 0
	group, ctx := errgroup.WithContext(ctx)
	for segment := range s.Segments {
		page := input // its own position
		page.Segment = aws.Int32(int32(segment))
		group.Go(func() error {
			for {
				out, err := o.cfg.DynamoDB.Scan(ctx, &page)
				if err != nil {
					return err
				}

				if err := fn(ctx, out.Items); err != nil {
					return err
				}
				mu.Lock()

				seen += int(out.ScannedCount)
				if s.Progress != nil {
					s.Progress(seen)
				}
				mu.Unlock()

				if page.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
					return nil
				}
			}
		})
	}

	return group.Wait()
}
