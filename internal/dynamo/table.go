package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Key is one part of a primary key.
type Key struct {
	Name string
	Type types.ScalarAttributeType
}

// TextKey is a key of type S.
func TextKey(name string) Key { return Key{name, types.ScalarAttributeTypeS} }

// NumberKey is a key of type N.
func NumberKey(name string) Key { return Key{name, types.ScalarAttributeTypeN} }

// BytesKey is a key of type B.
func BytesKey(name string) Key { return Key{name, types.ScalarAttributeTypeB} }

// Table describes an on-demand table with a partition key and an optional sort key.
func Table(name string, keys ...Key) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	kinds := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
	// CreateTable wants the partition key first.
	for i, k := range keys {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &k.Name, AttributeType: k.Type})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &k.Name, KeyType: kinds[i]})
	}

	return in
}
