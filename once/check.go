package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// Check checks whether a table can hold claims and locks: its key, its time to live, that
// it exists in one Region only, and that a failed condition returns the item. It writes one
// item of its own. The returned error joins all faults. If only the last check fails,
// claims work, and each duplicate costs one more read.
func Check(ctx context.Context, db inspector, table string) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("check table "+table+": "+format, args...))
	}

	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("check table %s: %w", table, err)
	}

	t := described.Table
	if len(t.KeySchema) != 1 || aws.ToString(t.KeySchema[0].AttributeName) != attrKey || !hasTextKey(t.AttributeDefinitions) {
		fault("its key must be %s of type S alone", attrKey)
	}

	if len(t.Replicas) > 0 {
		fault("it is replicated to %d Regions; conditions hold within one", len(t.Replicas))
	}

	ttl, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	switch {
	case err != nil:
		fault("time to live: %w", err)
	case !enabled(ttl.TimeToLiveDescription):
		fault("time to live is off: finished claims are never deleted")
	case aws.ToString(ttl.TimeToLiveDescription.AttributeName) != ExpiryAttribute:
		fault("time to live is on %s, must be on %s", aws.ToString(ttl.TimeToLiveDescription.AttributeName), ExpiryAttribute)
	}

	// The probe writes, so the table must be the right one.
	if len(faults) == 0 {
		if err := probe(ctx, db, table); err != nil {
			fault("%w", err)
		}
	}

	return errors.Join(faults...)
}

func hasTextKey(definitions []types.AttributeDefinition) bool {
	return slices.ContainsFunc(definitions, func(d types.AttributeDefinition) bool {
		return aws.ToString(d.AttributeName) == attrKey && d.AttributeType == types.ScalarAttributeTypeS
	})
}

func enabled(ttl *types.TimeToLiveDescription) bool {
	return ttl != nil && (ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabled || ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
}

// probe makes a condition fail, and checks that the failure returns the item.
func probe(ctx context.Context, db dynamoDB, table string) error {
	item := recordKey(probePrefix + "check")
	// TTL deletes nothing whose time is more than five years ago. The time counts only for that, so
	// this machine's clock is good enough.
	expiry := dynamo.Seconds(time.Now().Add(time.Hour))
	item[ExpiryAttribute] = expiry

	// The key is fixed, so any number of checks leave one item.
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		return fmt.Errorf("write the probe: %w", err)
	}

	update := dynamo.NewUpdate(table, recordKey(probePrefix+"check")).
		IfAbsent(attrKey).
		SetValue(ExpiryAttribute, expiry)
	_, err := db.UpdateItem(ctx, update.Input())
	old, failed := dynamo.FailedCondition(err)

	switch {
	case !failed:
		return fmt.Errorf("a condition that must fail returned %w", errors.Join(err, errors.ErrUnsupported))
	case len(old) == 0:
		return fmt.Errorf("a failed condition does not return the item: %w", errors.ErrUnsupported)
	}

	return nil
}
