package main

import (
	"context"
	_ "embed"

	"ratchet/server"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

//go:embed workflow.yaml
var definition []byte

//go:embed statemachine.asl.json
var stateMachine []byte

// world is what the program does outside. Each call may come again with the same key, and acts once per key.
type world interface {
	// charge takes the money of one period. It reports false if the bank declines.
	charge(ctx context.Context, key, id string) (paid bool, err error)
	// remind writes to the customer that the trial ends soon.
	remind(ctx context.Context, key, id string) error
}

// newParts returns the program's own parts: its workflow and the reactions.
func newParts(w world) (server.Parts, error) {
	d, err := file.Parse("workflow.yaml", definition)
	if err != nil {
		return server.Parts{}, err
	}

	return server.Parts{
		Workflow: &server.Workflow{Definition: d, StateMachine: stateMachine},
		Handlers: func(b *server.Backend) []streams.Handler {
			return []streams.Handler{
				on(b.Orders, "billing", func(ctx context.Context, c transitions.Change) error { return bill(ctx, b.Orders, w, c) }),
				on(b.Orders, "reminder", func(ctx context.Context, c transitions.Change) error { return remind(ctx, w, c) }),
			}
		},
	}, nil
}

// on returns the reaction to transitions. The stream delivers each transition at least once, and those of one
// subscription in their order. An error is retried.
func on(orders *transitions.Orders, name string, react func(context.Context, transitions.Change) error) streams.Handler {
	return streams.Handler{Name: name, Handle: func(ctx context.Context, r streams.Record) error {
		change, moved, err := orders.Mapping().FromRecord(r.Old, r.New)
		switch {
		case err != nil:
			return streams.Permanent(err) // a retry reads the same record
		case !moved:
			return nil
		}

		return react(ctx, change)
	}}
}

// bill charges each period when it begins, and again when time retries it. What time has made is a transition like
// any other, so the reaction does not know timers.
func bill(ctx context.Context, orders *transitions.Orders, w world, c transitions.Change) error {
	switch c.Transition.Event {
	case "begin", "renew", "retry":
	default:
		return nil
	}

	key := c.EffectKey("billing")

	paid, err := w.charge(ctx, key, string(c.New.ID))
	if err != nil {
		return err
	}

	switch retried := c.Transition.Event == "retry"; {
	case !paid && !retried:
		return apply(ctx, orders, c, key, "decline")
	case paid && retried:
		return apply(ctx, orders, c, key, "recover")
	}

	return nil
}

// apply moves the subscription, once for each key. A refusal means that it has moved meanwhile, such as to its end.
func apply(ctx context.Context, orders *transitions.Orders, c transitions.Change, key string, event workflow.Event) error {
	_, err := orders.Apply(ctx, transitions.Request{
		OrderID:     c.New.ID,
		Event:       event,
		RequestID:   transitions.RequestID(key),
		Incarnation: c.New.Incarnation,
	})

	return err
}

func remind(ctx context.Context, w world, c transitions.Change) error {
	if c.Transition.Event != "remind" {
		return nil
	}

	return w.remind(ctx, c.EffectKey("reminder"), string(c.New.ID))
}
