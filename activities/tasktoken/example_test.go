package tasktoken_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
)

// Step Functions parks a task with an UpdateItem. A program that sees the order move gets the token
// of the task that waits for it.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(tasktoken.TableInput("parked"))
	defer closeAll()

	db := dynamodb.NewFromConfig(cfg)

	parked, err := tasktoken.New(tasktoken.Config{DynamoDB: db, Table: "parked"})
	if err != nil {
		panic(err)
	}

	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

	_, err = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:           aws.String("parked"),
		Key:                 map[string]types.AttributeValue{"orderId": text("o-1")},
		UpdateExpression:    aws.String(tasktoken.ParkUpdate),
		ConditionExpression: aws.String(tasktoken.ParkCondition),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": text("token-1"), ":awaited": text("SHIPPED"), ":since": number("2"), ":started": text("2026-01-01T00:00:00.000Z"),
			":redrives": number("0"), ":visits": number("0"), ":retries": number("0"),
		},
	})
	if err != nil {
		panic(err)
	}

	row, waiting, err := parked.Moved(ctx, "o-1", 3, "SHIPPED", time.Now().Add(tasktoken.Retention))
	if err != nil {
		panic(err)
	}

	fmt.Println(row.OrderID, "waits for", row.Awaited, "since transition", row.Since, "and is to be answered:", waiting)
	fmt.Println("the token prints as a digest:", fmt.Sprint(row.Token) != "token-1")
	// Output:
	// o-1 waits for SHIPPED since transition 2 and is to be answered: true
	// the token prints as a digest: true
}
