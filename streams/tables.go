package streams

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// LeaseTableInput is the definition of the lease table, on demand: one item per
// shard (see Lease) under the stream's ARN and the shard's id. Several pollers
// of several streams may share it.
func LeaseTableInput(name string) *dynamodb.CreateTableInput {
	return tableInput(name, leaseStream, leaseShard)
}

// DeadLetterTableInput is the definition of the dead-letter table, on demand:
// one item per letter (see DeadLetter) under its source and its id.
func DeadLetterTableInput(name string) *dynamodb.CreateTableInput {
	return tableInput(name, letterSource, letterID)
}

func tableInput(name, hash, sort string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: ddbtypes.BillingModePayPerRequest,
		AttributeDefinitions: []ddbtypes.AttributeDefinition{
			{AttributeName: aws.String(hash), AttributeType: ddbtypes.ScalarAttributeTypeS},
			{AttributeName: aws.String(sort), AttributeType: ddbtypes.ScalarAttributeTypeS},
		},
		KeySchema: []ddbtypes.KeySchemaElement{
			{AttributeName: aws.String(hash), KeyType: ddbtypes.KeyTypeHash},
			{AttributeName: aws.String(sort), KeyType: ddbtypes.KeyTypeRange},
		},
	}
}
