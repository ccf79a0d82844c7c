package ledger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Holds returns up to limit holds (1 to 1,000) of an account, by id, and the after of the next page, empty at the
// end. Holds that have ended are among them. An account that does not exist has none.
func (l *Ledger) Holds(ctx context.Context, account, after string, limit int) (all []Hold, next string, err error) {
	if err := cmp.Or(checkID("account", account), checkLimit(limit)); err != nil {
		return nil, "", fmt.Errorf("list holds: %w", err)
	}

	in := &dynamodb.QueryInput{
		TableName:                 &l.cfg.Tables.Holds,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("accountId = :account"),
		ExpressionAttributeValues: dynamo.Item{":account": dynamo.S(account)},
		Limit:                     aws.Int32(int32(limit)),
	}
	if after != "" {
		in.ExclusiveStartKey = holdKey(account, after)
	}

	out, err := l.cfg.DynamoDB.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("list holds of account %s: %w", account, err)
	}

	all = []Hold{}
	for _, item := range out.Items {
		all = append(all, *decodeHold(item))
	}

	return all, dynamo.Text(out.LastEvaluatedKey, "holdId"), nil
}
