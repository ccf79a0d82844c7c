package main

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// unitMeter is an SDK client that adds up the write units of PutItem and UpdateItem, the two
// writes of a claim.
type unitMeter struct {
	*dynamodb.Client
	mu    sync.Mutex
	units float64
}

// take returns the units counted since the last call.
func (m *unitMeter) take() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()

	units := m.units
	m.units = 0

	return units
}

func (m *unitMeter) add(c *types.ConsumedCapacity) {
	if c != nil && c.CapacityUnits != nil {
		m.mu.Lock()
		m.units += *c.CapacityUnits
		m.mu.Unlock()
	}
}

// UpdateItem sends the update and counts its units.
func (m *unitMeter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	// Asking for the units costs nothing, and the caller does not read them.
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.UpdateItem(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}

	return out, err
}

// PutItem sends the put and counts its units.
func (m *unitMeter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.PutItem(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}

	return out, err
}
