package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/tests/shop"
)

// A value that an index of the table cannot have is refused at its place, and is no failure of the server.
func TestAnOwnKeyOfAnIndexIsRefusedAtItsPlace(t *testing.T) {
	s := newAPIServer(t, dev)
	s.must("PUT", "/v1/orders/o-1", mugs)

	if _, err := s.db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:            aws.String(shop.OrdersTable),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("she/lf"), AttributeType: types.ScalarAttributeTypeS}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:  aws.String("by-shelf"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("she/lf"), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}}},
	}); err != nil {
		t.Fatal(err)
	}

	for _, row := range [][4]string{
		{"POST", "/v1/orders/o-1/transitions", `{"event":"pay","own":{"set":{"she/lf":{"N":"1"}}}}`, "/own/set/she~1lf"},
		{"POST", "/v1/orders/o-1/own", `{"own":{"set":{"she/lf":{"S":""}}}}`, "/own/set/she~1lf"},
		{"PUT", "/v1/orders/o-2", strings.TrimSuffix(mugs, "}") + `,"own":{"she/lf":{"BOOL":true}}}`, "/own/she~1lf"},
	} {
		a := s.ask(row[0], row[1], row[2], "Idempotency-Key", "k")
		if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.text, `"pointer":"`+row[3]+`"`) || !strings.Contains(a.text, `it is a key of the index \"by-shelf\"`) {
			t.Errorf("%s %s: %d %s", row[0], row[1], a.StatusCode, a.text)
		}
	}
}
