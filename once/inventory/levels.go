package inventory

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// mostExamined is how many items Levels reads at most. Reservations share the table with the SKUs.
const mostExamined = 1000

// Levels returns the counters of up to limit SKUs (1 to 1,000) in no particular order, and the after of the next page,
// empty at the end. A page may be shorter than the limit, even empty, and have a next one: it reads at most
// 1,000 items of the table, in which reservations are, too. It is meant for people.
func (s *Stock) Levels(ctx context.Context, after string, limit int) (all []Level, next string, err error) {
	if limit < 1 || limit > mostExamined {
		return nil, "", fmt.Errorf("list levels: %w: limit %d: 1 to %d", ErrInvalid, limit, mostExamined)
	}

	in := &dynamodb.ScanInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(mostExamined)}
	if after != "" {
		in.ExclusiveStartKey = key(after)
	}

	out, err := s.cfg.DynamoDB.Scan(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("list levels: %w", err)
	}

	all = []Level{}
	for _, item := range out.Items {
		sku := dynamo.Text(item, "sku")
		if strings.HasPrefix(sku, orderPrefix) {
			continue
		}

		// There are more on this page of the table.
		if len(all) == limit {
			return all, all[limit-1].SKU, nil
		}

		all = append(all, Level{
			SKU:       sku,
			Available: dynamo.Number(item, available),
			Reserved:  dynamo.Number(item, reserved),
			Committed: dynamo.Number(item, committed),
		})
	}

	return all, dynamo.Text(out.LastEvaluatedKey, "sku"), nil
}
