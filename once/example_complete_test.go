package once_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/txn"
)

// The work's own writes and the end of its claim are one transaction: both are made, or neither.
func ExampleClaim_CompleteIn() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	ctx, db := context.Background(), dynamodb.NewFromConfig(cfg)

	claims, err := once.New(once.Config{DynamoDB: db, Table: "once", Operation: "points/v1"})
	if err != nil {
		panic(err)
	}

	credit := func(ctx context.Context, claim *once.Claim) ([]byte, error) {
		result := []byte("10 points")

		return result, claim.CompleteIn(ctx, result, func(t *txn.Transaction) {
			t.Add("the balance", types.TransactWriteItem{Update: &types.Update{
				TableName: aws.String("once"), Key: map[string]types.AttributeValue{"idempotencyKey": &types.AttributeValueMemberS{Value: "balance#ada"}},
				UpdateExpression:          aws.String("ADD points :ten"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":ten": &types.AttributeValueMemberN{Value: "10"}},
			}}, nil)
		})
	}

	for range 2 {
		result, replayed, err := claims.Do(ctx, "ada/o-1", nil, credit)
		fmt.Println(string(result), replayed, err)
	}
	// Output:
	// 10 points false <nil>
	// 10 points true <nil>
}
