package transitions

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/attribute"
	"ratchet/workflow"
)

// Page asks for a part of all orders.
type Page struct {
	// State keeps only orders in that state; empty keeps all.
	State workflow.State
	// After is the last order of the page before; empty starts at the beginning.
	After OrderID
	// Limit is how many orders to return at most, 1 to 1,000. Default 100.
	Limit int
}

// List returns orders in no useful order, and the After of the next page (empty at
// the end). It scans the table: for people and for checks, not for a hot path.
func (o *Orders) List(ctx context.Context, p Page) (orders []*Order, next OrderID, err error) {
	switch {
	case p.Limit == 0:
		p.Limit = 100
	case p.Limit < 0 || p.Limit > 1000:
		return nil, "", fmt.Errorf("list orders: %w: limit %d: 1 to 1000", ErrInvalidRequest, p.Limit)
	case p.State != "" && !o.def.HasState(p.State):
		return nil, "", fmt.Errorf("list orders: %w: state %q is not one of the definition's", ErrInvalidRequest, clip(string(p.State)))
	}
	consistent, limit := true, int32(p.Limit)
	input := &dynamodb.ScanInput{TableName: &o.cfg.Table, ConsistentRead: &consistent, Limit: &limit}
	if p.State != "" {
		filter := "orderState = :state"
		input.FilterExpression, input.ExpressionAttributeValues = &filter, image{":state": attribute.S(string(p.State))}
	}
	if p.After != "" {
		input.ExclusiveStartKey = image{"orderId": attribute.S(string(p.After))}
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
