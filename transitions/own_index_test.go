package transitions_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// newIndexedOrders opens orders in a table whose own attributes "shelf", "weight" and "tag" are keys of indexes.
func newIndexedOrders(t *testing.T, mode transitions.JournalMode, mapping transitions.Mapping) *orders {
	t.Helper()

	s := &orders{Shop: shop.Over(t, embeddedtest.Backend(t)), mode: mode}
	s.Shop.Mapping = mapping

	table := mapping.OrdersTable(shop.OrdersTable)
	for name, kind := range map[string]types.ScalarAttributeType{"shelf": "S", "weight": "N", "tag": "B"} {
		table.AttributeDefinitions = append(table.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind})
	}

	key := func(name string, of types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: of}
	}
	for name, keys := range map[string][]types.KeySchemaElement{
		"by-shelf": {key("shelf", types.KeyTypeHash), key("weight", types.KeyTypeRange)},
		"by-tag":   {key("tag", types.KeyTypeHash)},
	} {
		table.GlobalSecondaryIndexes = append(table.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(name), KeySchema: keys, Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		})
	}

	s.Shop.Tables(table)
	s.reconfigure(shop.Journal(mode))

	return s
}

// ownWrites are the calls that set own attributes of an order. Each is another request.
func ownWrites(s *orders, set transitions.Attributes) map[string]func(context.Context) error {
	change := transitions.OwnChange{Set: set}
	order := shop.Mugs("o-new", 1)
	order.Own = set

	return map[string]func(context.Context) error{
		"create": func(ctx context.Context) error { _, err := s.Create(ctx, order); return err },
		"import": func(ctx context.Context) error {
			_, err := s.Import(ctx, transitions.Import{NewOrder: order, State: workflow.Pending})
			return err
		},
		"apply": func(ctx context.Context) error {
			r := given("o-1", workflow.Pay, 2)
			r.Own = change
			_, err := s.Apply(ctx, r)

			return err
		},
		"items": func(ctx context.Context) error {
			e := edit("o-1", "e-2")
			e.Own = change
			_, err := ownEdits(s)["AddItems"](ctx, e)

			return err
		},
		"items in a transaction": func(ctx context.Context) error {
			e := edit("o-1", "e-3")
			e.Own = change
			_, err := ownEdits(s)["AddItemsIn"](ctx, e)

			return err
		},
		"edit": func(ctx context.Context) error { _, err := s.SetOwn(ctx, edit("o-1", "e-1"), change); return err },
	}
}

// A value that an index of the table cannot have as its key is refused with the attribute and the rule.
func TestAnOwnKeyOfAnIndexHasItsType(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }

	inEveryMapping(t, func(t *testing.T, open maker) {
		outside := open(t)
		s := newIndexedOrders(t, outside.mode, outside.Shop.Mapping)
		s.place(t, "o-1")

		for want, set := range map[string]transitions.Attributes{
			`/shelf: must be of type S, not N: it is a key of the index "by-shelf"`:             {"a": num(1), "shelf": num(1)},
			`/shelf: must be of type S, not another type: it is a key of the index "by-shelf"`:  {"shelf": dynamo.Bool(true)},
			`/shelf: must be not empty: it is a key of the index "by-shelf"`:                    {"shelf": text("")},
			`/shelf: must be of at most 2048 bytes: it is a key of the index "by-shelf"`:        {"shelf": text(long(2049))},
			`/weight: must be of type N, not S: it is a key of the index "by-shelf"`:            {"shelf": text("a"), "weight": text("1")},
			`/tag: must be not empty: it is a key of the index "by-tag"`:                        {"tag": &types.AttributeValueMemberB{Value: []byte{}}},
			`/tag: must be of type B, not another type: it is a key of the index "by-tag"`:      {"tag": dynamo.SS("a")},
			`/tag: must be of at most 2048 bytes: it is a key of the index "by-tag"`:            {"tag": &types.AttributeValueMemberB{Value: []byte(long(2049))}},
			`/weight: must be of type N, not another type: it is a key of the index "by-shelf"`: {"weight": &types.AttributeValueMemberNULL{Value: true}},
		} {
			for name, write := range ownWrites(s, set) {
				err := write(t.Context())
				if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%s: %v\nwant %s", name, err, want)
				}
			}
		}
		s.wantOwn(t, "o-1", s.read(t, "o-1"), nil)

		fits := transitions.Attributes{"shelf": text(long(2048)), "weight": num(-1), "tag": &types.AttributeValueMemberB{Value: []byte{0}}}
		edited(t, transitions.Applied)(s.SetOwn(t.Context(), edit("o-1", "e-1"), transitions.OwnChange{Set: fits}))
	})
}

// Without the permission to describe the table, the refusal names what the request sets.
func TestAnOwnKeyIsNamedWithoutTheTablesDescription(t *testing.T) {
	s := newIndexedOrders(t, transitions.JournalByStream, transitions.Mapping{})
	s.place(t, "o-1")
	s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "DescribeTable"))

	for name, write := range ownWrites(s, transitions.Attributes{"weight": text("1"), "a": num(1)}) {
		err := write(t.Context())
		if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.HasSuffix(err.Error(), `: one of these is a key of an index of the table, which does not take its value: "a", "weight"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An item that cannot grow any more, by itself or with others of its partition, is a full order.
func TestAnOrderThatOwnAttributesFillIsFull(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")

		var err error
		for i := range 8 {
			r := given("o-1", []workflow.Event{workflow.Hold, workflow.Release}[i%2], transitions.TransitionID(i+2))
			r.Own.Set = transitions.Attributes{string(rune('a' + i)): text(strings.Repeat("x", 60<<10))}

			if _, err = s.Apply(t.Context(), r); err != nil {
				break
			}
		}

		if !errors.Is(err, transitions.ErrOrderFull) || !strings.Contains(err.Error(), "item bytes") {
			t.Errorf("400 KB: %v", err)
		}

		s.place(t, "o-2")
		s.Wire.Inject(embeddedtest.Answer("ItemCollectionSizeLimitExceededException", moves...))

		if _, err := s.Apply(t.Context(), given("o-2", workflow.Pay, 2)); s.mode == transitions.JournalByStream && !errors.Is(err, transitions.ErrOrderFull) {
			t.Errorf("10 GB of one partition: %v", err)
		}
	})
}
