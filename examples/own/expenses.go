// Package expenses runs expense claims on Ratchet: a definition, an activity and a reaction of its
// own, in a module of its own.
package expenses

import (
	"context"
	"encoding/json"
	"fmt"

	"ratchet/activities"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// The events and states of a claim: SUBMITTED, then APPROVED or REJECTED.
const (
	Submit  workflow.Event = "submit"
	Approve workflow.Event = "approve"
	Reject  workflow.Event = "reject"

	Submitted workflow.State = "SUBMITTED"
	Approved  workflow.State = "APPROVED"
	Rejected  workflow.State = "REJECTED"
)

// Definition is the state machine of a claim.
func Definition() (*workflow.Definition, error) {
	return workflow.New(workflow.Spec{
		Name: "expense", Version: 1, Place: Submit, Initial: Submitted,
		States: []workflow.StateSpec{
			{State: Submitted, Doc: "waits for a decision"},
			{State: Approved, Doc: "will be paid", Terminal: true},
			{State: Rejected, Doc: "will not be paid", Terminal: true},
		},
		Transitions: []workflow.Transition{
			{Event: Approve, From: []workflow.State{Submitted}, To: Approved},
			{Event: Reject, From: []workflow.State{Submitted}, To: Rejected},
		},
	})
}

// Limit is the highest amount that is approved without a person, in minor units.
const Limit = 10_000

// DecisionInput is the input of the activity "Decide".
type DecisionInput struct {
	ClaimID      transitions.OrderID      `json:"claimId"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	Amount       int64                    `json:"amount"`
}

// Decide returns the handler of the activity. Step Functions may run it twice: the second
// run carries the same transitionId and is answered with the first result.
func Decide(claims *transitions.Orders) activities.HandlerFunc {
	return func(ctx context.Context, task activities.Task) (any, error) {
		var in DecisionInput
		if err := json.Unmarshal(task.Input, &in); err != nil {
			return nil, err
		}

		event := Approve
		if in.Amount > Limit {
			event = Reject
		}

		// The id comes from the state machine, so a repeated task requests the same transition.
		result, err := claims.Apply(ctx, transitions.Request{OrderID: in.ClaimID, Event: event, TransitionID: in.TransitionID})
		if err != nil {
			return nil, err
		}

		switch result.Verdict {
		// A repeat is answered like the first run, or the execution would fail.
		case transitions.Applied, transitions.Replayed:
			return result.Order.Position(), nil
		// The state machine can catch the error by its name.
		default:
			return nil, activities.Fail("Claim."+result.Verdict.String(), fmt.Errorf("claim %s was not decided", in.ClaimID))
		}
	}
}

// Payout returns the reaction to an approval. It may be called again for the same claim:
// pay gets the same key every time and must pay once per key.
func Payout(pay func(ctx context.Context, key string, amount int64) error) streams.Handler {
	return streams.Handler{Name: "payout", Handle: func(ctx context.Context, r streams.Record) error {
		change, moved, err := transitions.Mapping{}.FromRecord(r.Old, r.New)
		if err != nil {
			// A retry reads the same record.
			return streams.Permanent(err)
		}

		// An edit moves nothing, and other transitions pay nothing.
		if !moved || change.New.State != Approved {
			return nil
		}

		return pay(ctx, change.EffectKey("payout"), change.New.Total.Amount)
	}}
}
