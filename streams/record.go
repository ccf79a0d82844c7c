package streams

import (
	"crypto/rand"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EventName is the kind of a change.
type EventName string

// The three kinds of change that DynamoDB reports.
const (
	Insert EventName = "INSERT"
	Modify EventName = "MODIFY"
	Remove EventName = "REMOVE"
)

// Record is one change of one item. All handlers that get the record share its maps:
// read them, but do not write to them.
type Record struct {
	// StreamARN and ShardID say where the record was read. ShardID is "" behind
	// Lambda.
	StreamARN string
	ShardID   string
	// SequenceNumber orders the records of a shard and its ancestors. Compare it as a whole number
	// of up to 40 digits, not as text.
	SequenceNumber string
	// EventID is the service's own id of the record. Do not use it as an idempotency key, because
	// one change has different ids in a stream and in the stream that replaces it. Use a property
	// of the item itself, for example its version.
	EventID   string
	EventName EventName
	// Keys is the item's primary key. Old and New are its images before and after the
	// change; each is nil if there is none or if the stream's view type leaves it out.
	Keys map[string]ddbtypes.AttributeValue
	Old  map[string]ddbtypes.AttributeValue
	New  map[string]ddbtypes.AttributeValue
	// CreatedAt is when the change was made. The service floors it to the second.
	CreatedAt time.Time
	// SizeBytes is the size that the service reports, 0 if it reports none.
	SizeBytes int64
	// Identity is set if the service itself made the change: time to live, for
	// example. It is zero for ordinary writes.
	Identity Identity
	// Owner and Epoch identify the lease under which the record was delivered. The
	// epoch of a shard only grows, and the epochs of its children are higher, so a store that keeps
	// the highest epoch can refuse the late write of a worker that has lost its lease.
	Owner string
	Epoch int64
	// Group is the poller's Config.Group. Keys of effects must have it in them if two
	// groups have handlers with the same name.
	Group string
	// Handler is the name of the handler that is called. Attempt counts its calls for
	// this record, from 1.
	Handler string
	Attempt int
	// Late says that the item may have newer changes that were handled: the record is redriven,
	// waited in the retry queue, or is older than 1 min.
	Late bool
	// Replay says that the record is delivered again on request. It is nil for others.
	Replay *Replayed

	memo *recordMemo // see Memo
}

// Replayed says why a record is delivered again on request. The record itself, or newer records of
// its item, may have been delivered before.
type Replayed struct {
	// Again, if it is not "", asks for the effects of the record once more. A handler must make it
	// part of the effect key; otherwise an effect that has happened is not repeated.
	Again string
	// Repaired says that the record does not come from the stream: a Rebuild made it from the item
	// in the table. Version is its Version.Number.
	Repaired bool
	Version  int64
}

// NewAgain returns a value for Replayed.Again that no other replay has.
func NewAgain() string { return rand.Text()[:10] }

// Identity is who made a change on behalf of the service.
type Identity struct {
	PrincipalID string
	Type        string
}

// ExpiredByTTL reports whether time to live removed the item, and not a caller. The
// DynamoDB Developer Guide documents the values under "DynamoDB
// Streams and Time to Live".
func (r Record) ExpiredByTTL() bool {
	return r.EventName == Remove && r.Identity.Type == "Service" && r.Identity.PrincipalID == "dynamodb.amazonaws.com"
}

// Item returns the newest image that the record has: New, or Old after a removal.
func (r Record) Item() map[string]ddbtypes.AttributeValue {
	if r.New != nil {
		return r.New
	}
	return r.Old
}
