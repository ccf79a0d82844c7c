package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// benchWorkflow measures one decision of the table.
func benchWorkflow(context.Context, size) ([]figure, error) {
	const n = 5_000_000
	d := workflow.Order()
	began := time.Now()
	for range n {
		if _, ok := d.Next(workflow.Pending, workflow.Pay); !ok {
			return nil, errors.New("pay was refused")
		}
	}
	return []figure{{"workflow_next_ns", float64(time.Since(began).Nanoseconds()) / n, "ns", "one decision of the table"}}, nil
}

// benchApply sends the same number of transitions through transitions.Apply and as
// the very same UpdateItem through the bare SDK client, in turns, on one engine; and
// as the smallest conditional update that moves a state, without any record.
func benchApply(ctx context.Context, work size) ([]figure, error) {
	var figures []figure
	for _, callers := range []int{1, 32, 256} {
		f, err := benchApplyWith(ctx, work, callers)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f...)
	}
	return figures, nil
}

func benchApplyWith(ctx context.Context, work size, callers int) ([]figure, error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, err := server.Embed(server.Config{Data: dir}, nil, server.Hooks{})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := b.CreateTables(ctx); err != nil {
		return nil, err
	}
	perRound := work.perRound
	if callers == 1 {
		perRound /= 4
	}
	capture := &capture{Client: b.DynamoDB}
	orders, err := transitions.New(transitions.Config{DynamoDB: capture, Table: b.Tables.Orders})
	if err != nil {
		return nil, err
	}
	bare, err := capture.learn(ctx, orders)
	if err != nil {
		return nil, err
	}
	ways := []func(ctx context.Context, id transitions.OrderID, event workflow.Event, n transitions.TransitionID) error{
		func(ctx context.Context, id transitions.OrderID, event workflow.Event, n transitions.TransitionID) error {
			r, err := b.Orders.Apply(ctx, transitions.Request{OrderID: id, Event: event, TransitionID: n})
			if err == nil && r.Verdict != transitions.Applied {
				err = fmt.Errorf("order %s, transition %d: %s", id, n, r.Verdict)
			}
			return err
		},
		func(ctx context.Context, id transitions.OrderID, event workflow.Event, n transitions.TransitionID) error {
			_, err := b.DynamoDB.UpdateItem(ctx, bare(id, event, n, true))
			return err
		},
		func(ctx context.Context, id transitions.OrderID, event workflow.Event, n transitions.TransitionID) error {
			_, err := b.DynamoDB.UpdateItem(ctx, bare(id, event, n, false))
			return err
		},
	}
	rates := make([][]float64, len(ways))
	for round := range work.rounds + 1 {
		for i := range ways {
			way := (round + i) % len(ways) // each is first, second and last in turn
			runtime.GC()
			took, err := drive(ctx, b, fmt.Sprintf("b%d-%d-", round, way), callers, perRound, ways[way])
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first one warms up
				rates[way] = append(rates[way], float64(perRound)/took.Seconds())
			}
		}
	}
	var same, plain []float64
	for i := range rates[0] {
		same = append(same, rates[0][i]/rates[1][i])
		plain = append(plain, rates[0][i]/rates[2][i])
	}
	suffix := map[int]string{1: "_1", 32: "", 256: "_256"}[callers]
	return []figure{
		{"apply_ratio" + suffix, median(same), "", fmt.Sprintf("Apply / the same UpdateItem through the bare SDK, %d callers", callers)},
		{"apply_ratio_plain" + suffix, median(plain), "", "Apply / an UpdateItem that moves the state and records nothing"},
		{"transitions_per_second" + suffix, median(rates[0]), "1/s", fmt.Sprintf("through Apply, embedded engine, synced to disk, %d callers", callers)},
	}, nil
}

// path is the life that the benchmark's orders lead, from transition 2 on.
var path = []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver, workflow.RequestReturn, workflow.RejectReturn,
	workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn}

// drive places orders (not timed) and moves each along the path.
func drive(ctx context.Context, b *server.Backend, prefix string, callers, total int, apply func(context.Context, transitions.OrderID, workflow.Event, transitions.TransitionID) error) (time.Duration, error) {
	count := total / len(path)
	group, placing := errgroup.WithContext(ctx)
	group.SetLimit(64)
	id := func(i int) transitions.OrderID { return transitions.OrderID(fmt.Sprintf("%s%d", prefix, i)) }
	for i := range count {
		group.Go(func() error {
			_, err := b.Orders.Create(placing, transitions.NewOrder{ID: id(i), Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 500}},
				Total: transitions.Money{Amount: 500, Currency: "EUR"}})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	began := time.Now()
	group, moving := errgroup.WithContext(ctx)
	for caller := range callers {
		group.Go(func() error {
			for i := caller; i < count; i += callers {
				for n, event := range path {
					if err := apply(moving, id(i), event, transitions.TransitionID(n+2)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return time.Since(began), err
}

// capture is the SDK's client; it keeps the UpdateItem that Apply sends, so that the
// baseline is that very call and cannot drift away from it.
type capture struct {
	*dynamodb.Client
	last *dynamodb.UpdateItemInput
}

// UpdateItem keeps the input and passes it on.
func (c *capture) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.last = in
	return c.Client.UpdateItem(ctx, in, opts...)
}

// learn applies one transition per event and returns a function that builds Apply's
// UpdateItem for any order, or the smallest one that moves a state.
func (c *capture) learn(ctx context.Context, orders *transitions.Orders) (func(transitions.OrderID, workflow.Event, transitions.TransitionID, bool) *dynamodb.UpdateItemInput, error) {
	const id = "bench-learn"
	if _, err := orders.Create(ctx, transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}}); err != nil {
		return nil, err
	}
	var inputs []*dynamodb.UpdateItemInput // by transition, from 2
	for n, event := range path {
		if r, err := orders.Apply(ctx, transitions.Request{OrderID: id, Event: event, TransitionID: transitions.TransitionID(n + 2)}); err != nil || r.Verdict != transitions.Applied {
			return nil, fmt.Errorf("learn %s: %s, %w", event, r.Verdict, err)
		}
		inputs = append(inputs, c.last)
	}
	plain := "SET orderState = :to, transitionId = :id, updatedAt = :at"
	return func(order transitions.OrderID, _ workflow.Event, n transitions.TransitionID, full bool) *dynamodb.UpdateItemInput {
		in := *inputs[n-2]
		in.ExpressionAttributeValues = maps.Clone(in.ExpressionAttributeValues) // a caller builds them for each call
		in.Key = map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(order)}}
		if !full {
			values := map[string]types.AttributeValue{}
			for k, v := range in.ExpressionAttributeValues {
				if k == ":to" || k == ":id" || k == ":at" || strings.HasPrefix(k, ":from") {
					values[k] = v
				}
			}
			in.UpdateExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &plain, nil, values
			in.ReturnValues = types.ReturnValueNone
		}
		return &in
	}, nil
}
