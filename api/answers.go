package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once"
)

const (
	// answersFor is how long the answer to a request is stored for its repeats.
	answersFor = 48 * time.Hour
	// maxAnswer is the largest answer that is stored, in bytes. An item has at most 400 KB.
	maxAnswer = 300 << 10
	// answerTimeout bounds the write of an answer, which goes on if the client is gone.
	answerTimeout = 5 * time.Second
	// answerAttempts is how often the write of an answer is sent.
	answerAttempts = 8
)

// answerStore stores the first answer to a request, so that its repeats get the same one.
// An answer may contain secrets, such as the id of an action, so it is encrypted with the
// secret that all instances share, and stored under a digest.
type answerStore struct {
	db     dynamo.Client
	table  string
	secret []byte
	clock  *dynamo.Clock
}

func newAnswerStore(cfg Config) answerStore {
	clock := &dynamo.Clock{}

	return answerStore{
		db:     dynamo.Client{DB: cfg.Claims.DynamoDB, Clock: clock},
		table:  cfg.Claims.Table,
		secret: cfg.Secret,
		clock:  clock,
	}
}

// storedAnswer is an answer as it is stored.
type storedAnswer struct {
	// Content is the digest of the request's content.
	Content []byte `json:"content"`
	// Output is the handler's output, as JSON.
	Output json.RawMessage `json:"output"`
}

// answerKey returns the key under which the answer to a request is stored. The parts
// identify the request, and none of them contains the separator.
func answerKey(parts ...string) string {
	return "answer#" + hex.EncodeToString(digestOf(additionalData(parts)))
}

// keep stores the answer under the key, unless there is one already. It returns the stored
// answer and whether it is this one. The first answer decides by one conditional write, so
// concurrent repeats get the same answer.
func (a answerStore) keep(ctx context.Context, key string, answer storedAnswer) (kept storedAnswer, first bool, err error) {
	sealed, err := a.seal(key, answer)
	// Too large for an item: the answer is not stored, and every repeat is served like the first.
	if err != nil || len(sealed) > maxAnswer {
		return answer, true, err
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()

	if err := a.clock.Learn(ctx, a.hear); err != nil {
		return answer, false, fmt.Errorf("store the answer: %w", err)
	}

	old, failed, err := dynamo.UntilDecided(ctx, answerAttempts, func() error { return a.put(ctx, key, sealed) })
	switch {
	case err != nil:
		return answer, false, fmt.Errorf("store the answer: %w", err)
	case !failed:
		return answer, true, nil
	}

	// A write whose answer was lost is sent again, and then finds its own item. No other call has the same
	// nonce.
	stored := dynamo.Bytes(old, "answer")
	if bytes.Equal(stored, sealed) {
		return answer, true, nil
	}

	// An answer that another secret has sealed cannot be read. The caller gets this call's answer.
	if kept, err = a.open(key, stored); err != nil {
		return answer, false, nil //nolint:nilerr // the caller still gets an answer
	}

	return kept, false, nil
}

// put stores the sealed answer, on condition that there is none. An expired answer counts as absent until
// TTL deletes it.
func (a answerStore) put(ctx context.Context, key string, sealed []byte) error {
	now := a.clock.Now()
	condition := "attribute_not_exists(idempotencyKey) OR " + once.ExpiryAttribute + " <= :now"

	_, err := a.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &a.table,
		Item: dynamo.Item{
			"idempotencyKey":     dynamo.S(key),
			"answer":             dynamo.B(sealed),
			once.ExpiryAttribute: dynamo.Seconds(now.Add(answersFor)),
		},
		ConditionExpression:                 &condition,
		ExpressionAttributeValues:           dynamo.Item{":now": dynamo.Seconds(now)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})

	return err
}

// hear reads an item, so that the clock hears the time of the service.
func (a answerStore) hear(ctx context.Context) error {
	_, err := a.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &a.table, Key: dynamo.Item{"idempotencyKey": dynamo.S("answer#")}})

	return err
}

func (a answerStore) seal(key string, answer storedAnswer) ([]byte, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}

	s, err := a.sealerOf(key)
	if err != nil {
		return nil, err
	}

	return s.sealBytes(text, key), nil
}

func (a answerStore) open(key string, sealed []byte) (answer storedAnswer, err error) {
	s, err := a.sealerOf(key)
	if err != nil {
		return answer, err
	}

	text, err := s.openBytes(sealed, key)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}

	return answer, err
}

// sealerOf returns a sealer with a secret of its own for the key: one secret must not seal
// more than 2^32 texts under random nonces.
func (a answerStore) sealerOf(key string) (sealer, error) {
	mac := hmac.New(sha256.New, a.secret)
	_, _ = mac.Write([]byte(key)) // never fails

	return newSealer(mac.Sum(nil))
}

func digestOf(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:]
}
