package actions

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Config says where actions live and for how long. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamoDB
	Table    string
	// Keys sign ids and hash PINs, see [Key]. Without any, every call fails with
	// [ErrNoKey].
	Keys []Key
	// Retention is how long an action is remembered after its expiry, at least 1 h.
	// Afterwards it answers expired, whatever became of it. Default 30 days.
	Retention time.Duration
	// ReplayFor is how long after the consumption its consume id gets the same answer
	// again. Default: as long as the action is remembered.
	ReplayFor time.Duration
	// Margin is how far the clocks of two callers may differ: a hold counts as run out
	// for others only that much later than for its holder. Default 2 s.
	Margin time.Duration
	// Now is the callers' clock. Default time.Now.
	Now func() time.Time
	// Decided counts outcomes by verb. It must not block. Default: nobody counts.
	Decided func(verb string, o Outcome)
}

// Errors. An outcome is not one: see [Result].
var (
	// ErrInvalid: an argument breaks a rule; the text names both.
	ErrInvalid = errors.New("invalid action")
	// ErrConflict: the request id, the code or the batch was used for an action with
	// other content. A bug in the caller.
	ErrConflict = errors.New("used before for an action with other content")
	// ErrNoKey: the key is not configured that this needs. Nothing was decided.
	ErrNoKey = errors.New("the key of the action is not configured")
	// ErrUnavailable: DynamoDB did not answer, or not in time. A write may have been
	// made: the same call with the same id tells.
	ErrUnavailable = errors.New("the store of actions did not answer")
	errUnreadable  = errors.New("the stored action cannot be read")
)

const (
	minRetention = time.Hour
	maxLifetime  = 5 * 366 * 24 * time.Hour
)

// Actions is the actions of one tenant behind one table. Its methods may be called
// from many goroutines.
type Actions struct {
	cfg    Config
	tenant string
	keys   ring
}

// New checks cfg and returns the actions of the tenant without a name.
func New(cfg Config) (*Actions, error) {
	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("actions: Config.DynamoDB is nil")
	case cfg.Table == "":
		return nil, errors.New("actions: Config.Table is empty")
	case cfg.Retention != 0 && cfg.Retention < minRetention:
		return nil, fmt.Errorf("actions: Config.Retention %s: at least %s", cfg.Retention, minRetention)
	case cfg.ReplayFor < 0 || cfg.Margin < 0:
		return nil, errors.New("actions: Config.ReplayFor and Margin must not be negative")
	}

	if cfg.Retention == 0 {
		cfg.Retention = 30 * 24 * time.Hour
	}

	if cfg.Margin == 0 {
		cfg.Margin = 2 * time.Second
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	if cfg.Decided == nil {
		cfg.Decided = func(string, Outcome) {}
	}

	keys, err := newRing(cfg.Keys, "")
	if err != nil {
		return nil, fmt.Errorf("actions: Config.Keys: %w", err)
	}

	return &Actions{cfg: cfg, keys: keys}, nil
}

var tenantRule = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// For returns the actions of another tenant in the same table: their keys and their
// signatures are its own, so that an id of one tenant is unknown to all others.
func (a *Actions) For(tenant string) (*Actions, error) {
	if !tenantRule.MatchString(tenant) {
		return nil, fmt.Errorf("%w: tenant: 1 to 64 characters of A-Z a-z 0-9 _ . : -", ErrInvalid)
	}
	keys, err := newRing(a.cfg.Keys, tenant)

	return &Actions{cfg: a.cfg, tenant: tenant, keys: keys}, err
}

// TableInput describes the table of actions: key actionId. Expiry is switched on
// apart from it, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(keyAttribute))
}

// ExpiryAttribute holds the epoch second after which TTL may delete an action.
const ExpiryAttribute = "forgetAt"

const keyAttribute = "actionId"
