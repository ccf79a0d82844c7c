package actions_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/actions"
)

// BenchmarkConsume compares a consumption with the bare conditional update of an equal item:
//
//	go test ./once/actions -run '^$' -bench Consume -benchtime 5000x -count 5
func BenchmarkConsume(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		s := newSignedActions(b)
		s.bulk(b, coupons(b.N))

		var keys []types.AttributeValue
		pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: aws.String("actions"), ProjectionExpression: aws.String("actionId")})
		for pages.HasMorePages() {
			page, err := pages.NextPage(b.Context())
			if err != nil {
				b.Fatal(err)
			}

			for _, item := range page.Items {
				keys = append(keys, item["actionId"])
			}
		}
		b.ResetTimer()

		for i := range b.N {
			_, err := s.db.UpdateItem(b.Context(), &dynamodb.UpdateItemInput{TableName: aws.String("actions"),
				Key:                 map[string]types.AttributeValue{"actionId": keys[i]},
				ConditionExpression: aws.String("#status = :open AND expiresAt > :now"), UpdateExpression: aws.String("SET #status = :consumed"),
				ExpressionAttributeNames: map[string]string{"#status": "status"},
				ExpressionAttributeValues: map[string]types.AttributeValue{":open": text("OPEN"), ":consumed": text("CONSUMED"),
					":now": &types.AttributeValueMemberN{Value: "1"}},
				ReturnValues: types.ReturnValueAllNew})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("action", func(b *testing.B) {
		s := newSignedActions(b)
		codes, _ := s.bulk(b, coupons(b.N))
		b.ResetTimer()

		for i := range b.N {
			if r, err := s.Consume(b.Context(), actions.Request{ID: codes[i]}); err != nil || r.Outcome != actions.Consumed {
				b.Fatal(r, err)
			}
		}
	})
}
