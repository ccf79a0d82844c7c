package once

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Status is the state of a key. A key that was never claimed has no record.
type Status string

// The statuses of a key.
const (
	StatusInProgress Status = "IN_PROGRESS"
	StatusCompleted  Status = "COMPLETED"
	StatusFailed     Status = "FAILED"
	StatusUnknown    Status = "UNKNOWN"
	StatusReleased   Status = "RELEASED"
)

// Record is the item under a key.
type Record struct {
	Key       string `json:"key"`
	Operation string `json:"operation,omitempty"`
	Status    Status `json:"status"`
	// Fence grows with every claim of the key.
	Fence     int64     `json:"fence"`
	ClaimedAt time.Time `json:"claimedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// LeaseUntil is when the holder's lease ends.
	LeaseUntil time.Time `json:"leaseUntil"`
	// ExpiresAt is when the record begins to count as absent; zero if it does not.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// FailureCode is the code of the final failure.
	FailureCode string `json:"failureCode,omitempty"`
	// ResultBytes is the size of the result, wherever it is stored.
	ResultBytes int64 `json:"resultBytes"`
	// ReleasedBy and Reason are the arguments of [Claims.ForceRelease].
	ReleasedBy string `json:"releasedBy,omitempty"`
	Reason     string `json:"reason,omitempty"`
	// MayHaveBegun is set if a former holder may have begun the work, with an unknown
	// outcome. The next caller that claims the key is TakenOver. A completion, a final
	// failure or [Claims.Resolve] clears it. Until then the record does not expire, unless
	// its key does.
	MayHaveBegun bool `json:"mayHaveBegun,omitempty"`

	owner       string
	keyEnd      time.Time // zero for a key that does not expire
	fingerprint []byte
	failure     []byte
	result      []byte // nil: no result, or stored elsewhere
	pointer     pointer
	lost        bool // the work was done, and its result was not kept
}

// pointer says where a large result is stored.
type pointer struct {
	name string
	hash []byte
}

// The attributes of a record. Several of the names are reserved words of DynamoDB.
const (
	attrKey         = "idempotencyKey"
	attrStatus      = "status"
	attrOwner       = "owner"
	attrFence       = "fence"
	attrLease       = "leaseUntil"
	attrFingerprint = "payloadHash"
	attrOperation   = "operation"
	attrClaimed     = "claimedAt"
	attrUpdated     = "updatedAt"
	attrResult      = "result"
	attrSize        = "resultSize"
	attrRef         = "resultRef"
	attrRefHash     = "resultHash"
	attrLost        = "resultLost"
	attrFailure     = "failure"
	attrReleasedBy  = "releasedBy"
	attrReason      = "reason"
	attrBegun       = "mayHaveBegun"
	attrKeyEnd      = "keyEndsAt"
)

// recordKinds are the types of a record's attributes.
var recordKinds = dynamo.Kinds{
	attrStatus: "S", attrOwner: "S", attrOperation: "S", attrRef: "S", attrReleasedBy: "S", attrReason: "S",
	attrFence: "N", attrLease: "N", attrClaimed: "N", attrUpdated: "N", attrSize: "N", attrKeyEnd: "N", ExpiryAttribute: "N",
	attrFingerprint: "B", attrResult: "B", attrRefHash: "B", attrFailure: "B",
}

// ExpiryAttribute holds the epoch second after which TTL may delete an item of the table.
const ExpiryAttribute = "expiresAt"

// Keys that begin with these belong to the package.
const lockPrefix, chunkPrefix, probePrefix, countPrefix = "lock#", "result#", "probe#", "counted#"

// TableInput describes the table: key idempotencyKey. Time to live is switched on
// separately, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(attrKey))
}

func recordKey(key string) dynamo.Item { return dynamo.Item{attrKey: dynamo.S(key)} }

// decode reads an item. It returns ErrCorrupt for an item that this package did not write:
// a guess could repeat an effect.
func decode(item dynamo.Item) (Record, error) {
	r := Record{
		Key:        dynamo.Text(item, attrKey),
		Operation:  dynamo.Text(item, attrOperation),
		Status:     Status(dynamo.Text(item, attrStatus)),
		Fence:      dynamo.Number(item, attrFence),
		ClaimedAt:  millis(item, attrClaimed),
		UpdatedAt:  millis(item, attrUpdated),
		LeaseUntil: millis(item, attrLease),
		ReleasedBy: dynamo.Text(item, attrReleasedBy),
		Reason:     dynamo.Text(item, attrReason),

		owner:       dynamo.Text(item, attrOwner),
		fingerprint: dynamo.Bytes(item, attrFingerprint),
		failure:     dynamo.Bytes(item, attrFailure),
		pointer:     pointer{dynamo.Text(item, attrRef), dynamo.Bytes(item, attrRefHash)},
	}

	if b, ok := item[attrResult].(*types.AttributeValueMemberB); ok {
		r.result = append([]byte{}, b.Value...) // an empty result is not nil
	}

	// A large result is stored elsewhere, and the record has its size.
	r.ResultBytes = max(dynamo.Number(item, attrSize), int64(len(r.result)))
	_, r.lost = item[attrLost]
	_, r.MayHaveBegun = item[attrBegun]
	if s := dynamo.Number(item, ExpiryAttribute); s > 0 {
		r.ExpiresAt = time.Unix(s, 0).UTC()
	}

	if s := dynamo.Number(item, attrKeyEnd); s > 0 {
		r.keyEnd = time.Unix(s, 0).UTC()
	}

	if err := recordKinds.Check(item); err != nil {
		return r, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}

	switch {
	case r.Fence <= 0:
		return r, fmt.Errorf("%w: it has no fence", ErrCorrupt)
	case r.Status == StatusInProgress && (r.owner == "" || dynamo.Number(item, attrLease) <= 0):
		return r, fmt.Errorf("%w: it is in progress without an owner or a lease", ErrCorrupt)
	case r.Status == StatusFailed:
		// Decoded here, so that a replay of the failure cannot go wrong later.
		f, err := decodeFailure(r.failure, nil)
		if err != nil {
			return r, err
		}
		r.FailureCode = f.Code
	}

	switch r.Status {
	case StatusInProgress, StatusCompleted, StatusFailed, StatusUnknown, StatusReleased:
		return r, nil
	}

	return r, fmt.Errorf("%w: its status is unknown to this version", ErrCorrupt)
}

func millis(item dynamo.Item, name string) time.Time {
	return time.UnixMilli(dynamo.Number(item, name)).UTC()
}

// expired reports whether the record counts as absent. TTL may delete it days later.
func (r Record) expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && r.ExpiresAt.Unix() < now.Unix()
}

// begunBefore reports whether a former holder may have begun the work, so that a caller
// that claims the key is TakenOver.
func (r Record) begunBefore(now time.Time) bool {
	switch r.Status {
	case StatusInProgress:
		return !r.expired(now)
	case StatusReleased:
		return r.MayHaveBegun && !r.expired(now)
	}

	return false
}

// Get reads the record under a key. It returns false if there is none.
func (c *Claims) Get(ctx context.Context, key string) (Record, bool, error) {
	s, err := c.read(ctx, key)
	if s.record == nil {
		return Record{}, false, err
	}

	return *s.record, err == nil, err
}
