package once

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

type dynamoDB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config describes the claims of one operation. DynamoDB and Table must be set. Several
// operations may share a table, each with a Config of its own.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Operation names what is done under the keys, with a version if its payload has
	// changed: "refund/v1". A key that another operation has used is a mismatch. It is the
	// label of every [Event]. At most 128 bytes. Default "".
	Operation string
	// Lease is how long a claim is exclusive. After that, others may take it over. Default
	// 5 min, at least 1 ms.
	Lease time.Duration
	// Heartbeat makes [Claims.Do] extend the lease while the work runs.
	Heartbeat bool
	// ExpiredIsUnknown gives a claim whose lease ran out an unknown outcome, instead of
	// letting others take it over. Use it for work that must not be repeated.
	ExpiredIsUnknown bool
	// Retention is how long a finished claim keeps its result. It must be longer than any
	// caller may retry, and longer than Lease. Default 24 h.
	Retention time.Duration
	// PayloadJSON compares payloads as JSON values, in the form that [Canonical] writes.
	// Default: byte by byte. Claims recognize payloads that were stored under the other
	// setting.
	PayloadJSON bool
	// KeysExpire says that keys are made by keys.Expiring. A key is refused from its end on,
	// and its record is kept at least until then. Default false.
	KeysExpire bool
	// Inline is the size of the largest result that is stored in the claim itself, in bytes.
	// Larger results go to Results. Default 32 KiB, at most 256 KiB.
	Inline int
	// Results keeps large results. Default: chunks in the same table.
	Results Results
	// Cache is how many finished claims this process remembers, so that their repeats need no
	// call. Default 0.
	Cache int
	// Failures registers errors as final failures, by code (1 to 128 bytes). Work that returns one of
	// them, or an error that [Fail] made, is not repeated.
	Failures map[string]error
	// Reconcile finds out how work with an unknown outcome ended. [Claims.Do] and
	// [Claims.Sweep] call it for such keys. Default: the outcome stays unknown until
	// [Claims.Resolve].
	Reconcile func(context.Context, Record) (Resolution, error)
	// FailOpen makes [Claims.Do] run the work without a claim while DynamoDB cannot be
	// reached. The work may then be done twice. Each such run is an [Event] with the outcome
	// [Untracked]. Default false.
	FailOpen bool
	// Waiters is how many calls may wait at the same time for a key in progress ([Claims.Waiting]), in this
	// process. A call beyond them is refused at once, as without a waiting time. Default 1000.
	Waiters int
	// Events observes the calls. Default none.
	Events Events
	// LogKey is the secret of the digests that stand for keys in events and errors. Without
	// it a short key can be guessed from its digest. Any number of bytes. Default none.
	LogKey []byte
	// Now is the clock of this machine, for tests. Default time.Now. It may be wrong: the Date of
	// DynamoDB's answers corrects it.
	Now func() time.Time

	// margin is how far the times of a caller may be off the service's, because a Date has whole
	// seconds. For others, a lease runs out two margins later than for its holder. Default 1 s.
	margin time.Duration
}

// Events observes [Claims]. Nil functions are not called; none may block.
type Events struct {
	// Observed is called with the outcome of every call.
	Observed func(Event)
}

const (
	defaultInline = 32 << 10
	maxInline     = 256 << 10
)

// withDefaults fills in the zero values and reports every fault of the configuration.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	require := func(holds bool, format string, args ...any) {
		if !holds {
			faults = append(faults, fmt.Errorf("once: Config."+format, args...))
		}
	}

	require(c.DynamoDB != nil, "DynamoDB: must be set")
	require(c.Table != "", "Table: must be set")
	require(len(c.Operation) <= maxOperation, "Operation: %d bytes, at most %d", len(c.Operation), maxOperation)
	require(c.Lease == 0 || c.Lease >= time.Millisecond, "Lease %s: at least 1ms", c.Lease)
	require(c.Retention >= 0, "Retention %s: must not be negative", c.Retention)
	require(c.Inline >= 0 && c.Inline <= maxInline, "Inline %d: 0 to %d", c.Inline, maxInline)
	require(c.Cache >= 0, "Cache %d: must not be negative", c.Cache)
	require(c.Waiters >= 0, "Waiters %d: must not be negative", c.Waiters)

	for code, err := range c.Failures {
		require(code != "" && err != nil, "Failures: must pair a code with an error")
		require(len(code) <= maxCode, "Failures: a code of %d bytes: at most %d", len(code), maxCode)
	}

	setDefault(&c.Lease, 5*time.Minute)
	setDefault(&c.Retention, 24*time.Hour)
	setDefault(&c.margin, time.Second)
	setDefault(&c.Inline, defaultInline)
	setDefault(&c.Waiters, 1000)
	// This is checked after the defaults are set, because either value may be a default.
	require(c.Retention > c.Lease, "Retention %s: must be longer than Lease (%s)", c.Retention, c.Lease)

	return c, errors.Join(faults...)
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}
