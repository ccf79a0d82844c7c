package txn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Refusal turns a part's failed condition into an error. Old is the item that made it
// fail, nil when there is none. It must not return nil.
type Refusal func(old map[string]types.AttributeValue) error

// Says is a Refusal that always says the same.
func Says(err error) Refusal {
	return func(map[string]types.AttributeValue) error { return err }
}

// Transaction is a list of named parts. The zero value is empty. It may be written
// again, but not from two goroutines at once while parts are added.
type Transaction struct {
	parts  []part
	marker int // its position from 1, 0 for none
	token  string
	extra  int // markers beyond the first
}

type part struct {
	name    string
	item    types.TransactWriteItem
	refusal Refusal
}

// Marker adds the part that records the transaction: its condition must fail when the
// transaction has been made before. There is at most one.
func (t *Transaction) Marker(name string, item types.TransactWriteItem) {
	if t.marker != 0 {
		t.extra++
	}
	t.Add(name, item, Says(ErrMarker))
	t.marker = len(t.parts)
}

// Add adds a write or a check. Refusal names what a failed condition means; nil says
// [ErrCondition]. Unless the item says otherwise, a failed condition returns the old
// item.
func (t *Transaction) Add(name string, item types.TransactWriteItem, refusal Refusal) {
	t.parts = append(t.parts, part{name, showing(item), refusal})
}

// Len is the number of parts.
func (t *Transaction) Len() int { return len(t.parts) }

// Token derives the transaction's token from the key of what is done and the fence of
// who does it. Within ten minutes DynamoDB answers the same transaction under the same
// token as it did the first time. Without it each Write draws a token of its own.
func (t *Transaction) Token(key string, fence int64) {
	b := binary.BigEndian.AppendUint64(nil, uint64(fence))
	sum := sha256.Sum256(append(b, key...))
	t.token = hex.EncodeToString(sum[:16])
}

// showing is the item as given, but returning the old image when its condition fails.
func showing(i types.TransactWriteItem) types.TransactWriteItem {
	show := func(r *types.ReturnValuesOnConditionCheckFailure) {
		if *r == "" {
			*r = types.ReturnValuesOnConditionCheckFailureAllOld
		}
	}
	switch {
	case i.Put != nil:
		c := *i.Put
		show(&c.ReturnValuesOnConditionCheckFailure)
		i.Put = &c
	case i.Update != nil:
		c := *i.Update
		show(&c.ReturnValuesOnConditionCheckFailure)
		i.Update = &c
	case i.Delete != nil:
		c := *i.Delete
		show(&c.ReturnValuesOnConditionCheckFailure)
		i.Delete = &c
	case i.ConditionCheck != nil:
		c := *i.ConditionCheck
		show(&c.ReturnValuesOnConditionCheckFailure)
		i.ConditionCheck = &c
	}

	return i
}
