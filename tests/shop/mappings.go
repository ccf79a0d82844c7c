package shop

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
)

// reserved are words that DynamoDB reserves, names with characters that no expression may have, and names that
// are those of other fields: the attributes of the odd mapping, one for each field.
var reserved = []string{
	"status", "counter", "before", "session", "natural", "date", "timestamp", "time.entered", "ring-of.slots",
	"order", "notes", "total", "items", "values", "ship to", "bill.to", "placeHash", "user", "reference.of", "data",
	"by", "hash", "attributes", "list", "ttl", "path", "number", "size", "timer.starts",
}

// OddMapping has a reserved word or an odd name for each field, and keys with text on both sides of the id.
func OddMapping() transitions.Mapping {
	m := transitions.Mapping{PartitionKey: "key.of", Key: "<{id}>", SortKey: "range", Sort: "order/{id}", Attributes: map[string]string{}}
	for i, field := range m.Fields() {
		m.Attributes[field] = reserved[i]
	}

	return m
}

// Mappings are the ways in which orders stand in their table under which the acceptance tests run.
func Mappings() map[string]transitions.Mapping {
	return map[string]transitions.Mapping{
		"own table":    {},
		"single table": {PartitionKey: "pk", Key: "ORDER#{id}", SortKey: "sk", Sort: "ORDER"},
		"prefixed":     {PartitionKey: "id", Prefix: "ratchet_"},
		"odd names":    OddMapping(),
	}
}

// OtherEntities puts items of other entities into the table of the orders, if its mapping tells them from orders:
// some with attributes that no order may have.
func (s *Shop) OtherEntities() {
	s.t.Helper()

	m := s.Mapping
	if m.SortKey == "" {
		return
	}

	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

	for _, change := range []func(map[string]types.AttributeValue){
		func(item map[string]types.AttributeValue) { item[m.SortKey] = text("LINE#1") },
		func(item map[string]types.AttributeValue) { item[m.PartitionKey] = text("CUSTOMER#1") },
	} {
		item := m.ItemKey("another")
		for _, field := range m.Fields() {
			if name := m.Attributes[field]; name != "" {
				item[name] = text("another entity's")
			} else {
				item[field] = text("another entity's")
			}
		}
		change(item)

		if _, err := s.direct.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(OrdersTable), Item: item}); err != nil {
			s.t.Fatal(err)
		}
	}
}
