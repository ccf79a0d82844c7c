package once

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Status is where a key stands.
type Status string

// A key that nobody has claimed has no record.
const (
	StatusInProgress Status = "IN_PROGRESS"
	StatusCompleted  Status = "COMPLETED"
	StatusFailed     Status = "FAILED"
	StatusUnknown    Status = "UNKNOWN"
	StatusReleased   Status = "RELEASED"
)

// Record is what the table holds under a key.
type Record struct {
	Key       string `json:"key"`
	Operation string `json:"operation,omitempty"`
	Status    Status `json:"status"`
	// Fence grows with every claim of the key.
	Fence     int64     `json:"fence"`
	ClaimedAt time.Time `json:"claimedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// LeaseUntil is when the holder's lease ends by the holder's clock.
	LeaseUntil time.Time `json:"leaseUntil"`
	// ExpiresAt is when the record counts as absent; zero means that it stays.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// FailureCode is why the work failed for good.
	FailureCode string `json:"failureCode,omitempty"`
	// ResultBytes is the size of the result, wherever it is.
	ResultBytes int64 `json:"resultBytes"`
	// ReleasedBy and Reason are an operator's, from [Claims.ForceRelease].
	ReleasedBy string `json:"releasedBy,omitempty"`
	Reason     string `json:"reason,omitempty"`

	owner       string
	fingerprint []byte
	failure     []byte
	result      []byte // nil: none, or none here
	pointer     pointer
	lost        bool // it was completed, and its result was not kept
}

// pointer says where a large result is.
type pointer struct {
	name string
	hash []byte
}

// The attributes. Each is aliased in expressions: several are reserved words.
const (
	attrKey, attrStatus, attrOwner, attrFence            = "idempotencyKey", "status", "owner", "fence"
	attrLease, attrPrint, attrOperation                  = "leaseUntil", "payloadHash", "operation"
	attrClaimed, attrUpdated                             = "claimedAt", "updatedAt"
	attrResult, attrSize, attrRef, attrRefHash, attrLost = "result", "resultSize", "resultRef", "resultHash", "resultLost"
	attrFailure, attrReleasedBy, attrReason              = "failure", "releasedBy", "reason"
)

// ExpiryAttribute holds the epoch second after which TTL may delete an item of the table.
const ExpiryAttribute = "expiresAt"

// names are the aliases of all expressions; each request takes those that it uses.
var names = map[string]string{
	"#key": attrKey, "#status": attrStatus, "#owner": attrOwner, "#fence": attrFence, "#lease": attrLease, "#print": attrPrint,
	"#operation": attrOperation, "#claimed": attrClaimed, "#updated": attrUpdated, "#expires": ExpiryAttribute,
	"#result": attrResult, "#size": attrSize, "#ref": attrRef, "#refHash": attrRefHash, "#lost": attrLost,
	"#failure": attrFailure, "#releasedBy": attrReleasedBy, "#reason": attrReason,
	"#chunk": attrChunk,
}

// Keys that begin so are the package's own.
const lockPrefix, chunkPrefix, probePrefix = "lock#", "result#", "probe#"

// TableInput describes the table: key idempotencyKey. Expiry is switched on apart
// from it, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(attrKey))
}

// decode reads an item. Whatever was not written by this package is ErrCorrupt: a
// guess could repeat an effect.
func decode(item image) (Record, error) {
	r := Record{
		Key: dynamo.Text(item, attrKey), Operation: dynamo.Text(item, attrOperation),
		Status: Status(dynamo.Text(item, attrStatus)), Fence: dynamo.Number(item, attrFence),
		ClaimedAt: millis(item, attrClaimed), UpdatedAt: millis(item, attrUpdated), LeaseUntil: millis(item, attrLease),
		ReleasedBy: dynamo.Text(item, attrReleasedBy), Reason: dynamo.Text(item, attrReason),
		owner: dynamo.Text(item, attrOwner), fingerprint: dynamo.Bytes(item, attrPrint), failure: dynamo.Bytes(item, attrFailure),
		pointer: pointer{dynamo.Text(item, attrRef), dynamo.Bytes(item, attrRefHash)},
	}
	if b, ok := item[attrResult].(*types.AttributeValueMemberB); ok {
		r.result = append([]byte{}, b.Value...) // empty is not nil
	}

	r.ResultBytes = max(dynamo.Number(item, attrSize), int64(len(r.result)))
	_, r.lost = item[attrLost]
	if s := dynamo.Number(item, ExpiryAttribute); s > 0 {
		r.ExpiresAt = time.Unix(s, 0).UTC()
	}

	switch {
	case r.Fence <= 0:
		return r, fmt.Errorf("%w: it has no fence", ErrCorrupt)
	case r.Status == StatusInProgress && (r.owner == "" || dynamo.Number(item, attrLease) <= 0):
		return r, fmt.Errorf("%w: it is in progress without an owner or a lease", ErrCorrupt)
	case r.Status == StatusFailed:
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

func millis(item image, name string) time.Time {
	return time.UnixMilli(dynamo.Number(item, name)).UTC()
}

// expired reports that the record counts as absent. A sweep may be days late.
func (r Record) expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && r.ExpiresAt.Unix() < now.Unix()
}

// Get reads the record under a key. It is false when there is none.
func (c *Claims) Get(ctx context.Context, key string) (Record, bool, error) {
	s, err := c.see(ctx, key)
	if s.record == nil {
		return Record{}, false, err
	}

	return *s.record, err == nil, err
}
