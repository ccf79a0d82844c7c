package actions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// State is what an action is at a moment.
type State string

// The states.
const (
	StatePending  State = "pending"  // not yet active
	StateActive   State = "active"   // may be used
	StateHeld     State = "held"     // somebody has it reserved
	StateLocked   State = "locked"   // too many PINs were tried
	StateConsumed State = "consumed" // used
	StateCanceled State = "canceled"
	StateExpired  State = "expired"
)

// Action is an action as its owner sees it. [Action.Public] is what may be shown to
// whoever has the id.
type Action struct {
	ID      ID              `json:"id"`
	State   State           `json:"state"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// PINRequired tells that it has a PIN; AttemptsLeft, how many tries there are.
	PINRequired  bool      `json:"pinRequired"`
	AttemptsLeft int       `json:"attemptsLeft,omitempty"`
	CreatedAt    time.Time `json:"createdAt,omitzero"`
	ActiveAt     time.Time `json:"activeAt,omitzero"`
	ExpiresAt    time.Time `json:"expiresAt,omitzero"`
	HeldUntil    time.Time `json:"heldUntil,omitzero"`
	ConsumedAt   time.Time `json:"consumedAt,omitzero"`
	CanceledAt   time.Time `json:"canceledAt,omitzero"`
	// Batch is the batch that made it; Index, its place there.
	Batch string `json:"batch,omitempty"`
	Index int    `json:"index,omitempty"`
	// Repeated tells, of what Create returned, that an earlier call had made it.
	Repeated bool `json:"-"`
}

// Public is the action without what using it would give: no payload, and with a PIN
// nothing but the state. Show it on the page behind a link: reading it any number of
// times, as mail scanners do, uses nothing up.
func (v Action) Public() Action {
	if v.PINRequired {
		return Action{ID: v.ID, State: v.State, PINRequired: true}
	}

	return Action{ID: v.ID, State: v.State, ActiveAt: v.ActiveAt, ExpiresAt: v.ExpiresAt, HeldUntil: v.HeldUntil,
		ConsumedAt: v.ConsumedAt, CanceledAt: v.CanceledAt}
}

// Get reads an action, and whether there is one. It changes nothing.
func (a *Actions) Get(ctx context.Context, id ID) (Action, bool, error) {
	if _, err := a.keys.signing(); err != nil {
		return Action{}, false, failed("get", id, err)
	}

	where, known := a.resolve(id)
	if !known {
		return Action{}, false, nil
	}

	c := call{Request: Request{ID: id}, ref: where, itemKey: a.itemKey(where), now: a.now()}
	out, err := a.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &a.cfg.Table,
		Key: image{keyAttribute: dynamo.S(c.itemKey)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Action{}, false, failed("get", id, unavailable(ctx, err))
	}

	if len(out.Item) == 0 || dynamo.Number(out.Item, "idExpires") != c.second() {
		return Action{ID: id, State: StateExpired, ExpiresAt: c.expires}, c.absent().Outcome == Expired, nil
	}

	rec, err := decode(out.Item)
	if err != nil {
		return Action{}, false, failed("get", id, err)
	}

	if rec.forgotten(c.now) {
		return Action{ID: id, State: StateExpired}, true, nil
	}

	return rec.action(id, c.now), true, nil
}

func (r record) action(id ID, now time.Time) Action {
	v := Action{ID: id, State: r.state(now), Payload: r.payload, PINRequired: r.pinHash != nil,
		CreatedAt: r.createdAt, ActiveAt: r.activeAt, ExpiresAt: r.expiresAt,
		ConsumedAt: r.consumedAt, CanceledAt: r.canceledAt, Batch: r.batch, Index: r.index}
	if r.pinHash != nil {
		v.AttemptsLeft = r.maxAttempts - len(r.tries)
	}

	if v.State == StateHeld {
		v.HeldUntil = r.until()
	}

	return v
}

func (r record) state(now time.Time) State {
	switch {
	case r.status == canceled:
		return StateCanceled
	case r.status == consumed:
		return StateConsumed
	case r.status == expired || !now.Before(r.expiresAt):
		return StateExpired
	case now.Before(r.activeAt):
		return StatePending
	case r.held(now, 0):
		return StateHeld
	case r.locked():
		return StateLocked
	}

	return StateActive
}
