package steps_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestAnExecutionWithASuccessorThatWaitsEnds: the row of the waits holds the token of a later
// execution, so the earlier one could only look and wait in turns.
func TestAnExecutionWithASuccessorThatWaitsEnds(t *testing.T) {
	db := newTables(t)
	s := newShop(t, db, 1)
	s.place(t)

	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("parked"), Item: map[string]types.AttributeValue{
		"orderId":   &types.AttributeValueMemberS{Value: "o-1"},
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
