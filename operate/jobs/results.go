package jobs

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// The bounds of one call of [Store.Results]: how many rows a query reads, and how many queries there are.
const (
	resultsPage    = 1000
	resultsQueries = 10
)

// Results returns up to limit subjects of the job that have a result with the code, or for "" with any code but done, in
// the order of the rows behind the place after. It reads 10,000 rows at most: next is "" at the end of the rows, and
// also a call that finds nothing may have a next one.
func (s *Store) Results(ctx context.Context, j Job, code, after string, limit int) (found []Shown, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &s.cfg.Table,
		KeyConditionExpression:    aws.String("#partition = :partition"),
		FilterExpression:          aws.String("#result = :code"),
		ExpressionAttributeNames:  map[string]string{"#partition": partitionKey, "#result": resultName},
		ExpressionAttributeValues: dynamo.Item{":partition": dynamo.S(rowsOf(j.ID)), ":code": dynamo.S(code)},
		Limit:                     aws.Int32(resultsPage),
	}
	if code == "" {
		// A row without a result has no code to compare, so it is left out.
		in.FilterExpression = aws.String("attribute_exists(#result) AND #result <> :code")
		in.ExpressionAttributeValues[":code"] = dynamo.S(codeDone)
	}

	if after != "" {
		in.ExclusiveStartKey = s.key(rowsOf(j.ID), after)
	}

	for range resultsQueries {
		out, err := s.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("jobs: read the results of job %s: %w", j.ID, err)
		}

		for _, row := range out.Items {
			found = append(found, Shown{dynamo.Text(row, idName), dynamo.Text(row, resultName)})

			if len(found) == limit {
				return found, dynamo.Text(row, placeKey), nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return found, "", nil
		}
	}

	return found, dynamo.Text(in.ExclusiveStartKey, placeKey), nil
}
