package actions

import (
	"encoding/json"
	"net/http"
	"time"
)

// Outcome is what became of a request. Where several apply, the first in this order
// is the one: not found, canceled, already used, expired, not active, held, locked,
// invalid PIN.
type Outcome string

// The outcomes. Those marked final never change for this action and request.
const (
	Consumed    Outcome = "consumed"         // this request used the action; final
	Reserved    Outcome = "reserved"         // this holder has it until HeldUntil
	Released    Outcome = "released"         // the hold has been given back
	NotFound    Outcome = "action_not_found" // never made here
	Canceled    Outcome = "canceled"         // by its owner; final
	AlreadyUsed Outcome = "already_used"     // by another request; final while remembered, then expired
	Expired     Outcome = "expired"          // nobody used it in time; final
	NotActive   Outcome = "not_active"       // too early: from ActiveAt
	Held        Outcome = "held"             // by another holder: until HeldUntil
	HoldLost    Outcome = "hold_lost"        // the hold has run out, or was never the caller's
	Locked      Outcome = "locked"           // as many PINs were tried as may be; final
	InvalidPIN  Outcome = "invalid_pin"      // the PIN is wrong, or missing
)

// HTTPStatus is the status that an HTTP API answers the outcome with.
func (o Outcome) HTTPStatus() int {
	switch o {
	case Consumed, Reserved, Released:
		return http.StatusOK
	case NotFound:
		return http.StatusNotFound
	case Canceled, Expired:
		return http.StatusGone
	case InvalidPIN:
		return http.StatusForbidden
	case Locked:
		return http.StatusLocked
	default: // AlreadyUsed, NotActive, Held, HoldLost
		return http.StatusConflict
	}
}

// Result is the answer to a request. Of an action with a PIN it holds nothing but the
// outcome until the right PIN was given. A repeated request that was consumed,
// reserved, released or canceled before gets an equal result.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Payload is the action's, when Consumed or Reserved.
	Payload json.RawMessage `json:"payload,omitempty"`
	// ConsumedAt is when it was used: Consumed, AlreadyUsed.
	ConsumedAt time.Time `json:"consumedAt,omitzero"`
	CanceledAt time.Time `json:"canceledAt,omitzero"`
	// ActiveAt is when it may first be used: NotActive.
	ActiveAt  time.Time `json:"activeAt,omitzero"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// HeldUntil is when the hold runs out: Reserved, Held. Fence goes with Reserved.
	HeldUntil time.Time `json:"heldUntil,omitzero"`
	Fence     int64     `json:"fence,omitempty"`
	// Replayed tells that the request had been carried out before.
	Replayed bool `json:"-"`
}
