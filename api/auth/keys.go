package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

var (
	// ErrNoKey says that no key has the id.
	ErrNoKey = errors.New("no such api key")
	// ErrEnded says that the key was revoked or rotated before, or has expired.
	ErrEnded = errors.New("the api key has ended")
)

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// KeysConfig configures Keys.
type KeysConfig struct {
	// DynamoDB and Table say where the keys are stored. Both are required. The function TableInput
	// describes the table.
	DynamoDB dynamoDB
	Table    string
}

// cacheFor is how long a key that was read is used without another read.
const cacheFor = 5 * time.Second

// validate reports every field that breaks its rule.
func (c KeysConfig) validate() error {
	var errs []error
	if c.DynamoDB == nil {
		errs = append(errs, errors.New("auth: KeysConfig.DynamoDB: must not be nil"))
	}

	if c.Table == "" {
		errs = append(errs, errors.New("auth: KeysConfig.Table: must not be empty"))
	}

	return errors.Join(errs...)
}

// Keys manages and authenticates the API keys of one table. It is safe for concurrent use.
type Keys struct {
	cfg    KeysConfig
	cache  *keyCache
	writer *txn.Writer
}

// NewKeys checks cfg and returns the keys of its table.
func NewKeys(cfg KeysConfig) (*Keys, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB})
	if err != nil {
		return nil, err
	}

	return &Keys{cfg: cfg, cache: newKeyCache(), writer: writer}, nil
}

// TableInput describes the table of API keys. Its partition key is keyId.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("keyId"))
}

// ifAbsent is the condition that no item has the id yet.
var ifAbsent = "attribute_not_exists(keyId)"

// Create stores a new key and returns it with its token. The token is not stored and
// cannot be read again. Create fails with ErrInvalid if n breaks a rule.
func (k *Keys) Create(ctx context.Context, n NewKey) (Key, Token, error) {
	now := time.Now()
	if err := n.validate(now); err != nil {
		return Key{}, "", fmt.Errorf("create api key: %w", err)
	}

	key, token, item := n.build(now)
	_, err := k.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &k.cfg.Table,
		Item:                                item,
		ConditionExpression:                 &ifAbsent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})

	// The SDK repeats a write whose answer was lost. The repeat fails on the condition and
	// finds this call's own item: no other call knows the token.
	if existing, failed := dynamo.FailedCondition(err); failed && sameHash(existing, token) {
		err = nil
	}

	if err != nil {
		return Key{}, "", fmt.Errorf("create api key %q: %w", n.Name, err)
	}

	return key, token, nil
}

// List returns all keys, oldest first. It scans the table.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	var keys []Key
	in := &dynamodb.ScanInput{TableName: &k.cfg.Table, ConsistentRead: aws.Bool(true)}
	for {
		out, err := k.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list api keys: %w", err)
		}

		for _, item := range out.Items {
			if isKey(item) {
				keys = append(keys, decodeKey(item))
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}

	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})

	return keys, nil
}

// Revoke ends a key. Revoking it again changes nothing. It fails with ErrNoKey.
func (k *Keys) Revoke(ctx context.Context, id string) error {
	// The hash must be there: an item without one is a shared secret, and no key.
	update := dynamo.NewUpdate(k.cfg.Table, keyOf(id)).
		IfPresent("hash").
		Set("revokedAt = if_not_exists(revokedAt, :now)").
		Bind(":now", dynamo.Millis(time.Now()))

	_, err := k.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, failed := dynamo.FailedCondition(err); failed {
		err = ErrNoKey
	}

	if err != nil {
		return fmt.Errorf("revoke api key %s: %w", id, err)
	}

	return nil
}

// Authenticate returns the principal of the key. It fails with ErrRefused, or with another
// error if the key could not be read.
func (k *Keys) Authenticate(ctx context.Context, token string) (Principal, error) {
	id, hash, ok := Token(token).split()
	if !ok {
		return Principal{}, ErrRefused
	}

	now := time.Now()
	// The expiry is compared with now in any case. Only a revocation is seen late.
	if key, found := k.cache.get(id, hash, now); found {
		return key.principal(now)
	}

	item, err := k.read(ctx, id)
	if err != nil {
		return Principal{}, fmt.Errorf("read api key %s: %w", id, err)
	}

	// Without an item the stored hash is empty, and differs.
	if subtle.ConstantTimeCompare(dynamo.Bytes(item, "hash"), hash[:]) != 1 {
		return Principal{}, ErrRefused
	}

	key := decodeKey(item)
	k.cache.put(id, hash, key, now.Add(cacheFor))

	return key.principal(now)
}

// Find returns the principal of the key with the id, as it is now: for who has proved before to have the key. It fails with
// ErrRefused if there is no such key or if it has ended. A revocation is seen within 5 s.
func (k *Keys) Find(ctx context.Context, id string) (Principal, error) {
	now := time.Now()
	if key, found := k.cache.byID(id, now); found {
		return key.principal(now)
	}

	item, err := k.read(ctx, id)

	switch {
	case err != nil:
		return Principal{}, fmt.Errorf("read api key %s: %w", id, err)
	case len(dynamo.Bytes(item, "hash")) != sha256.Size: // no key, but a shared secret
		return Principal{}, ErrRefused
	}

	key := decodeKey(item)
	k.cache.put(id, [sha256.Size]byte(dynamo.Bytes(item, "hash")), key, now.Add(cacheFor))

	return key.principal(now)
}

// read returns the stored item with the id, nil if there is none.
func (k *Keys) read(ctx context.Context, id string) (dynamo.Item, error) {
	out, err := k.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &k.cfg.Table,
		Key:            keyOf(id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}

	return out.Item, nil
}

func keyOf(id string) dynamo.Item { return dynamo.Item{"keyId": dynamo.S(id)} }
