package actions

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Config says where actions are kept and for how long. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Keys sign ids and hash PINs; see [Key]. Without keys, every call returns [ErrNoKey].
	Keys []Key
	// Retention is how long an action is remembered after its expiry, at least 1 h.
	// Afterwards its outcome is Expired, whatever it was before. Default 30 days.
	Retention time.Duration
	// ReplayFor is how long after a consumption its ConsumeID gets the same answer again.
	// Default: as long as the action is remembered.
	ReplayFor time.Duration
	// Events observes the calls. Default none.
	Events Events
	// Now is the clock of this machine, for tests. Default time.Now. It may be wrong: the Date of
	// DynamoDB's answers corrects it.
	Now func() time.Time
}

// Events observes [Actions]. Nil functions are not called; none may block.
type Events struct {
	// Decided is called with the outcome of each Consume, Reserve, Release and Cancel. The
	// verb is the method's name in lower case. Both have few values and can be metric
	// labels.
	Decided func(verb string, o Outcome)
}

const (
	// margin is how far the times of two callers may differ, because a Date has whole seconds. A
	// hold stands that much longer for others than for its holder.
	margin       = 2 * time.Second
	minRetention = time.Hour
	maxLifetime  = 5 * 366 * 24 * time.Hour
)

// withDefaults fills in the zero values and reports every fault of the configuration.
// [newKeyRing] checks the keys.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	require := func(holds bool, format string, args ...any) {
		if !holds {
			faults = append(faults, fmt.Errorf("actions: Config."+format, args...))
		}
	}

	require(c.DynamoDB != nil, "DynamoDB: must be set")
	require(c.Table != "", "Table: must be set")
	// Before the defaults are filled in, 0 is valid.
	require(c.Retention == 0 || c.Retention >= minRetention, "Retention %s: at least %s", c.Retention, minRetention)
	require(c.ReplayFor >= 0, "ReplayFor %s: must not be negative", c.ReplayFor)

	if c.Retention == 0 {
		c.Retention = 30 * 24 * time.Hour
	}

	if c.Events.Decided == nil {
		c.Events.Decided = func(string, Outcome) {}
	}

	return c, errors.Join(faults...)
}

// Actions is the actions of one tenant in one table. Its methods may be called from many
// goroutines.
type Actions struct {
	cfg    Config
	clock  *dynamo.Clock
	tenant string
	keys   keyRing
}

// New checks cfg and returns the actions of the tenant without a name.
func New(cfg Config) (*Actions, error) {
	cfg, err := cfg.withDefaults()

	keys, bad := newKeyRing(cfg.Keys, "")
	if bad != nil {
		err = errors.Join(err, fmt.Errorf("actions: Config.Keys: %w", bad))
	}

	if err != nil {
		return nil, err
	}

	clock := &dynamo.Clock{Local: cfg.Now}
	cfg.DynamoDB = dynamo.Client{DB: cfg.DynamoDB, Clock: clock}

	return &Actions{cfg: cfg, clock: clock, keys: keys}, nil
}

var tenantRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`) })

// For returns the actions of another tenant in the same table. Each tenant has its own
// item keys and signing keys, so an id of one tenant is unknown to all others.
func (a *Actions) For(tenant string) (*Actions, error) {
	if !tenantRule().MatchString(tenant) {
		return nil, fmt.Errorf("%w: tenant: 1 to 64 characters of A-Z a-z 0-9 _ . : -", ErrInvalid)
	}

	keys, err := newKeyRing(a.cfg.Keys, tenant)

	return &Actions{cfg: a.cfg, clock: a.clock, tenant: tenant, keys: keys}, err
}

// now returns the service's time, with the precision of the stored times.
func (a *Actions) now() time.Time { return a.at(a.clock.LocalNow()) }

// at is now for a moment of this machine's clock.
func (a *Actions) at(local time.Time) time.Time {
	return a.clock.Service(local).Truncate(time.Millisecond).UTC()
}

// TableInput describes the table of actions: key actionId. Time to live is switched on
// separately, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(keyAttribute))
}

// ExpiryAttribute holds the epoch second after which TTL may delete an action.
const ExpiryAttribute = "forgetAt"

const keyAttribute = "actionId"
