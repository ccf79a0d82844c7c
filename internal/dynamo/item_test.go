package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

func TestAnAttributeOfAnotherTypeCountsAsAbsent(t *testing.T) {
	moment := time.UnixMilli(1_790_000_000_123).UTC()
	item := dynamo.Item{
		"text":     dynamo.S("1"),
		"number":   dynamo.N(-7),
		"bytes":    dynamo.B([]byte("b")),
		"yes":      dynamo.Bool(true),
		"no":       dynamo.Bool(false),
		"map":      dynamo.M(dynamo.Item{"n": dynamo.N(1)}),
		"set":      dynamo.SS("a"),
		"moment":   dynamo.Millis(moment),
		"fraction": &types.AttributeValueMemberN{Value: "1.5"},
	}

	for name := range item {
		if got := dynamo.Text(item, name); (got != "") != (name == "text") {
			t.Errorf("Text(%s) = %q", name, got)
		}

		if got := dynamo.Number(item, name); (got != 0) != (name == "number" || name == "moment") {
			t.Errorf("Number(%s) = %d", name, got)
		}

		if got := dynamo.Bytes(item, name); (got != nil) != (name == "bytes") {
			t.Errorf("Bytes(%s) = %q", name, got)
		}

		if got := dynamo.Flag(item, name); got != (name == "yes") {
			t.Errorf("Flag(%s) = %t", name, got)
		}
	}

	if dynamo.Text(item, "text") != "1" || dynamo.Number(item, "number") != -7 || string(dynamo.Bytes(item, "bytes")) != "b" {
		t.Error("a reader must return what was written")
	}

	if got := dynamo.Time(item, "moment"); !got.Equal(moment) || got.Location() != time.UTC {
		t.Errorf("Time = %s, want %s", got, moment)
	}

	for _, name := range []string{"absent", "text"} {
		if got := dynamo.Time(item, name); !got.IsZero() {
			t.Errorf("Time(%s) = %s, want the zero time", name, got)
		}
	}

	if got := dynamo.Seconds(moment).(*types.AttributeValueMemberN).Value; got != "1790000000" {
		t.Errorf("Seconds = %s", got)
	}
}

func TestAnItemHasExpiredWhenItEnds(t *testing.T) {
	now := time.Unix(1790000000, 0)

	for _, test := range []struct {
		item dynamo.Item
		want bool
	}{
		{dynamo.Item{"ends": dynamo.Seconds(now.Add(-time.Second))}, true},
		{dynamo.Item{"ends": dynamo.Seconds(now)}, true},
		{dynamo.Item{"ends": dynamo.Seconds(now.Add(time.Second))}, false},
		{dynamo.Item{"ends": dynamo.N(0)}, false},
		{dynamo.Item{"other": dynamo.N(1)}, false},
		{nil, false},
	} {
		if got := dynamo.HasExpired(test.item, "ends", now); got != test.want {
			t.Errorf("%v: %t", test.item, got)
		}
	}
}

func TestTheFirstKeyIsThePartitionKeyAndTheSecondTheSortKey(t *testing.T) {
	in := dynamo.Table("t", dynamo.TextKey("orderId"), dynamo.NumberKey("version"))

	if in.BillingMode != types.BillingModePayPerRequest || len(in.KeySchema) != 2 || len(in.AttributeDefinitions) != 2 {
		t.Fatalf("table %+v", in)
	}

	for i, want := range []struct {
		name string
		role types.KeyType
		kind types.ScalarAttributeType
	}{
		{name: "orderId", role: types.KeyTypeHash, kind: types.ScalarAttributeTypeS},
		{name: "version", role: types.KeyTypeRange, kind: types.ScalarAttributeTypeN},
	} {
		key, definition := in.KeySchema[i], in.AttributeDefinitions[i]
		if *key.AttributeName != want.name || key.KeyType != want.role || *definition.AttributeName != want.name || definition.AttributeType != want.kind {
			t.Errorf("key %d: %+v %+v, want %+v", i, key, definition, want)
		}
	}
}
