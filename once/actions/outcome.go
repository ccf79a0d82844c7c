package actions

import (
	"encoding/json"
	"net/http"
	"time"
)

// Outcome says what became of a request. If several apply, it is the first in this order:
// not found, canceled, already used, expired, not active, held, locked, invalid PIN.
type Outcome string

// The outcomes. A final one never changes for this action and request.
const (
	Consumed    Outcome = "consumed"         // this request used the action; final
	Reserved    Outcome = "reserved"         // the caller holds the action until HeldUntil
	Released    Outcome = "released"         // the hold has ended
	NotFound    Outcome = "action_not_found" // no such action was made here, with one of the keys of today
	Canceled    Outcome = "canceled"         // by its owner; final
	AlreadyUsed Outcome = "already_used"     // by another request; final while remembered, then expired
	Expired     Outcome = "expired"          // it was not used in time; final
	NotActive   Outcome = "not_active"       // too early: it is active from ActiveAt
	Held        Outcome = "held"             // by another holder: until HeldUntil
	HoldLost    Outcome = "hold_lost"        // the hold has run out, or was never the caller's
	Locked      Outcome = "locked"           // all tries of the PIN are used up; final
	InvalidPIN  Outcome = "invalid_pin"      // the PIN is wrong, or missing
)

// HTTPStatus returns the status with which an HTTP API answers the outcome.
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

// Result is the answer to a request. If the action has a PIN, it contains only the outcome
// until the right PIN was given. A repeat of a request that was Consumed, Reserved,
// Released or Canceled gets an equal result.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Payload is the action's payload: Consumed, Reserved.
	Payload json.RawMessage `json:"payload,omitempty"`
	// ConsumedAt is when the action was used: Consumed, AlreadyUsed.
	ConsumedAt time.Time `json:"consumedAt,omitzero"`
	// CanceledAt is when the action was canceled: Canceled.
	CanceledAt time.Time `json:"canceledAt,omitzero"`
	// ActiveAt is when the action may first be used: NotActive.
	ActiveAt time.Time `json:"activeAt,omitzero"`
	// ExpiresAt is when the action expires: Reserved, Expired.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// HeldUntil is when the hold runs out: Reserved, Held. Fence is its number: Reserved.
	HeldUntil time.Time `json:"heldUntil,omitzero"`
	Fence     int64     `json:"fence,omitempty"`
	// Replayed is set if an earlier sending of the request was carried out.
	Replayed bool `json:"-"`
}
