package once

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

type inspector interface {
	dynamoDB
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// Check looks whether a table can hold claims and locks: its key, its time to live,
// that it lies in one Region, and that a failed condition returns the item. It writes
// one item of its own. Every fault that it finds is in the error; with the last one
// claims work, and cost a read more for each duplicate.
func Check(ctx context.Context, db inspector, table string) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("check table %s: %w", table, err)
	}

	t := described.Table
	if len(t.KeySchema) != 1 || aws.ToString(t.KeySchema[0].AttributeName) != attrKey || !textual(t.AttributeDefinitions) {
		fault("check table %s: its key must be %s of type S alone", table, attrKey)
	}

	if len(t.Replicas) > 0 {
		fault("check table %s: it is replicated to %d Regions; conditions hold within one", table, len(t.Replicas))
	}

	ttl, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	switch {
	case err != nil:
		fault("check table %s: time to live: %w", table, err)
	case ttl.TimeToLiveDescription == nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled &&
		ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabling:
		fault("check table %s: time to live is off: finished claims stay for ever", table)
	case aws.ToString(ttl.TimeToLiveDescription.AttributeName) != ExpiryAttribute:
		fault("check table %s: time to live is on %s, must be on %s", table, aws.ToString(ttl.TimeToLiveDescription.AttributeName), ExpiryAttribute)
	}

	if len(faults) == 0 {
		if err := probe(ctx, db, table); err != nil {
			fault("check table %s: %w", table, err)
		}
	}

	return errors.Join(faults...)
}

func textual(definitions []types.AttributeDefinition) bool {
	for _, d := range definitions {
		if aws.ToString(d.AttributeName) == attrKey {
			return d.AttributeType == types.ScalarAttributeTypeS
		}
	}

	return false
}

// probe makes a condition fail.
func probe(ctx context.Context, db dynamoDB, table string) error {
	item := image{attrKey: dynamo.S(probePrefix + "check"), ExpiryAttribute: dynamo.N(1)}
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		return fmt.Errorf("write the probe: %w", err)
	}

	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: image{attrKey: item[attrKey]},
		ConditionExpression: aws.String("attribute_not_exists(#key)"), UpdateExpression: aws.String("SET #expires = :expires"),
		ExpressionAttributeNames:            map[string]string{"#key": attrKey, "#expires": ExpiryAttribute},
		ExpressionAttributeValues:           image{":expires": dynamo.N(1)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	var failed *types.ConditionalCheckFailedException
	switch {
	case !errors.As(err, &failed):
		return fmt.Errorf("a condition that must fail gave %w", errors.Join(err, errors.ErrUnsupported))
	case len(failed.Item) == 0:
		return fmt.Errorf("a failed condition does not return the item: %w", errors.ErrUnsupported)
	}

	return nil
}
