package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// ErrNoKey: there is no such key.
var ErrNoKey = errors.New("no such api key")

// ErrEnded: the key has been revoked, has expired, or was rotated before.
var ErrEnded = errors.New("the api key has ended")

type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// KeysConfig says where API keys live. DynamoDB and Table must be set.
type KeysConfig struct {
	DynamoDB dynamoDB
	Table    string
	// Cache is for how long a checked key is trusted without another read. Default
	// 10 s; negative: every request reads.
	Cache time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Keys are the API keys in one table. Its methods may be called from many goroutines.
type Keys struct {
	cfg    KeysConfig
	known  *cache
	writer *txn.Writer
}

// NewKeys checks cfg and returns the keys behind it.
func NewKeys(cfg KeysConfig) (*Keys, error) {
	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("auth: KeysConfig.DynamoDB is nil")
	case cfg.Table == "":
		return nil, errors.New("auth: KeysConfig.Table is empty")
	}

	if cfg.Cache == 0 {
		cfg.Cache = 10 * time.Second
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB})
	if err != nil {
		return nil, err
	}

	return &Keys{cfg: cfg, known: newCache(), writer: writer}, nil
}

// TableInput describes the table of keys: key keyId.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("keyId"))
}

// NewKey is a key to be created.
type NewKey struct {
	// Name says what it is for: 1 to 64 printable ASCII characters.
	Name   string
	Tenant Tenant
	Scope  Scope
	// Expires is when it ends. Zero: never.
	Expires time.Time
}

var nameRule = regexp.MustCompile(`^[\x20-\x7e]{1,64}$`)

func (n NewKey) validate(now time.Time) error {
	switch {
	case !nameRule.MatchString(n.Name):
		return fmt.Errorf("%w: name: 1 to 64 printable ASCII characters", ErrInvalid)
	case !n.Scope.Valid():
		return fmt.Errorf("%w: scope: %s, %s or %s", ErrInvalid, Read, Act, Admin)
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return fmt.Errorf("%w: expires: must be in the future", ErrInvalid)
	}

	return n.Tenant.Validate()
}

// Key is what is known about a key; the secret is not.
type Key struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Tenant    Tenant    `json:"tenant"`
	Scope     Scope     `json:"scope"`
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt is zero for a key that does not expire, RevokedAt for one that was
	// not revoked. ReplacedBy names the key that a rotation put in its place.
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	RevokedAt  time.Time `json:"revokedAt,omitzero"`
	ReplacedBy string    `json:"replacedBy,omitempty"`
}

// Live reports whether the key is good at the time.
func (k Key) Live(at time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || at.Before(k.ExpiresAt))
}

type image = dynamo.Item

// Create makes a key and returns it with its token, which is nowhere else.
func (k *Keys) Create(ctx context.Context, n NewKey) (Key, Token, error) {
	now := k.cfg.Now()
	if err := n.validate(now); err != nil {
		return Key{}, "", fmt.Errorf("create api key: %w", err)
	}

	key, token, item := n.build(now)
	_, err := k.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &k.cfg.Table, Item: item, ConditionExpression: &absent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	var taken *types.ConditionalCheckFailedException
	if errors.As(err, &taken) && sameHash(taken.Item, token) {
		err = nil // our own write, whose answer was lost
	}

	if err != nil {
		return Key{}, "", fmt.Errorf("create api key %q: %w", n.Name, err)
	}

	return key, token, nil
}

var absent = "attribute_not_exists(keyId)"

func (n NewKey) build(now time.Time) (Key, Token, image) {
	token := newToken()
	id, hash, _ := token.split()

	key := Key{ID: id, Name: n.Name, Tenant: n.Tenant, Scope: n.Scope, CreatedAt: millis(now.UnixMilli()), ExpiresAt: n.Expires}
	item := image{"keyId": dynamo.S(id), "hash": dynamo.B(hash[:]), "name": dynamo.S(n.Name), "tenant": dynamo.S(string(n.Tenant)),
		"scope": dynamo.S(string(n.Scope)), "createdAt": dynamo.N(now.UnixMilli())}
	if !n.Expires.IsZero() {
		item["expiresAt"] = dynamo.N(n.Expires.UnixMilli())
	}

	return key, token, item
}

// List returns all keys, oldest first.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	var all []Key
	in := &dynamodb.ScanInput{TableName: &k.cfg.Table, ConsistentRead: aws.Bool(true)}
	for {
		out, err := k.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list api keys: %w", err)
		}

		for _, item := range out.Items {
			if item["hash"] != nil {
				all = append(all, decode(item))
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			slices.SortFunc(all, func(a, b Key) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
			return all, nil
		}
	}
}

// Revoke ends a key. Revoking it again changes nothing.
func (k *Keys) Revoke(ctx context.Context, id string) error {
	_, err := k.cfg.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &k.cfg.Table, Key: image{"keyId": dynamo.S(id)}, ConditionExpression: aws.String("attribute_exists(#hash)"),
		UpdateExpression:          aws.String("SET revokedAt = if_not_exists(revokedAt, :now)"),
		ExpressionAttributeNames:  map[string]string{"#hash": "hash"},
		ExpressionAttributeValues: image{":now": dynamo.N(k.cfg.Now().UnixMilli())},
	})
	var unknown *types.ConditionalCheckFailedException
	if errors.As(err, &unknown) {
		err = ErrNoKey
	}

	if err != nil {
		return fmt.Errorf("revoke api key %s: %w", id, err)
	}

	return nil
}

// Authenticate checks a token.
func (k *Keys) Authenticate(ctx context.Context, token string) (Principal, error) {
	id, hash, ok := Token(token).split()
	if !ok {
		return Principal{}, ErrRefused
	}

	now := k.cfg.Now()
	if key, found := k.known.get(id, hash, now); found {
		return key.principal(now)
	}

	out, err := k.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &k.cfg.Table, Key: image{"keyId": dynamo.S(id)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Principal{}, fmt.Errorf("read api key %s: %w", id, err)
	}

	if subtle.ConstantTimeCompare(dynamo.Bytes(out.Item, "hash"), hash[:]) != 1 {
		return Principal{}, ErrRefused
	}

	key := decode(out.Item)
	if k.cfg.Cache > 0 {
		k.known.put(id, hash, key, now.Add(k.cfg.Cache))
	}

	return key.principal(now)
}

func (k Key) principal(now time.Time) (Principal, error) {
	if !k.Live(now) || !k.Scope.Valid() || k.Tenant.Validate() != nil {
		return Principal{}, ErrRefused
	}
	return Principal{ID: "key:" + k.ID, Tenant: k.Tenant, Scope: k.Scope}, nil
}

func decode(item image) Key {
	return Key{ID: dynamo.Text(item, "keyId"), Name: dynamo.Text(item, "name"), Tenant: Tenant(dynamo.Text(item, "tenant")),
		Scope: Scope(dynamo.Text(item, "scope")), CreatedAt: millis(dynamo.Number(item, "createdAt")), ExpiresAt: millis(dynamo.Number(item, "expiresAt")),
		RevokedAt: millis(dynamo.Number(item, "revokedAt")), ReplacedBy: dynamo.Text(item, "replacedBy")}
}

func millis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func sameHash(item image, token Token) bool {
	_, hash, _ := token.split()
	return subtle.ConstantTimeCompare(dynamo.Bytes(item, "hash"), hash[:]) == 1
}
