package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// probeKey is the key of the item that permissions are tried with. It need not exist.
const probeKey = "ratchet-doctor"

// probe tries operations on a table.
type probe struct {
	db    *dynamodb.Client
	table *types.TableDescription
	hash  string
	key   dynamo.Item
	never string // a condition that no item satisfies
	names map[string]string
}

// newProbe makes a probe for the table as it is.
func newProbe(db *dynamodb.Client, is *types.TableDescription) probe {
	p := probe{db: db, table: is, key: dynamo.Item{}}

	for _, k := range is.KeySchema {
		name := aws.ToString(k.AttributeName)
		if k.KeyType == types.KeyTypeHash {
			p.hash = name
		}

		// A key needs every attribute of its schema, with the right type, or the call is refused
		// before the permission counts.
		p.key[name] = probeValue(typeOf(name, is.AttributeDefinitions))
	}

	p.names = map[string]string{"#k": p.hash}
	// DynamoDB checks the permission before the condition, so an allowed write fails here and
	// changes nothing.
	p.never = "attribute_exists(#k) AND attribute_not_exists(#k)"

	return p
}

// try sends an operation that has no effect, to the table or to one of its indexes. If its
// condition fails, the operation is allowed. ConditionCheckItem is a part of transactions; a
// transaction's other parts need the permissions of the operations that they are named after.
func (p probe) try(ctx context.Context, operation, index string) (err error) {
	table := p.table.TableName

	switch operation {
	case "DescribeTable": // it was described
	case "PartiQLInsert": // a call would write; without the permission, rows of the journal are written one by one
	case "GetItem":
		_, err = p.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: p.key})
	case "BatchGetItem":
		_, err = p.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*table: {Keys: []map[string]types.AttributeValue{p.key}}}})
	case "Query":
		err = p.query(ctx, index)
	case "Scan":
		_, err = p.db.Scan(ctx, &dynamodb.ScanInput{TableName: table, Limit: aws.Int32(1)})
	case "PutItem":
		_, err = p.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names})
	case "UpdateItem":
		_, err = p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names})
	case "DeleteItem":
		_, err = p.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names})
	case "ConditionCheckItem":
		_, err = p.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{
			ConditionCheck: &types.ConditionCheck{TableName: table, Key: p.key, ConditionExpression: &p.never, ExpressionAttributeNames: p.names},
		}}})
	default:
		return fmt.Errorf("no probe for %s", operation)
	}

	// The condition was evaluated, so the permission is there.
	if hasCode(err, "ConditionalCheckFailedException", "TransactionCanceledException") {
		return nil
	}

	return err
}

// query looks for items under the probe's key, in an index if one is named. A missing index is the
// finding of another check.
func (p probe) query(ctx context.Context, index string) error {
	in := &dynamodb.QueryInput{TableName: p.table.TableName, Limit: aws.Int32(1), KeyConditionExpression: aws.String("#k = :k"),
		ExpressionAttributeNames: p.names, ExpressionAttributeValues: dynamo.Item{":k": p.key[p.hash]}}

	if index != "" {
		i := slices.IndexFunc(p.table.GlobalSecondaryIndexes, func(g types.GlobalSecondaryIndexDescription) bool { return aws.ToString(g.IndexName) == index })
		if i < 0 {
			return nil
		}

		hash := aws.ToString(p.table.GlobalSecondaryIndexes[i].KeySchema[0].AttributeName)
		in.IndexName, in.ExpressionAttributeNames = &index, map[string]string{"#k": hash}
		in.ExpressionAttributeValues = dynamo.Item{":k": probeValue(typeOf(hash, p.table.AttributeDefinitions))}
	}

	_, err := p.db.Query(ctx, in)

	return err
}

// probeValue returns a value for a key's attribute. Programs do not write these values, so a read
// finds nothing.
func probeValue(is types.ScalarAttributeType) types.AttributeValue {
	switch is {
	case types.ScalarAttributeTypeN:
		return dynamo.N(-1)
	case types.ScalarAttributeTypeB:
		return dynamo.B([]byte(probeKey))
	case types.ScalarAttributeTypeS:
	}

	return dynamo.S(probeKey)
}

// checkOperations tries the operations that the program needs on a table and its indexes and that
// the simulation does not allow. It also returns all operations that are needed.
func (e *examination) checkOperations(ctx context.Context, want Table, is *types.TableDescription) (checks []Check, operations []string) {
	p := newProbe(e.db, is)
	resource := "table/" + want.name()

	// A prefix alone would also match the indexes of a table whose name begins with this one's.
	open := e.needed("dynamodb", func(r string) bool { return r == resource || strings.HasPrefix(r, resource+"/index/") })

	var denied []Permission
	for _, permission := range open {
		_, index, _ := strings.Cut(permission.Resource, "/index/")

		switch err := p.try(ctx, permission.operation(), index); {
		case isDenied(err):
			denied = append(denied, permission)
		case err != nil:
			checks = append(checks, NewUnchecked(want.subject(), permission.Action+": "+brief(err), "repeat the command"))
		}
	}

	for _, permission := range e.cfg.Permissions {
		if permission.Resource == resource {
			operations = append(operations, permission.operation())
		}
	}

	return append(checks, e.denials(want.subject(), denied, aws.ToString(is.TableArn))...), operations
}
