package txn_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/txn"
)

// A voucher is worth 500 and pays for one order. The marker says that this payment was made before; the
// other part says why it cannot be made.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(&dynamodb.CreateTableInput{
		TableName:            aws.String("shop"),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	defer closeAll()

	db := dynamodb.NewFromConfig(cfg)

	writer, err := txn.New(txn.Config{DynamoDB: db})
	if err != nil {
		panic(err)
	}

	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	voucher := map[string]types.AttributeValue{"id": text("voucher"), "left": &types.AttributeValueMemberN{Value: "500"}}

	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("shop"), Item: voucher}); err != nil {
		panic(err)
	}

	errEmpty := errors.New("the voucher is empty")

	for _, order := range []string{"o-1", "o-1", "o-2"} {
		var t txn.Transaction
		t.Marker("payment", types.TransactWriteItem{Put: &types.Put{
			TableName:           aws.String("shop"),
			Item:                map[string]types.AttributeValue{"id": text("payment of " + order)},
			ConditionExpression: aws.String("attribute_not_exists(id)"),
		}})
		t.Add("voucher", types.TransactWriteItem{Update: &types.Update{
			TableName:                 aws.String("shop"),
			Key:                       map[string]types.AttributeValue{"id": text("voucher")},
			UpdateExpression:          aws.String("SET #left = #left - :price"),
			ConditionExpression:       aws.String("#left >= :price"),
			ExpressionAttributeNames:  map[string]string{"#left": "left"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":price": &types.AttributeValueMemberN{Value: "400"}},
		}}, txn.FailWith(errEmpty))

		err := writer.Write(ctx, &t)

		refused, isRefused := errors.AsType[*txn.CanceledError](err)

		switch {
		case isRefused && refused.Marker:
			fmt.Println(order, "was paid before")
		case errors.Is(err, errEmpty):
			fmt.Println(order, "is not paid:", errEmpty)
		case err != nil:
			panic(err)
		default:
			fmt.Println(order, "is paid")
		}
	}
	// Output:
	// o-1 is paid
	// o-1 was paid before
	// o-2 is not paid: the voucher is empty
}
