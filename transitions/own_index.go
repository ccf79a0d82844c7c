package transitions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An attribute of the caller's own may be a key of an index of the table. An index takes values of one type and a
// bounded size only, and DynamoDB says so as it refuses the write. The table is described then, and not before: the
// normal case costs no request more.

// owner is a plan whose write can set own attributes.
type owner interface{ ownSet() Attributes }

func (p *move) ownSet() Attributes      { return p.request.Own.Set }
func (p *placing) ownSet() Attributes   { return p.order.Own }
func (p *importing) ownSet() Attributes { return p.order.Own }

func (p *edition) ownSet() Attributes {
	if c, is := p.change.(*setOwn); is {
		return c.Set
	}

	return p.edit.Own.Set
}

// refusedByIndex recognizes the refusal of a value that an index cannot have as a key. A transaction says the same
// of the part.
func refusedByIndex(err error) bool {
	// Every invalid request has this code, so the message decides.
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, "validation") {
		return false
	}

	return slices.ContainsFunc([]string{"index key", "size of hashkey", "all range keys"}, func(words string) bool { return strings.Contains(text, words) })
}

// withIndex returns the error of a call that has ended. If an index has refused an own attribute that the call sets,
// it is an ErrInvalidRequest that names the attribute and the rule.
func (o *Orders) withIndex(ctx context.Context, p any, err error) error {
	own, sets := p.(owner)
	if !sets || len(own.ownSet()) == 0 || errors.Is(err, ErrOutcomeUnknown) || !refusedByIndex(err) {
		return err
	}

	f := o.indexFault(ctx, own.ownSet())
	if f == nil {
		return err
	}

	switch p := p.(type) {
	case *placing:
		return p.order.ownFault(f.in("set"))
	case *importing:
		return p.order.ownFault(f.in("set"))
	}

	return fmt.Errorf("%w: own%w", ErrInvalidRequest, f.in("set"))
}

// indexFault finds the attribute that an index of the table has refused, nil if it can only have been another
// program's or one of Ratchet's.
func (o *Orders) indexFault(ctx context.Context, set Attributes) *fault {
	// That the table cannot be described, for want of a permission, leaves the names.
	vague := &fault{rule: "one of these is a key of an index of the table, which does not take its value: " + names(slices.Sorted(maps.Keys(set)))}

	db, can := o.cfg.raw.(describer)
	if !can {
		return vague
	}

	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &o.cfg.Table})
	if err != nil || out.Table == nil {
		return vague
	}

	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range out.Table.AttributeDefinitions {
		kinds[aws.ToString(d.AttributeName)] = d.AttributeType
	}

	var keys []string
	for _, k := range indexKeys(out.Table) {
		v, sets := set[k.name]
		if !sets {
			continue
		}
		keys = append(keys, k.name)

		if rule := k.rule(kinds[k.name], v); rule != "" {
			return &fault{path: []string{k.name}, rule: rule}
		}
	}

	if len(keys) == 0 {
		return nil
	}

	// An index may have a bound of several attributes together.
	return &fault{rule: "the index does not take these together with what the order has: " + names(keys)}
}

func names(list []string) string {
	quoted := make([]string, len(list))
	for i, name := range list {
		quoted[i] = strconv.Quote(clip(name))
	}

	return strings.Join(quoted, ", ")
}

// indexKey is an attribute that is a key of an index.
type indexKey struct {
	name, index string
	partition   bool
}

// indexKeys returns the keys of the table's indexes.
func indexKeys(t *types.TableDescription) (all []indexKey) {
	add := func(index *string, keys []types.KeySchemaElement) {
		for _, k := range keys {
			all = append(all, indexKey{aws.ToString(k.AttributeName), aws.ToString(index), k.KeyType == types.KeyTypeHash})
		}
	}

	for _, x := range t.GlobalSecondaryIndexes {
		add(x.IndexName, x.KeySchema)
	}

	for _, x := range t.LocalSecondaryIndexes {
		add(x.IndexName, x.KeySchema)
	}

	return all
}

// The most bytes that a key has.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// rule returns the rule that the value breaks as a key, "" for none.
func (k indexKey) rule(kind types.ScalarAttributeType, v types.AttributeValue) string {
	most := maxSortKey
	if k.partition {
		most = maxPartitionKey
	}

	is, bytes := "another type", 1
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		is, bytes = "S", len(v.Value)
	case *types.AttributeValueMemberB:
		is, bytes = "B", len(v.Value)
	case *types.AttributeValueMemberN:
		is = "N"
	}

	rule := ""
	switch {
	case is != string(kind):
		rule = fmt.Sprintf("of type %s, not %s", kind, is)
	case bytes == 0:
		rule = "not empty"
	case bytes > most:
		rule = fmt.Sprintf("of at most %d bytes", most)
	default:
		return ""
	}

	return fmt.Sprintf("must be %s: it is a key of the index %q", rule, clip(k.index))
}
