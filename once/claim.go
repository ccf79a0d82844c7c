package once

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/attribute"
)

// MaxResult is the largest result that is stored, in bytes. A DynamoDB item holds
// 400 KB; the rest of a claim needs far less than 16.
const MaxResult = 384 << 10

// maxKey is the longest partition key of DynamoDB, in bytes.
const maxKey = 2048

// What a claim, a completion or a release can meet.
var (
	// ErrInProgress: another owner holds the key and its lease has not run out. Retry later.
	ErrInProgress = errors.New("another caller is working under this key")
	// ErrMismatch: the key was used with another payload. A bug in the caller.
	ErrMismatch = errors.New("this key was used with another payload")
	// ErrStaleOwner: the claim was taken over; what its former holder did counts for nothing.
	ErrStaleOwner = errors.New("the claim has been taken over by another caller")
	// ErrLeaseExpired: the lease ran out before the work was completed. Nobody has
	// taken the claim over yet.
	ErrLeaseExpired = errors.New("the lease of the claim ran out before it was completed")
	// ErrInvalid: an argument breaks a rule; the text names both.
	ErrInvalid = errors.New("invalid claim")
)

type dynamo interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Config says where claims live and for how long. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamo
	Table    string
	// Lease is how long a claim stands before others may take it over. Default 5 min.
	Lease time.Duration
	// Retention is how long a finished claim keeps its result. Default 24 h. It must
	// be longer than any caller may retry.
	Retention time.Duration
	// Margin is how far the clocks of two callers may differ: a lease counts as run
	// out for others only that much later than for its holder. Default 2 s.
	Margin time.Duration
	// Now is the callers' clock. Default time.Now.
	Now func() time.Time
}

// Claims gives out claims. Its methods may be called from many goroutines.
type Claims struct{ cfg Config }

// New checks cfg and returns the claims behind it.
func New(cfg Config) (*Claims, error) {
	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("once: Config.DynamoDB is nil")
	case cfg.Table == "":
		return nil, errors.New("once: Config.Table is empty")
	case cfg.Lease < 0 || cfg.Retention < 0 || cfg.Margin < 0:
		return nil, errors.New("once: Config.Lease, Retention and Margin must not be negative")
	}
	if cfg.Lease == 0 {
		cfg.Lease = 5 * time.Minute
	}
	if cfg.Retention == 0 {
		cfg.Retention = 24 * time.Hour
	}
	if cfg.Margin == 0 {
		cfg.Margin = 2 * time.Second
	}
	if cfg.Retention <= cfg.Lease {
		return nil, fmt.Errorf("once: Config.Retention (%s) must be longer than Lease (%s)", cfg.Retention, cfg.Lease)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Claims{cfg: cfg}, nil
}

// Claim is a key that is held, or that was completed before.
type Claim struct {
	Key string
	// Fence rises with every claim of the key, so that whoever guards a write with
	// it refuses a former holder.
	Fence int64
	// Completed tells that the work had been done before; Result is what it gave.
	Completed bool
	Result    []byte

	owner  string
	claims *Claims
}

const (
	inProgress = "IN_PROGRESS"
	completed  = "COMPLETED"
	released   = "RELEASED"
)

// The names are aliased where DynamoDB reserves them (STATUS, OWNER, RESULT).
var names = map[string]string{"#status": "status", "#owner": "owner", "#result": "result"}

const (
	claimCondition = "attribute_not_exists(idempotencyKey) OR expiresAt < :nowSeconds OR " +
		"(payloadHash = :hash AND (#status = :released OR (#status = :inProgress AND leaseUntil <= :stale)))"
	claimUpdate = "SET #status = :inProgress, #owner = :owner, fence = if_not_exists(fence, :zero) + :one, " +
		"leaseUntil = :lease, payloadHash = :hash, updatedAt = :now, expiresAt = :expires REMOVE #result"
	heldCondition = "#owner = :owner AND fence = :fence AND #status = :inProgress AND leaseUntil > :now"
)

type image = attribute.Item

// Claim takes the key, or returns the result of who had completed it. It fails with
// ErrInProgress or ErrMismatch when neither is possible. Payload is what the work
// depends on; two callers under one key must bring the same.
func (c *Claims) Claim(ctx context.Context, key string, payload []byte) (*Claim, error) {
	if key == "" || len(key) > maxKey {
		return nil, fmt.Errorf("%w: key: 1 to %d bytes, got %d", ErrInvalid, maxKey, len(key))
	}
	now, owner, hash := c.cfg.Now(), newOwner(), sha256.Sum256(payload)
	values := image{
		":inProgress": attribute.S(inProgress), ":released": attribute.S(released), ":owner": attribute.S(owner), ":hash": &types.AttributeValueMemberB{Value: hash[:]},
		":zero": attribute.N(0), ":one": attribute.N(1), ":now": attribute.N(now.UnixMilli()), ":nowSeconds": attribute.N(now.Unix()),
		":stale":   attribute.N(now.Add(-c.cfg.Margin).UnixMilli()),
		":lease":   attribute.N(now.Add(c.cfg.Lease).UnixMilli()),
		":expires": attribute.N(now.Add(c.cfg.Retention).Unix()),
	}
	out, err := c.cfg.DynamoDB.UpdateItem(ctx, c.update(key, claimCondition, claimUpdate, values))
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return &Claim{Key: key, Fence: attribute.Number(out.Attributes, "fence"), owner: owner, claims: c}, nil
	case !errors.As(err, &failed):
		return nil, fmt.Errorf("claim %q: %w", key, err)
	}
	old := failed.Item
	held := old["payloadHash"]
	switch {
	case attribute.Text(old, "owner") == owner && attribute.Text(old, "status") == inProgress:
		// The claim was ours; its answer was lost and the SDK's retry met it.
		return &Claim{Key: key, Fence: attribute.Number(old, "fence"), owner: owner, claims: c}, nil
	case !sameBytes(held, hash[:]):
		return nil, fmt.Errorf("claim %q: %w", key, ErrMismatch)
	case attribute.Text(old, "status") == completed:
		return &Claim{Key: key, Fence: attribute.Number(old, "fence"), Completed: true, Result: attribute.Bytes(old, "result")}, nil
	}
	return nil, fmt.Errorf("claim %q: %w until %s", key, ErrInProgress,
		time.UnixMilli(attribute.Number(old, "leaseUntil")).Add(c.cfg.Margin).UTC().Format(time.RFC3339))
}

// Complete stores the result and ends the claim. A nil error means that this claim's
// work counts: its result is what every later caller gets.
func (c *Claim) Complete(ctx context.Context, result []byte) error {
	if len(result) > MaxResult {
		return fmt.Errorf("complete %q: %w: result: %d bytes, at most %d", c.Key, ErrInvalid, len(result), MaxResult)
	}
	return c.end(ctx, "complete", completed, result)
}

// Release gives the key back without a result: the work was not done, or its effect
// was undone. The next caller may claim the key at once.
func (c *Claim) Release(ctx context.Context) error { return c.end(ctx, "release", released, nil) }

func (c *Claim) end(ctx context.Context, verb, status string, result []byte) error {
	if c.claims == nil {
		return fmt.Errorf("%s %q: %w: the claim is not held", verb, c.Key, ErrInvalid)
	}
	cfg := c.claims.cfg
	now := cfg.Now()
	update := "SET #status = :status, updatedAt = :now, expiresAt = :expires, #result = :result"
	values := image{
		":status": attribute.S(status), ":inProgress": attribute.S(inProgress), ":owner": attribute.S(c.owner), ":fence": attribute.N(c.Fence),
		":now": attribute.N(now.UnixMilli()), ":expires": attribute.N(now.Add(cfg.Retention).Unix()),
		":result": &types.AttributeValueMemberB{Value: append([]byte{}, result...)},
	}
	_, err := cfg.DynamoDB.UpdateItem(ctx, c.claims.update(c.Key, heldCondition, update, values))
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return fmt.Errorf("%s %q: %w", verb, c.Key, err)
	}
	old := failed.Item
	switch {
	case attribute.Text(old, "owner") != c.owner || attribute.Number(old, "fence") != c.Fence:
		return fmt.Errorf("%s %q: %w", verb, c.Key, ErrStaleOwner)
	case attribute.Text(old, "status") == status && string(attribute.Bytes(old, "result")) == string(result):
		return nil // it was done before; the answer was lost
	case attribute.Text(old, "status") == inProgress:
		return fmt.Errorf("%s %q: %w", verb, c.Key, ErrLeaseExpired)
	}
	return fmt.Errorf("%s %q: %w: it has ended as %s", verb, c.Key, ErrInvalid, attribute.Text(old, "status"))
}

func (c *Claims) update(key, condition, update string, values image) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: &c.cfg.Table, Key: image{"idempotencyKey": attribute.S(key)},
		ConditionExpression: &condition, UpdateExpression: &update,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// newOwner names one call of Claim: 128 random bits.
func newOwner() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func sameBytes(v types.AttributeValue, want []byte) bool {
	b, ok := v.(*types.AttributeValueMemberB)
	return ok && string(b.Value) == string(want)
}
