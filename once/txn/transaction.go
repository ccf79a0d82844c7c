package txn

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ConditionError turns the failed condition of a part into an error. Old is the item that
// failed the condition, nil if there is none. Returning nil means [ErrCondition].
type ConditionError func(old map[string]types.AttributeValue) error

// FailWith returns a ConditionError that always returns err.
func FailWith(err error) ConditionError {
	return func(map[string]types.AttributeValue) error { return err }
}

// Transaction is a list of named parts. The zero value is empty and ready to use. It may
// be written more than once. It is not safe to add parts while another goroutine uses it.
type Transaction struct {
	parts        []part
	marker       int // 1-based index of the marker, 0 for none
	extraMarkers int // a mistake of the caller, reported by Write
	token        string
	each         []func(context.Context) error // see EachAttempt
}

type part struct {
	name      string
	item      types.TransactWriteItem
	onFailure ConditionError
	onInvalid func(context.Context, error) error // see Explain
	// decisive: while DynamoDB has not evaluated the part's condition, the failed condition
	// of another part says nothing.
	decisive bool
}

// Marker adds the part that records the transaction: its condition must fail if the
// transaction was made before. A transaction has at most one marker.
func (t *Transaction) Marker(name string, item types.TransactWriteItem) {
	if t.marker != 0 {
		t.extraMarkers++
	}

	t.AddDecisive(name, item, FailWith(ErrMarker))
	t.marker = len(t.parts)
}

// Add adds a write or a check. The refusal says what a failed condition means; nil means
// [ErrCondition]. Unless the item says otherwise, a failed condition returns the old item.
func (t *Transaction) Add(name string, item types.TransactWriteItem, refusal ConditionError) {
	t.parts = append(t.parts, part{name: name, item: returningOld(item), onFailure: refusal})
}

// AddDecisive is Add for a part whose answer may explain the failures of the parts after it,
// like a reservation before the stock that it takes. A failed condition is reported only if
// DynamoDB has also evaluated the decisive parts; until then the transaction is tried again.
func (t *Transaction) AddDecisive(name string, item types.TransactWriteItem, refusal ConditionError) {
	t.Add(name, item, refusal)
	t.parts[len(t.parts)-1].decisive = true
}

// Explain says what it means that DynamoDB takes the part that was added last for invalid, such as a value that an index
// does not have: the error of Write is the one that explain returns for DynamoDB's, unless it returns nil.
func (t *Transaction) Explain(explain func(context.Context, error) error) {
	t.parts[len(t.parts)-1].onInvalid = explain
}

// EachAttempt registers a function that Write calls before each attempt. It reads the time for this
// attempt, and puts it into the values of a part that compares an end, such as ":now". If the
// function fails, the attempt is not sent, and Write returns the error.
//
// A transaction with such a function and a marker gets a new token for each attempt, also after
// Token: its marker has to show whether an earlier attempt of the call was made. Without a marker,
// an attempt after one without an answer is sent as the one before was.
func (t *Transaction) EachAttempt(prepare func(context.Context) error) {
	t.each = append(t.each, prepare)
}

func (t *Transaction) prepare(ctx context.Context) error {
	for _, prepare := range t.each {
		if err := prepare(ctx); err != nil {
			return err
		}
	}

	return nil
}

// Token derives the client request token from the key of the work and the fence of its
// owner. For ten minutes DynamoDB answers the same transaction under the same token as it
// did the first time. Without Token each call of Write uses a random token.
func (t *Transaction) Token(key string, fence int64) {
	b := binary.BigEndian.AppendUint64(nil, uint64(fence))
	sum := sha256.Sum256(append(b, key...))
	t.token = hex.EncodeToString(sum[:16])
}

// returningOld returns a copy of the item that asks for the old item when its condition
// fails.
func returningOld(item types.TransactWriteItem) types.TransactWriteItem {
	set := func(r *types.ReturnValuesOnConditionCheckFailure) {
		if *r == "" {
			*r = types.ReturnValuesOnConditionCheckFailureAllOld
		}
	}

	switch {
	case item.Put != nil:
		c := *item.Put
		set(&c.ReturnValuesOnConditionCheckFailure)
		item.Put = &c
	case item.Update != nil:
		c := *item.Update
		set(&c.ReturnValuesOnConditionCheckFailure)
		item.Update = &c
	case item.Delete != nil:
		c := *item.Delete
		set(&c.ReturnValuesOnConditionCheckFailure)
		item.Delete = &c
	case item.ConditionCheck != nil:
		c := *item.ConditionCheck
		set(&c.ReturnValuesOnConditionCheckFailure)
		item.ConditionCheck = &c
	}

	return item
}
