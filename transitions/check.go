package transitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Finding is something about the table of orders that Ratchet cannot work with, or that costs something.
type Finding struct {
	// What says what it is, and why it matters.
	What string `json:"what"`
	// Refused: orders must not be written into this table as it is.
	Refused bool `json:"refused"`
}

// describer has the methods of a *dynamodb.Client that only Check calls.
type describer interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// sampleSize is how many items Check looks at.
const sampleSize = 100

// Check looks whether the table of orders fits the mapping, before the first order is written: its key, its stream,
// its time to live, its Regions, its indexes, and the types of the attributes in up to 100 items. It writes
// nothing. Config.DynamoDB must have the methods DescribeTable and DescribeTimeToLive, as a *dynamodb.Client has.
func (o *Orders) Check(ctx context.Context) ([]Finding, error) {
	db, can := o.cfg.raw.(describer)
	if !can {
		return nil, fmt.Errorf("check table %s: the client cannot describe tables", o.cfg.Table)
	}

	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &o.cfg.Table})
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		return []Finding{{fmt.Sprintf("table %s does not exist", o.cfg.Table), true}}, nil
	}

	if err != nil {
		return nil, fmt.Errorf("check table %s: %w", o.cfg.Table, err)
	}

	found := o.cfg.Mapping.checkTable(out.Table)

	ttl, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &o.cfg.Table})
	if err != nil {
		return nil, fmt.Errorf("check the time to live of table %s: %w", o.cfg.Table, err)
	}

	if d := ttl.TimeToLiveDescription; d != nil && d.AttributeName != nil && d.TimeToLiveStatus != types.TimeToLiveStatusDisabled {
		found = append(found, Finding{fmt.Sprintf("the table deletes items by the time in %s: an order that expires is lost with its evidence", *d.AttributeName), true})
	}

	// Items of a table with another key cannot be read.
	if slices.ContainsFunc(found, func(f Finding) bool { return f.Refused }) {
		return found, nil
	}

	more, err := o.checkItems(ctx)
	if err != nil {
		return nil, fmt.Errorf("check the items of table %s: %w", o.cfg.Table, err)
	}

	return append(found, more...), nil
}

// checkTable compares a table with the mapping.
func (m Mapping) checkTable(is *types.TableDescription) (found []Finding) {
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			found = append(found, Finding{fmt.Sprintf(format, args...), true})
		}
	}

	want := m.OrdersTable(aws.ToString(is.TableName))
	refuse(keysOf(is.KeySchema, is.AttributeDefinitions) != keysOf(want.KeySchema, want.AttributeDefinitions), "the table has the key %s, the mapping %s",
		keysOf(is.KeySchema, is.AttributeDefinitions), keysOf(want.KeySchema, want.AttributeDefinitions))

	s := is.StreamSpecification
	refuse(s == nil || !aws.ToBool(s.StreamEnabled) || s.StreamViewType != types.StreamViewTypeNewAndOldImages,
		"the table has no stream of NEW_AND_OLD_IMAGES: journal, shipments and notifications follow it")
	refuse(len(is.Replicas) > 0, "it is a global table: a condition holds within one Region, so two Regions could both move an order")

	for _, index := range is.GlobalSecondaryIndexes {
		found = append(found, m.checkIndex(aws.ToString(index.IndexName), index.KeySchema, index.Projection)...)
	}

	for _, index := range is.LocalSecondaryIndexes {
		found = append(found, m.checkIndex(aws.ToString(index.IndexName), index.KeySchema, index.Projection)...)
	}

	return found
}

// checkIndex says what an index with Ratchet's attributes costs.
func (m Mapping) checkIndex(name string, keys []types.KeySchemaElement, shows *types.Projection) []Finding {
	for _, k := range keys {
		if field := m.field(aws.ToString(k.AttributeName)); field != "" {
			return []Finding{{What: fmt.Sprintf("the key of index %s has %s: a write that changes it costs two write units more, and a value that many orders share can throttle the table",
				name, *k.AttributeName)}}
		}
	}

	shown := func(attribute string) bool { return m.field(attribute) != "" }
	if shows != nil && (shows.ProjectionType == types.ProjectionTypeAll || slices.ContainsFunc(shows.NonKeyAttributes, shown)) {
		return []Finding{{What: fmt.Sprintf("index %s shows attributes that each transition changes: a transition costs at least one write unit more", name)}}
	}

	return nil
}

// keysOf writes a key schema as text.
func keysOf(keys []types.KeySchemaElement, definitions []types.AttributeDefinition) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = aws.ToString(k.AttributeName)

		for _, d := range definitions {
			if aws.ToString(d.AttributeName) == parts[i] {
				parts[i] += " (" + string(d.AttributeType) + ")"
				break
			}
		}
	}

	return strings.Join(parts, ", ")
}

// checkItems looks at a sample of items.
func (o *Orders) checkItems(ctx context.Context) (found []Finding, err error) {
	m := o.cfg.Mapping

	out, err := o.cfg.raw.Scan(ctx, &dynamodb.ScanInput{TableName: &o.cfg.Table, Limit: aws.Int32(sampleSize)})
	if err != nil {
		return nil, err
	}

	others := 0
	for _, item := range out.Items {
		id, ofOrder := m.OrderOf(item)
		if !ofOrder {
			others++
			continue
		}

		order, err := m.decode(item)
		if err != nil {
			found = append(found, Finding{What: fmt.Sprintf("order %s cannot be moved: %v", id, err)})
			continue
		}

		for _, field := range order.Unreadable {
			found = append(found, Finding{What: fmt.Sprintf("order %s: attribute %s has another form than Ratchet writes into it", id, m.attribute(field))})
		}
	}

	if others > 0 {
		found = append(found, Finding{What: fmt.Sprintf("%d of %d items are no orders: reading all orders reads and pays for them, too", others, len(out.Items))})
	}

	return found, nil
}
