package steps_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/tests/shop"
)

// TestAnExecutionWithASuccessorThatWaitsEnds: the row of the waits holds the token of a later
// execution, so the earlier one could only look and wait in turns.
func TestAnExecutionWithASuccessorThatWaitsEnds(t *testing.T) {
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1)
	s.place(t)

	_, err := kit.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.ParkedTasksTable), Item: map[string]types.AttributeValue{
		"orderId":   &types.AttributeValueMemberS{Value: s.life(t)},
		"taskToken": &types.AttributeValueMemberS{Value: "t"},
		"started":   &types.AttributeValueMemberS{Value: "2026-01-02T00:00:00.000Z"},
		"since":     &types.AttributeValueMemberN{Value: "1"},
	}})
	if err != nil {
		t.Fatal(err)
	}

	for started, want := range map[string]string{
		"2026-01-01T00:00:00.000Z": "Order.OtherExecution",
		"2026-01-02T00:00:00.000Z": "",
		"2026-01-03T00:00:00.000Z": "",
	} {
		got, err := s.run(t, "look", `{"orderId":"o-1","started":"`+started+`"}`)
		if name(err) != want || (err == nil) != strings.Contains(got, `"state":"PENDING"`) {
			t.Errorf("started %s: %s, %v, want %q", started, got, err, want)
		}
	}
}
