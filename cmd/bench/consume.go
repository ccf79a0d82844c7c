package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/once/actions"
)

const actionsTable = "bench-actions"

// benchConsume compares actions.Consume with the UpdateItem that it sends, through the bare
// SDK client, in turns. Each action is consumed once.
func benchConsume(ctx context.Context, work size, e *endpoint) ([]figure, error) {
	const callers = 32
	// A multiple of the callers, so that each has the same number of pieces.
	count := max(work.orders/2/callers, 1) * callers

	if err := e.tables(ctx, actions.TableInput(actionsTable)); err != nil {
		return nil, err
	}
	cfg := actions.Config{DynamoDB: e.db, Table: actionsTable, Keys: []actions.Key{actions.NewKey(1)}}

	all, err := actions.New(cfg)
	if err != nil {
		return nil, err
	}
	ids := make([]actions.ID, count)
	create := func(ctx context.Context, _ int) error {
		return share(ctx, callers, count, func(ctx context.Context, n int) error {
			made, err := all.Create(ctx, actions.Spec{
				Payload:   []byte(`{"coupon":"SPRING"}`),
				ExpiresAt: time.Now().Add(time.Hour),
			})
			ids[n] = made.ID

			return err
		})
	}

	// Record what Consume sends for each id, so that the baseline changes with Consume.
	recorder := &capture{Client: e.db}
	cfg.DynamoDB = recorder

	recorded, err := actions.New(cfg)
	if err != nil {
		return nil, err
	}
	inputs := make([]*dynamodb.UpdateItemInput, count)
	consumeID := func(n int) string { return fmt.Sprintf("request-%08d", n) }
	ways := []way{
		{
			prepare: create,
			do: func(ctx context.Context, _, n int) error {
				r, err := all.Consume(ctx, actions.Request{ID: ids[n], ConsumeID: consumeID(n)})
				if err == nil && r.Outcome != actions.Consumed {
					err = fmt.Errorf("consume %s: %s", ids[n], r.Outcome)
				}

				return err
			},
		},
		{
			prepare: func(ctx context.Context, round int) error {
				if err := create(ctx, round); err != nil {
					return err
				}

				// The action must stay unused: the measured call consumes it.
				recorder.discard = true
				for n, id := range ids {
					if _, err := recorded.Consume(ctx, actions.Request{ID: id, ConsumeID: consumeID(n)}); err != nil {
						return err
					}
					inputs[n] = recorder.last
				}

				return nil
			},
			do: func(ctx context.Context, _, n int) error {
				in := *inputs[n]
				// The SDK does not change its input, but a caller has to build these maps, too.
				in.Key, in.ExpressionAttributeValues = maps.Clone(in.Key), maps.Clone(in.ExpressionAttributeValues)
				_, err := e.db.UpdateItem(ctx, &in)

				return err
			},
		},
	}

	m, err := turns(ctx, work, callers, count, ways...)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}

	return []figure{
		{
			name:  "consume_ratio",
			value: ratio(m[0].rates, m[1].rates),
			about: fmt.Sprintf("actions.Consume / the same UpdateItem through the bare SDK, %d callers, %s", callers, e.name),
		},
		{name: "consume_cpu_ratio", value: ratio(m[1].cpu, m[0].cpu), about: "the same in processor time"},
		{name: "consumptions_per_second", value: median(m[0].rates), unit: "1/s"},
	}, nil
}
