package actions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// State is the state of an action at a moment:
//
//	pending    not yet active
//	active     may be used
//	held       reserved by a caller
//	locked     all tries of the PIN are used up
//	consumed   used
//	canceled   ended by its owner
//	expired    not used in time, or no longer remembered
type State string

const (
	statePending  State = "pending"
	stateActive   State = "active"
	stateHeld     State = "held"
	stateLocked   State = "locked"
	stateConsumed State = "consumed"
	stateCanceled State = "canceled"
	stateExpired  State = "expired"
)

// Action is an action as its owner sees it. [Action.Public] may be shown to anyone who has
// the id.
type Action struct {
	ID      ID              `json:"id"`
	State   State           `json:"state"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// PINRequired is set if the action has a PIN. AttemptsLeft is how many tries are left.
	PINRequired  bool      `json:"pinRequired"`
	AttemptsLeft int       `json:"attemptsLeft,omitempty"`
	CreatedAt    time.Time `json:"createdAt,omitzero"`
	ActiveAt     time.Time `json:"activeAt,omitzero"`
	ExpiresAt    time.Time `json:"expiresAt,omitzero"`
	HeldUntil    time.Time `json:"heldUntil,omitzero"`
	ConsumedAt   time.Time `json:"consumedAt,omitzero"`
	CanceledAt   time.Time `json:"canceledAt,omitzero"`
	// Batch is the batch that the action belongs to; Index, its place there.
	Batch string `json:"batch,omitempty"`
	Index int    `json:"index,omitempty"`
	// Repeated is set in the result of Create if an earlier call had made the action.
	Repeated bool `json:"-"`
}

// Public returns the action without its payload and, if it has a PIN, without anything but
// the state. Show it on the page behind a link. Reading it any number of times, as mail
// scanners do, does not use the action.
func (v Action) Public() Action {
	if v.PINRequired {
		return Action{ID: v.ID, State: v.State, PINRequired: true}
	}

	return Action{
		ID:         v.ID,
		State:      v.State,
		ActiveAt:   v.ActiveAt,
		ExpiresAt:  v.ExpiresAt,
		HeldUntil:  v.HeldUntil,
		ConsumedAt: v.ConsumedAt,
		CanceledAt: v.CanceledAt,
	}
}

// Get reads an action. It returns false if there is none. It changes nothing.
func (a *Actions) Get(ctx context.Context, id ID) (Action, bool, error) {
	// Without a key no id can be checked: every id would look unknown.
	if _, err := a.keys.signing(); err != nil {
		return Action{}, false, failed("get", id, err)
	}

	action, known := a.resolve(id)
	if !known {
		return Action{}, false, nil
	}

	c := call{Request: Request{ID: id}, ref: action, itemKey: a.itemKey(action)}
	out, err := a.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &a.cfg.Table,
		Key:            image{keyAttribute: dynamo.S(c.itemKey)},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Action{}, false, failed("get", id, unavailable(ctx, err))
	}

	c.now = a.now() // after the answer, which states the time

	// A later id with the same request id has the same item key, so the item may belong to
	// another action. Then the item of this action is gone.
	if len(out.Item) == 0 || dynamo.Number(out.Item, "idExpires") != c.second() {
		return Action{ID: id, State: stateExpired, ExpiresAt: c.expires}, c.absent().Outcome == Expired, nil
	}

	rec, err := decode(out.Item)
	if err != nil {
		return Action{}, false, failed("get", id, err)
	}

	if rec.forgotten(c.now) {
		return Action{ID: id, State: stateExpired}, true, nil
	}

	return rec.action(id, c.now), true, nil
}

func (r record) action(id ID, now time.Time) Action {
	v := Action{
		ID:          id,
		State:       r.state(now),
		Payload:     r.payload,
		PINRequired: r.pinHash != nil,
		CreatedAt:   r.createdAt,
		ActiveAt:    r.activeAt,
		ExpiresAt:   r.expiresAt,
		ConsumedAt:  r.consumedAt,
		CanceledAt:  r.canceledAt,
		Batch:       r.batch,
		Index:       r.index,
	}
	if r.pinHash != nil {
		v.AttemptsLeft = r.maxAttempts - len(r.tries)
	}

	if v.State == stateHeld {
		v.HeldUntil = r.holdEnd()
	}

	return v
}

func (r record) state(now time.Time) State {
	switch {
	// The stored end comes before the clock: a consumed action does not expire.
	case r.status == canceled:
		return stateCanceled
	case r.status == consumed:
		return stateConsumed
	case r.status == expired || !now.Before(r.expiresAt):
		return stateExpired
	case now.Before(r.activeAt):
		return statePending
	case r.holdStands(now, 0):
		return stateHeld
	case r.locked():
		return stateLocked
	}

	return stateActive
}
