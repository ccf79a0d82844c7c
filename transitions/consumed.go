package transitions

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// meter is the DynamoDB of one call of Apply, Create or an edit. It asks for the
// capacity of every request and adds it up.
type meter struct {
	dynamoDB
	read, write float64
}

// metered returns orders whose requests are metered, when somebody wants to know.
func (o *Orders) metered() (*Orders, *meter) {
	if o.cfg.Consumed == nil {
		return o, nil
	}
	m := &meter{dynamoDB: o.cfg.DynamoDB}
	counting := *o
	counting.cfg.DynamoDB = m

	return &counting, m
}

// consumed tells the hook.
func (o *Orders) consumed(m *meter, id OrderID, v Verdict) {
	if m != nil {
		o.cfg.Consumed(id, v, m.read, m.write)
	}
}

const total = types.ReturnConsumedCapacityTotal

// add adds one answer's capacity to reads or writes: the total does not say which.
func (m *meter) add(c *types.ConsumedCapacity, units *float64) {
	if c != nil && c.CapacityUnits != nil {
		*units += *c.CapacityUnits
	}
}

func (m *meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := m.dynamoDB.UpdateItem(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity, &m.write)
	}

	return out, err
}

func (m *meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := m.dynamoDB.PutItem(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity, &m.write)
	}

	return out, err
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := m.dynamoDB.GetItem(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity, &m.read)
	}

	return out, err
}

func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := m.dynamoDB.Query(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity, &m.read)
	}

	return out, err
}

func (m *meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := m.dynamoDB.TransactWriteItems(ctx, in, opts...)
	if err == nil {
		for i := range out.ConsumedCapacity {
			m.add(&out.ConsumedCapacity[i], &m.write)
		}
	}

	return out, err
}
