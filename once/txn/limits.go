package txn

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// The quotas of DynamoDB for one transaction and one item, in parts and bytes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
const (
	maxParts = 100
	maxBytes = 4 << 20
	maxItem  = 400 << 10
)

// check returns ErrInvalid with the first rule that the transaction breaks.
func (w *Writer) check(t *Transaction) error {
	switch {
	case len(t.parts) == 0:
		return fmt.Errorf("%w: no parts", ErrInvalid)
	case len(t.parts) > maxParts:
		return fmt.Errorf("%w: %d parts, at most %d", ErrInvalid, len(t.parts), maxParts)
	case t.extraMarkers > 0:
		return fmt.Errorf("%w: %d markers, at most 1", ErrInvalid, t.extraMarkers+1)
	}

	bytes := 0
	seen := make(map[string]string, len(t.parts)) // name of the part by identity of its item

	for _, p := range t.parts {
		a, err := p.action()
		if err != nil {
			return err
		}

		if a.size > maxItem {
			return fmt.Errorf("%w: %s: %d bytes, an item has at most %d", ErrInvalid, p.name, a.size, maxItem)
		}

		bytes += a.size

		id, known := w.identity(t, a)
		// Puts whose key attributes are unknown are left to DynamoDB.
		if first, twice := seen[id]; known && twice {
			return fmt.Errorf("%w: %s and %s are one item of table %s", ErrInvalid, first, p.name, a.table)
		}

		seen[id] = p.name
	}

	if bytes > maxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrInvalid, bytes, maxBytes)
	}

	return nil
}

// action has the data of a part that check needs.
type action struct {
	table string
	key   map[string]types.AttributeValue // nil for a put
	item  map[string]types.AttributeValue // of a put, else nil
	size  int                             // bytes in the request; the item of an update may be larger
}

func (p part) action() (action, error) {
	var (
		last  action
		found int
	)

	if put := p.item.Put; put != nil {
		found++
		last = action{
			table: aws.ToString(put.TableName),
			item:  put.Item,
			size:  dynamo.Size(put.Item),
		}
	}

	if update := p.item.Update; update != nil {
		found++
		last = action{
			table: aws.ToString(update.TableName),
			key:   update.Key,
			size:  dynamo.Size(update.Key) + dynamo.Size(update.ExpressionAttributeValues),
		}
	}

	if del := p.item.Delete; del != nil {
		found++
		last = action{
			table: aws.ToString(del.TableName),
			key:   del.Key,
			size:  dynamo.Size(del.Key),
		}
	}

	if check := p.item.ConditionCheck; check != nil {
		found++
		last = action{
			table: aws.ToString(check.TableName),
			key:   check.Key,
			size:  dynamo.Size(check.Key),
		}
	}

	// The type lets a caller set several actions, or none.
	switch {
	case found != 1:
		return action{}, fmt.Errorf("%w: %s: %d actions, must be one of Put, Update, Delete, ConditionCheck", ErrInvalid, p.name, found)
	case last.table == "":
		return action{}, fmt.Errorf("%w: %s: no table", ErrInvalid, p.name)
	case len(last.key) == 0 && len(last.item) == 0:
		return action{}, fmt.Errorf("%w: %s: no key", ErrInvalid, p.name)
	}

	return last, nil
}

// identity returns the table and key of an action as one text. It reports false for a
// put whose key attributes are unknown: neither configured nor used by another part on
// the same table.
func (w *Writer) identity(t *Transaction, a action) (string, bool) {
	key := a.key
	if key == nil {
		names := w.cfg.Keys[a.table]
		if names == nil {
			names = t.keyNames(a.table)
		}

		if names == nil {
			return "", false
		}

		key = make(map[string]types.AttributeValue, len(names))
		for _, name := range names {
			key[name] = a.item[name]
		}
	}

	names := make([]string, 0, 2) // a key has at most two attributes
	for name := range key {
		names = append(names, name)
	}
	slices.Sort(names)

	// The length before each text keeps neighbors apart.
	id := make([]byte, 0, 128)
	id = appendText(id, a.table)
	for _, name := range names {
		id = appendScalar(appendText(id, name), key[name])
	}

	return string(id), true
}

// keyNames returns the key attributes of the table as the first part with a key names
// them, nil if no part does.
func (t *Transaction) keyNames(table string) []string {
	for _, p := range t.parts {
		a, err := p.action()
		if err != nil || a.table != table || a.key == nil {
			continue
		}

		names := make([]string, 0, len(a.key))
		for name := range a.key {
			names = append(names, name)
		}

		return names
	}

	return nil
}

func appendText(id []byte, text string) []byte {
	return append(binary.AppendUvarint(id, uint64(len(text))), text...)
}

// appendScalar appends the value of a key attribute. Different values have different texts.
func appendScalar(id []byte, v types.AttributeValue) []byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return appendText(append(id, 'S'), v.Value)
	case *types.AttributeValueMemberN:
		return appendText(append(id, 'N'), v.Value)
	case *types.AttributeValueMemberB:
		return appendText(append(id, 'B'), string(v.Value))
	}

	return appendText(id, fmt.Sprintf("%T", v))
}
