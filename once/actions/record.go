package actions

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

type image = dynamo.Item

// The stored statuses. The states pending, active, held and locked follow from other
// attributes.
const (
	open     = "OPEN"
	consumed = "CONSUMED"
	canceled = "CANCELED"
	expired  = "EXPIRED"
)

// record is an action as it is stored.
type record struct {
	status   string
	idSecond int64 // the expiry in the id, as [ref.second] returns it
	content  []byte
	payload  json.RawMessage

	createdAt, activeAt, expiresAt   time.Time
	forgetAt, consumedAt, canceledAt time.Time

	consumeID           string
	pinHash             []byte
	pinKey, maxAttempts int
	tries               []string

	holder    string
	fence     int64
	holdUntil time.Time

	batch  string
	index  int
	callID string // the Create or Bulk call that stored the item
}

// recordKinds are the types of an action's attributes.
var recordKinds = dynamo.Kinds{
	"status": "S", "consumeId": "S", "holder": "S", "batchId": "S", "callId": "S",
	"idExpires": "N", "createdAt": "N", "activeAt": "N", "expiresAt": "N", "consumedAt": "N", "canceledAt": "N", "pinKey": "N",
	"maxAttempts": "N", "fence": "N", "holdUntil": "N", "batchIndex": "N", ExpiryAttribute: "N",
	"content": "B", "payload": "B", "pinHash": "B", "tries": "SS",
}

func decode(item image) (record, error) {
	if err := recordKinds.Check(item); err != nil {
		return record{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}

	r := record{
		status:      dynamo.Text(item, "status"),
		idSecond:    dynamo.Number(item, "idExpires"),
		content:     dynamo.Bytes(item, "content"),
		payload:     dynamo.Bytes(item, "payload"),
		createdAt:   dynamo.Time(item, "createdAt"),
		activeAt:    dynamo.Time(item, "activeAt"),
		expiresAt:   dynamo.Time(item, "expiresAt"),
		consumedAt:  dynamo.Time(item, "consumedAt"),
		canceledAt:  dynamo.Time(item, "canceledAt"),
		consumeID:   dynamo.Text(item, "consumeId"),
		pinHash:     dynamo.Bytes(item, "pinHash"),
		pinKey:      int(dynamo.Number(item, "pinKey")),
		maxAttempts: int(dynamo.Number(item, "maxAttempts")),
		holder:      dynamo.Text(item, "holder"),
		fence:       dynamo.Number(item, "fence"),
		holdUntil:   dynamo.Time(item, "holdUntil"),
		batch:       dynamo.Text(item, "batchId"),
		index:       int(dynamo.Number(item, "batchIndex")),
		callID:      dynamo.Text(item, "callId"),
	}

	// A chosen code has no expiry: its item is kept.
	if second := dynamo.Number(item, ExpiryAttribute); second != 0 {
		r.forgetAt = time.Unix(second, 0).UTC()
	}

	if set, ok := item["tries"].(*types.AttributeValueMemberSS); ok {
		r.tries = set.Value
	}

	switch r.status {
	case open, consumed, canceled, expired:
	default:
		return record{}, fmt.Errorf("%w: status %q", errUnreadable, r.status)
	}

	// Absent attributes read as zero. An action without these two was not written by this package.
	if r.expiresAt.IsZero() || (r.pinHash != nil && r.maxAttempts == 0) {
		return record{}, fmt.Errorf("%w: expiresAt or maxAttempts is missing", errUnreadable)
	}

	return r, nil
}

// forgotten reports whether the retention of the action is over. TTL may or may not have
// deleted the item yet.
func (r record) forgotten(now time.Time) bool { return !r.forgetAt.IsZero() && !now.Before(r.forgetAt) }

// holdStands reports whether the action is held. The margin is 0 for the holder and
// Config.Margin for others.
func (r record) holdStands(now time.Time, margin time.Duration) bool {
	return r.holdUntil.Add(margin).After(now)
}

// locked reports whether all tries of the PIN are used up.
func (r record) locked() bool { return r.pinHash != nil && len(r.tries) >= r.maxAttempts }
