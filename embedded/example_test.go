package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
)

// An order moves forward once: the condition of the second identical update fails, and the
// error has the item that made it fail.
func Example() {
	dir, err := os.MkdirTemp("", "engine")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	engine, err := embedded.Open(embedded.Config{Dir: dir})
	check(err)
	defer func() { check(engine.Close()) }()

	ctx := context.Background()
	db := dynamodb.NewFromConfig(engine.AWSConfig())
	_, err = db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("orders"),
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("orderId"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("orderId"), AttributeType: types.ScalarAttributeTypeS}},
		BillingMode:          types.BillingModePayPerRequest,
	})
	check(err)

	ship := &dynamodb.UpdateItemInput{
		TableName:           aws.String("orders"),
		Key:                 map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}},
		UpdateExpression:    aws.String("SET orderState = :shipped"),
		ConditionExpression: aws.String("attribute_not_exists(orderState)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":shipped": &types.AttributeValueMemberS{Value: "SHIPPED"},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	for range 2 {
		_, err = db.UpdateItem(ctx, ship)
		var lost *types.ConditionalCheckFailedException
		switch {
		case errors.As(err, &lost):
			fmt.Println("already", lost.Item["orderState"].(*types.AttributeValueMemberS).Value)
		case err == nil:
			fmt.Println("shipped")
		}
	}
	// Output:
	// shipped
	// already SHIPPED
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
