package transitions

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Sweep says how to go through all orders.
type Sweep struct {
	// Segments is how many parts of the table are read at the same time, 1 to 64.
	// Default 4.
	Segments int
	// Progress, when set, is called after each page with the number of orders that were
	// read so far. Calls do not overlap.
	Progress func(orders int)
	// AtOnce is how many segments are read at the same time. Default all.
	AtOnce int
	// Skip are segments that are left out. Done, when set, is called when a segment was read to its end;
	// its error ends the scan. With the same Segments, a scan can go on where another one ended.
	Skip map[int]bool
	Done func(ctx context.Context, segment int) error
}

const (
	defaultSegments = 4
	maxSegments     = 64
)

// Scan reads the table of orders, consistently, and calls fn with each order. Calls of
// different segments run at the same time. in may hold a filter, a projection, a limit
// of the page and, with one segment, where to start.
//
// An order that cannot be read comes with the error that says why, and with no more than
// its ID, state and version. An error of fn ends the scan and is returned as it is.
func (o *Orders) Scan(ctx context.Context, s Sweep, in dynamodb.ScanInput, fn func(context.Context, *Order, error) error) error {
	if s.Segments == 0 {
		s.Segments = defaultSegments
	}

	if s.Segments < 1 || s.Segments > maxSegments {
		return fmt.Errorf("%w: segments %d: 1 to %d", ErrInvalidRequest, s.Segments, maxSegments)
	}
	in.TableName, in.ConsistentRead = &o.cfg.Table, aws.Bool(true)
	in.TotalSegments = aws.Int32(int32(s.Segments))

	// The lock also keeps the calls of Progress from overlapping.
	var mu sync.Mutex
	read := 0
	progress := func(orders int) {
		mu.Lock()
		defer mu.Unlock()

		read += orders
		if s.Progress != nil {
			s.Progress(read)
		}
	}

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(s.AtOnce, s.Segments))

	for segment := range s.Segments {
		if s.Skip[segment] {
			continue
		}
		in := in // each segment has its own position
		in.Segment = aws.Int32(int32(segment))

		group.Go(func() error {
			err := o.scanSegment(ctx, &in, fn, progress)
			if err == nil && s.Done != nil {
				err = s.Done(ctx, segment)
			}

			return err
		})
	}

	return group.Wait()
}

func (o *Orders) scanSegment(ctx context.Context, in *dynamodb.ScanInput, fn func(context.Context, *Order, error) error, progress func(int)) error {
	for {
		out, err := o.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return err
		}

		for _, item := range out.Items {
			order, err := decode(item)
			if err != nil {
				order = &Order{
					ID:                OrderID(dynamo.Text(item, "orderId")),
					State:             workflow.State(dynamo.Text(item, "orderState")),
					DefinitionVersion: int(dynamo.Number(item, "definitionVersion")),
				}
			}

			// fn decides whether an order that cannot be read ends the scan.
			if err := fn(ctx, order, err); err != nil {
				return err
			}
		}

		// ScannedCount, not Count: orders that the filter has dropped were read, too.
		progress(int(out.ScannedCount))

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}
