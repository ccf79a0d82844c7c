package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
	"ratchet/workflow"
)

// benchWorkflow measures how long the definition takes to decide one transition.
func benchWorkflow(context.Context, size) ([]figure, error) {
	const n = 5_000_000
	d := workflow.Order()
	began := time.Now()

	for range n {
		// The result is used, so that the compiler cannot drop the call.
		if _, ok := d.Next(workflow.Pending, workflow.Pay); !ok {
			return nil, errors.New("pay was refused")
		}
	}

	return []figure{
		{
			name:  "workflow_next_ns",
			value: float64(time.Since(began).Nanoseconds()) / n,
			unit:  "ns",
			about: "one decision of the definition",
		},
	}, nil
}

// benchApply compares three ways to make the same number of transitions on one endpoint, in
// turns: transitions.Apply; the UpdateItem that Apply sends, through the bare SDK client;
// and the smallest conditional update that moves a state and keeps no record.
func benchApply(ctx context.Context, work size, e *endpoint) ([]figure, error) {
	s, err := openOrders(ctx, e)
	if err != nil {
		return nil, err
	}

	var figures []figure
	for _, callers := range []int{1, 32, 256} {
		orders := max(16/callers, 1) * callers // short rounds, the same work for every caller
		ways := []way{s.way(callers, orders, "apply", s.apply), s.way(callers, orders, "bare", s.bare)}
		// Over HTTP the connection costs more than the difference.
		if e.url == "" {
			ways = append(ways, s.way(callers, orders, "plain", s.plain))
		}

		m, err := turns(ctx, work, callers, orders, ways...)
		if err != nil {
			return nil, fmt.Errorf("%s, %d callers: %w", e.name, callers, err)
		}

		suffix := e.suffix + map[int]string{1: "_1", 32: "", 256: "_256"}[callers]
		figures = append(figures,
			figure{
				name:  "apply_ratio" + suffix,
				value: ratio(m[0].rates, m[1].rates),
				about: fmt.Sprintf("Apply / the same UpdateItem through the bare SDK, %d callers, %s", callers, e.name),
			},
			figure{
				name:  "transitions_per_second" + suffix,
				value: median(m[0].rates) * float64(len(path)),
				unit:  "1/s",
				about: fmt.Sprintf("through Apply, %s, %d callers", e.name, callers),
			})
		// The processor time of another process is not measured here.
		if e.url != "" {
			continue
		}

		figures = append(figures,
			figure{
				name:  "apply_cpu_ratio" + suffix,
				value: ratio(m[1].cpu, m[0].cpu),
				about: "the same in processor time of this process, so other processes do not count",
			},
			figure{
				name:  "apply_ratio_plain" + suffix,
				value: ratio(m[0].rates, m[2].rates),
				about: "Apply / an UpdateItem that moves the state and records nothing",
			})
		// With one caller no other goroutine allocates meanwhile.
		if callers == 1 {
			steps := float64(len(path))
			figures = append(figures,
				figure{
					name:  "apply_allocs",
					value: median(m[0].allocs) / steps,
					about: "allocations of one Apply: its own, the SDK client's and the engine's",
				},
				figure{
					name:  "apply_allocs_sdk",
					value: median(m[1].allocs) / steps,
					about: "allocations of the same UpdateItem through the bare SDK client",
				},
				figure{
					name:  "apply_bytes",
					value: median(m[0].bytes) / steps,
					unit:  "B",
					about: "bytes allocated by one Apply, SDK and engine included",
				})
		}
	}

	return figures, nil
}

// path lists the events of each order, from transition 2 on.
var path = []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver, workflow.RequestReturn, workflow.RejectReturn,
	workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn, workflow.RejectReturn, workflow.RequestReturn}

// orderBench is a table of orders on an endpoint, with the ways to move them.
type orderBench struct {
	db     *dynamodb.Client
	orders *transitions.Orders
	inputs []*dynamodb.UpdateItemInput // the inputs that Apply sends, by transition, from 2
}

const benchTable, benchRequests = "bench-orders", "bench-requests"

// openOrders creates the table and records the inputs that Apply sends.
func openOrders(ctx context.Context, e *endpoint) (*orderBench, error) {
	if err := e.tables(ctx, transitions.Mapping{}.OrdersTable(benchTable), transitions.RequestsTable(benchRequests)); err != nil {
		return nil, err
	}

	s := &orderBench{db: e.db}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	if s.orders, err = transitions.New(transitions.Config{DynamoDB: e.db, Table: benchTable, RequestsTable: benchRequests, Log: quiet}); err != nil {
		return nil, err
	}

	// One order goes the path through a client that records its inputs. The bare calls are copies
	// of these inputs, so the baseline changes whenever Apply does.
	c := &capture{Client: e.db}

	recorded, err := transitions.New(transitions.Config{DynamoDB: c, Table: benchTable, RequestsTable: benchRequests, Log: quiet})
	if err != nil {
		return nil, err
	}

	const id = "bench-recorded"
	if err := s.place(ctx, id); err != nil {
		return nil, err
	}

	for n, event := range path {
		if r, err := recorded.Apply(ctx, transitions.Request{
			OrderID:      id,
			Event:        event,
			TransitionID: transitions.TransitionID(n + 2),
		}); err != nil || r.Verdict != transitions.Applied {
			return nil, fmt.Errorf("record the update of %s: %s, %w", event, r.Verdict, err)
		}
		// Ids and values of this order are replaced for each call; the expressions stay.
		s.inputs = append(s.inputs, c.last)
	}

	return s, nil
}

func (s *orderBench) place(ctx context.Context, id transitions.OrderID) error {
	_, err := s.orders.Create(ctx, transitions.NewOrder{
		ID:    id,
		Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 500}},
		Total: transitions.Money{Amount: 500, Currency: "EUR"},
	})

	return err
}

// step makes the transition n of an order.
type step func(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) error

// way moves orders whose ids begin with its name. One piece is one order along the whole path.
func (s *orderBench) way(callers, orders int, name string, move step) way {
	id := func(round, order int) transitions.OrderID {
		return transitions.OrderID(fmt.Sprintf("%s-%d-%d-%d", name, callers, round, order))
	}

	return way{
		prepare: func(ctx context.Context, round int) error {
			// Placing is no part of the measured work, so it runs in parallel.
			return share(ctx, min(orders, 64), orders, func(ctx context.Context, order int) error { return s.place(ctx, id(round, order)) })
		},
		do: func(ctx context.Context, round, order int) error {
			for n := range path {
				if err := move(ctx, id(round, order), transitions.TransitionID(n+2)); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

func (s *orderBench) apply(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) error {
	r, err := s.orders.Apply(ctx, transitions.Request{OrderID: id, Event: path[n-2], TransitionID: n})
	if err == nil && r.Verdict != transitions.Applied {
		err = fmt.Errorf("order %s, transition %d: %s", id, n, r.Verdict)
	}

	return err
}

// bare sends the same call as Apply. It builds key and values for each call, as any caller has to.
func (s *orderBench) bare(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) error {
	// A copy: callers use the recorded input at the same time.
	in := *s.inputs[n-2]
	in.ExpressionAttributeValues = rebuilt(in.ExpressionAttributeValues)
	in.Key = map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(id)}}
	_, err := s.db.UpdateItem(ctx, &in)

	return err
}

// rebuilt makes each value again from its text, as a caller makes it who has the texts already.
func rebuilt(values map[string]types.AttributeValue) map[string]types.AttributeValue {
	out := make(map[string]types.AttributeValue, len(values))
	for name, v := range values {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = &types.AttributeValueMemberS{Value: v.Value}
		case *types.AttributeValueMemberN:
			out[name] = &types.AttributeValueMemberN{Value: v.Value}
		default:
			out[name] = v
		}
	}

	return out
}

var plainUpdate = "SET orderState = :to, transitionId = :id, updatedAt = :at, definitionVersion = :version, reqAt = :id"

// plain moves the state under the same condition. Besides the state it writes only the attributes
// that the condition of the next transition needs.
func (s *orderBench) plain(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) error {
	in := *s.inputs[n-2]
	in.Key = map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(id)}}
	values := map[string]types.AttributeValue{}
	for k, v := range in.ExpressionAttributeValues {
		// DynamoDB refuses values that no expression uses.
		if strings.Contains(plainUpdate, k) || strings.Contains(*in.ConditionExpression, k) {
			values[k] = v
		}
	}
	// Without the new image: a caller that keeps no record does not need it.
	in.UpdateExpression, in.ExpressionAttributeValues, in.ReturnValues = &plainUpdate, values, types.ReturnValueNone
	_, err := s.db.UpdateItem(ctx, &in)

	return err
}
