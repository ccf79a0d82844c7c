package txn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What one transaction and one item may hold.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
const (
	MaxParts    = 100
	MaxBytes    = 4 << 20
	maxItem     = 400 << 10
	maxAttempts = 100
)

// check names the first rule that the transaction breaks.
func (w *Writer) check(t *Transaction) error {
	switch {
	case len(t.parts) == 0:
		return fmt.Errorf("%w: no parts", ErrInvalid)
	case len(t.parts) > MaxParts:
		return fmt.Errorf("%w: %d parts, at most %d", ErrInvalid, len(t.parts), MaxParts)
	case t.extra > 0:
		return fmt.Errorf("%w: %d markers, at most 1", ErrInvalid, t.extra+1)
	}

	bytes, seen := 0, make(map[string]string, len(t.parts))
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
		if first, twice := seen[id]; known && twice {
			return fmt.Errorf("%w: %s and %s are one item of table %s", ErrInvalid, first, p.name, a.table)
		}
		seen[id] = p.name
	}

	if bytes > MaxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrInvalid, bytes, MaxBytes)
	}

	return nil
}

// action is what the check needs to know of a part.
type action struct {
	table string
	key   map[string]types.AttributeValue // nil for a put
	item  map[string]types.AttributeValue // nil but for a put
	size  int                             // what it brings along; an update's item may be larger
}

func (p part) action() (action, error) {
	var all []action
	if i := p.item.Put; i != nil {
		all = append(all, action{aws.ToString(i.TableName), nil, i.Item, size(i.Item)})
	}

	if i := p.item.Update; i != nil {
		all = append(all, action{aws.ToString(i.TableName), i.Key, nil, size(i.Key) + size(i.ExpressionAttributeValues)})
	}

	if i := p.item.Delete; i != nil {
		all = append(all, action{aws.ToString(i.TableName), i.Key, nil, size(i.Key)})
	}

	if i := p.item.ConditionCheck; i != nil {
		all = append(all, action{aws.ToString(i.TableName), i.Key, nil, size(i.Key)})
	}

	switch {
	case len(all) != 1:
		return action{}, fmt.Errorf("%w: %s: %d actions, must be one of Put, Update, Delete, ConditionCheck", ErrInvalid, p.name, len(all))
	case all[0].table == "":
		return action{}, fmt.Errorf("%w: %s: no table", ErrInvalid, p.name)
	case len(all[0].key) == 0 && len(all[0].item) == 0:
		return action{}, fmt.Errorf("%w: %s: no key", ErrInvalid, p.name)
	}

	return all[0], nil
}

// identity is the table and key of an action, if the names of the table's key are
// known: for a put from the configuration or from another part on the same table.
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

	id := make([]string, 0, 1+len(key))
	for name, v := range key {
		id = append(id, fmt.Sprintf("%q=%s", name, scalar(v)))
	}
	slices.Sort(id)

	return a.table + "\x00" + strings.Join(id, ","), true
}

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

// scalar writes a key's value so that different values differ.
func scalar(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("S%q", v.Value)
	case *types.AttributeValueMemberN:
		return "N" + v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("B%x", v.Value)
	}

	return fmt.Sprintf("%T", v)
}
