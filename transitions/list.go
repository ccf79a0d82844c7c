package transitions

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Page asks for a part of all orders.
type Page struct {
	// State keeps only orders in that state; empty keeps all.
	State workflow.State
	// Version keeps only orders of that version of the definition; 0 keeps all.
	Version int
	// After is the last order of the page before; empty starts at the beginning.
	After OrderID
	// Limit is how many orders to return at most, 1 to 1,000. Default 100.
	Limit int
}

// List returns orders in no useful order, and the After of the next page (empty at
// the end). It scans the table: for people and for checks, not for a hot path.
func (o *Orders) List(ctx context.Context, p Page) (orders []*Order, next OrderID, err error) {
	if p.Limit == 0 {
		p.Limit = 100
	}

	switch {
	case p.Limit < 0 || p.Limit > 1000:
		return nil, "", fmt.Errorf("list orders: %w: limit %d: 1 to 1000", ErrInvalidRequest, p.Limit)
	case p.Version < 0:
		return nil, "", fmt.Errorf("list orders: %w: version %d: versions count from 1", ErrInvalidRequest, p.Version)
	case p.State != "" && (p.Version == 0 || p.Version == o.def.Version()) && !o.def.HasState(p.State):
		return nil, "", fmt.Errorf("list orders: %w: state %q is not one of the definition's", ErrInvalidRequest, clip(string(p.State)))
	}
	consistent, limit := true, int32(p.Limit)
	input := &dynamodb.ScanInput{TableName: &o.cfg.Table, ConsistentRead: &consistent, Limit: &limit}

	var filters []string
	values := image{}
	if p.State != "" {
		filters, values[":state"] = append(filters, "orderState = :state"), dynamo.S(string(p.State))
	}

	if p.Version != 0 {
		filters, values[":version"] = append(filters, "definitionVersion = :version"), dynamo.N(int64(p.Version))
	}

	if len(filters) > 0 {
		filter := strings.Join(filters, " AND ")
		input.FilterExpression, input.ExpressionAttributeValues = &filter, values
	}

	if p.After != "" {
		input.ExclusiveStartKey = image{"orderId": dynamo.S(string(p.After))}
	}

	for {
		out, err := o.cfg.DynamoDB.Scan(ctx, input)
		if err != nil {
			return nil, "", fmt.Errorf("list orders: %w", err)
		}

		for _, item := range out.Items {
			order, err := decode(item)
			if err != nil {
				return nil, "", fmt.Errorf("list orders: %w", err)
			}

			if orders = append(orders, order); len(orders) == p.Limit {
				return orders, order.ID, nil
			}
		}

		if input.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return orders, "", nil
		}
	}
}
