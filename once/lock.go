package once

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/keys"
)

// Lock is a key that was acquired once and is never released.
type Lock struct {
	// Acquired is set if the caller's holder has the key, by this call or by an earlier one
	// of the same holder.
	Acquired bool `json:"acquired"`
	// First is set if this call acquired the key.
	First bool `json:"first"`
	// Holder is the holder of the key, Since the time of the acquisition (ms).
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
}

// LocksConfig says where once-locks are kept. DynamoDB and Table must be set.
type LocksConfig struct {
	DynamoDB locksDB
	// Table is the name of a table as [TableInput] describes it; claims may be in the same table.
	Table string
	// now is the clock of this machine, for Lock.Since only. Default time.Now.
	now func() time.Time
}

type locksDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Locks acquires once-locks with one write each. A key has at most one holder, ever. The
// holder's work under the lock is done at most once: if the holder crashes, the work is not
// done, and no other caller may do it. Use [Claims] for work that must be done. The methods
// may be called from many goroutines.
type Locks struct {
	cfg   LocksConfig
	clock *dynamo.Clock
}

// NewLocks checks cfg and returns the locks.
func NewLocks(cfg LocksConfig) (*Locks, error) {
	var faults []error
	if cfg.DynamoDB == nil {
		faults = append(faults, errors.New("once: LocksConfig.DynamoDB: must be set"))
	}

	if cfg.Table == "" {
		faults = append(faults, errors.New("once: LocksConfig.Table: must be set"))
	}

	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	return &Locks{cfg: cfg, clock: &dynamo.Clock{Local: cfg.now}}, nil
}

// The attributes of a lock.
const attrSince, attrHolder, attrCall = "since", "holder", "call"

var lockKinds = dynamo.Kinds{attrSince: "N", attrHolder: "S", attrCall: "S"}

// maxHolder bounds a holder's name, in bytes.
const maxHolder = 256

// Acquire acquires the key for the holder, or returns its current holder. The holder names
// one request, such as "pod-7/req-123". The same holder gets the lock again, so a lost
// answer does no harm. The key is never deleted.
func (l *Locks) Acquire(ctx context.Context, key, holder string) (Lock, error) {
	if err := checkLockKey(key); err != nil {
		return Lock{}, err
	}

	if holder == "" || len(holder) > maxHolder {
		return Lock{}, fmt.Errorf("lock: %w: holder: 1 to %d bytes, got %d", ErrInvalid, maxHolder, len(holder))
	}

	call, since := rand.Text(), time.UnixMilli(l.clock.Now().UnixMilli()).UTC()
	item := recordKey(lockPrefix + key)
	item[attrHolder] = dynamo.S(holder)
	item[attrCall] = dynamo.S(call)
	item[attrSince] = dynamo.Millis(since)

	old, exists, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
		began := l.clock.LocalNow()

		out, err := l.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           &l.cfg.Table,
			Item:                                item,
			ConditionExpression:                 aws.String("attribute_not_exists(#key)"),
			ExpressionAttributeNames:            map[string]string{"#key": attrKey},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}, dynamo.WithoutRetries)
		if out == nil {
			out = &dynamodb.PutItemOutput{}
		}
		l.clock.Hear(began, out.ResultMetadata, err)

		return err
	})

	switch {
	case err != nil:
		return Lock{}, fmt.Errorf("lock: %w", unanswered(err))
	case !exists:
		return Lock{Acquired: true, First: true, Holder: holder, Since: since}, nil
	case len(old) == 0:
		// Locks are never deleted, so the endpoint just does not return the item.
		if old, err = l.read(ctx, key); err != nil {
			return Lock{}, err
		}
	}

	lock, err := decodeLock(old)
	lock.Acquired = err == nil && lock.Holder == holder
	// The call id shows whether this call, whose answer was lost, or an earlier call of the holder
	// wrote the lock.
	lock.First = lock.Acquired && dynamo.Text(old, attrCall) == call

	return lock, err
}

// Get reads the lock of a key. It returns false if the key was never acquired.
func (l *Locks) Get(ctx context.Context, key string) (Lock, bool, error) {
	if err := checkLockKey(key); err != nil {
		return Lock{}, false, err
	}

	item, err := l.read(ctx, key)
	if err != nil || len(item) == 0 {
		return Lock{}, false, err
	}
	lock, err := decodeLock(item)

	return lock, err == nil, err
}

func checkLockKey(key string) error {
	if n := keys.MaxBytes - len(lockPrefix); key == "" || len(key) > n || !utf8.ValidString(key) {
		return fmt.Errorf("lock: %w: key: 1 to %d bytes of UTF-8, got %d", ErrInvalid, n, len(key))
	}

	return nil
}

func (l *Locks) read(ctx context.Context, key string) (dynamo.Item, error) {
	out, err := l.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &l.cfg.Table,
		Key:            recordKey(lockPrefix + key),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("read lock: %w", err)
	}

	return out.Item, nil
}

func decodeLock(item dynamo.Item) (Lock, error) {
	if err := lockKinds.Check(item); err != nil {
		return Lock{}, fmt.Errorf("lock: %w: %w", ErrCorrupt, err)
	}

	lock := Lock{Holder: dynamo.Text(item, attrHolder), Since: millis(item, attrSince)}
	if lock.Holder == "" {
		return Lock{}, fmt.Errorf("lock: %w: it has no holder", ErrCorrupt)
	}

	return lock, nil
}
