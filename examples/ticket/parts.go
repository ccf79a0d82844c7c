package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"ratchet/activities"
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

// tellFunc tells the customer that there is an answer. It may be called again with the same key,
// and should tell once per key.
type tellFunc func(ctx context.Context, key, id string) error

// newParts returns the program's own parts: its workflow with the step, and the reaction.
func newParts(tell tellFunc) (server.Parts, error) {
	d, err := file.Parse("workflow.yaml", definition)
	if err != nil {
		return server.Parts{}, err
	}

	return server.Parts{
		Workflow: &server.Workflow{
			Definition:   d,
			StateMachine: stateMachine,
			Steps:        []server.Step{{Name: "triage", Handle: triage}},
		},
		Handlers: func(b *server.Backend) []streams.Handler {
			return []streams.Handler{answer(b, tell)}
		},
	}, nil
}

// triageInput is the input that the state Triage passes.
type triageInput struct {
	OrderID transitions.OrderID `json:"orderId"`
}

// triage returns the step behind the activity "triage": it chooses a queue by the topic. Step
// Functions may run a task twice; a step that changes something passes a key along. The general
// step "apply" moves the ticket.
func triage(b *server.Backend) activities.HandlerFunc {
	return func(ctx context.Context, task activities.Task) (any, error) {
		var in triageInput
		if err := json.Unmarshal(task.Input, &in); err != nil {
			return nil, err
		}

		order, found, err := b.Orders.Get(ctx, in.OrderID)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, activities.Fail("Order.NotFound", fmt.Errorf("%s does not exist", in.OrderID))
		}

		queue := "general"
		if topic := order.Metadata["topic"]; topic != "" {
			queue = topic
		}

		return map[string]string{"queue": queue}, nil
	}
}

// closed is the state after the answer.
const closed workflow.State = "CLOSED"

// answer is the reaction to a transition to CLOSED. The stream delivers each transition at least
// once, and the transitions of one ticket in their order. An error is retried.
func answer(b *server.Backend, tell tellFunc) streams.Handler {
	return streams.Handler{Name: "answer", Handle: func(ctx context.Context, r streams.Record) error {
		change, moved, err := b.Orders.Mapping().FromRecord(r.Old, r.New)
		switch {
		case err != nil:
			return streams.Permanent(err) // a retry reads the same record
		case !moved || change.New.State != closed:
			return nil
		}

		return tell(ctx, change.EffectKey("answer"), string(change.New.ID))
	}}
}
