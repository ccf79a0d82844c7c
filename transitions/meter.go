package transitions

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// meter adds up the capacity of one call of Apply, Create, ShipParcel or an edit. Each
// of these sends its requests one after the other.
type meter struct{ read, write float64 }

// meterKey is where the context of a call holds its meter.
type meterKey struct{}

// metered gives the context a meter, when Events.Consumed wants to know.
func (o *Orders) metered(ctx context.Context) (context.Context, *meter) {
	if o.cfg.Events.Consumed == nil {
		return ctx, nil
	}
	m := &meter{}

	return context.WithValue(ctx, meterKey{}, m), m
}

// reportConsumed calls Events.Consumed with the units of the call.
func (o *Orders) reportConsumed(m *meter, id OrderID, v Verdict) {
	if m != nil {
		o.cfg.Events.Consumed(id, v, m.read, m.write)
	}
}

func (m *meter) addRead(c *types.ConsumedCapacity) {
	if m != nil && c != nil && c.CapacityUnits != nil {
		m.read += *c.CapacityUnits
	}
}

func (m *meter) addWrite(c *types.ConsumedCapacity) {
	if m != nil && c != nil && c.CapacityUnits != nil {
		m.write += *c.CapacityUnits
	}
}

// meteredClient is a client that asks for the capacity of every request and adds it to
// the meter of the context. The operation decides whether the total counts as read or
// as written.
type meteredClient struct{ DynamoDB }

const total = types.ReturnConsumedCapacityTotal

func meterOf(ctx context.Context) *meter {
	m, _ := ctx.Value(meterKey{}).(*meter)
	return m
}

func (c meteredClient) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := c.DynamoDB.UpdateItem(ctx, in, opts...)
	if err == nil {
		meterOf(ctx).addWrite(out.ConsumedCapacity)
	}

	return out, err
}

func (c meteredClient) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := c.DynamoDB.PutItem(ctx, in, opts...)
	if err == nil {
		meterOf(ctx).addWrite(out.ConsumedCapacity)
	}

	return out, err
}

func (c meteredClient) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := c.DynamoDB.GetItem(ctx, in, opts...)
	if err == nil {
		meterOf(ctx).addRead(out.ConsumedCapacity)
	}

	return out, err
}

func (c meteredClient) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := c.DynamoDB.Query(ctx, in, opts...)
	if err == nil {
		meterOf(ctx).addRead(out.ConsumedCapacity)
	}

	return out, err
}

func (c meteredClient) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = total

	out, err := c.DynamoDB.TransactWriteItems(ctx, in, opts...)
	if err == nil {
		for i := range out.ConsumedCapacity {
			meterOf(ctx).addWrite(&out.ConsumedCapacity[i])
		}
	}

	return out, err
}
