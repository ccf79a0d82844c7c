package actions

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

type image = dynamo.Item

// What an action's item says of it. Pending, active and held follow from the times.
const (
	open     = "OPEN"
	consumed = "CONSUMED"
	canceled = "CANCELED"
	expired  = "EXPIRED"
)

// record is an action as it is stored.
type record struct {
	status                           string
	idSecond                         int64
	content                          []byte
	payload                          json.RawMessage
	createdAt, activeAt, expiresAt   time.Time
	forgetAt, consumedAt, canceledAt time.Time
	consumeID                        string
	pinHash                          []byte
	pinKey, maxAttempts              int
	tries                            []string
	holder                           string
	fence                            int64
	holdUntil                        time.Time
	batch                            string
	callID                           string // the Create or Bulk call that stored the item
	index                            int
}

func decode(i image) (record, error) {
	at := func(name string) time.Time {
		ms := dynamo.Number(i, name)
		if ms == 0 {
			return time.Time{}
		}

		return time.UnixMilli(ms).UTC()
	}

	r := record{
		status: dynamo.Text(i, "status"), idSecond: dynamo.Number(i, "idExpires"), content: dynamo.Bytes(i, "content"), payload: dynamo.Bytes(i, "payload"),
		createdAt: at("createdAt"), activeAt: at("activeAt"), expiresAt: at("expiresAt"),
		consumedAt: at("consumedAt"), canceledAt: at("canceledAt"), consumeID: dynamo.Text(i, "consumeId"),
		pinHash: dynamo.Bytes(i, "pinHash"), pinKey: int(dynamo.Number(i, "pinKey")), maxAttempts: int(dynamo.Number(i, "maxAttempts")),
		holder: dynamo.Text(i, "holder"), fence: dynamo.Number(i, "fence"), holdUntil: at("holdUntil"),
		callID: dynamo.Text(i, "callId"), batch: dynamo.Text(i, "batchId"), index: int(dynamo.Number(i, "batchIndex")),
	}
	if second := dynamo.Number(i, ExpiryAttribute); second != 0 {
		r.forgetAt = time.Unix(second, 0).UTC()
	}

	if set, ok := i["tries"].(*types.AttributeValueMemberSS); ok {
		r.tries = set.Value
	}

	switch r.status {
	case open, consumed, canceled, expired:
	default:
		return record{}, fmt.Errorf("%w: status %q", errUnreadable, r.status)
	}

	if r.expiresAt.IsZero() || (r.pinHash != nil && r.maxAttempts == 0) {
		return record{}, fmt.Errorf("%w: expiresAt or maxAttempts is missing", errUnreadable)
	}

	return r, nil
}

// forgotten: the record's time is over, and whether TTL has deleted it yet is chance.
func (r record) forgotten(now time.Time) bool { return !r.forgetAt.IsZero() && !now.Before(r.forgetAt) }

// held: somebody's hold stands. For others it stands a margin longer than for them.
func (r record) held(now time.Time, margin time.Duration) bool {
	return r.holdUntil.Add(margin).After(now)
}

func (r record) locked() bool { return r.pinHash != nil && len(r.tries) >= r.maxAttempts }

func millis(t time.Time) types.AttributeValue { return dynamo.N(t.UnixMilli()) }
