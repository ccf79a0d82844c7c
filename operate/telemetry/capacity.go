package telemetry

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// askingForCapacity returns a copy of the request that asks for the capacity that the call
// consumes. It is a copy because the caller may send the request from several goroutines.
func askingForCapacity(request any) any {
	switch in := request.(type) {
	case *dynamodb.GetItemInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.QueryInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.ScanInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.BatchGetItemInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.TransactGetItemsInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.PutItemInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.UpdateItemInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.DeleteItemInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.BatchWriteItemInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.TransactWriteItemsInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	case *dynamodb.BatchExecuteStatementInput:
		c := *in
		return asking(&c, &c.ReturnConsumedCapacity)
	}

	// Another operation, or another service: it has no such field.
	return request
}

// asking returns the request after it has set its field to the total, unless the caller asked for
// more.
func asking(request any, capacity *types.ReturnConsumedCapacity) any {
	// A caller that asks for the indexes' capacity gets the total with it.
	if *capacity == "" || *capacity == types.ReturnConsumedCapacityNone {
		*capacity = types.ReturnConsumedCapacityTotal
	}

	return request
}

// consumed counts the capacity that an answer reports.
func (a *awsInstruments) consumed(answer any) {
	switch out := answer.(type) {
	case *dynamodb.GetItemOutput:
		a.addUnits("read", out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		a.addUnits("read", out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		a.addUnits("read", out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		a.addAll("read", out.ConsumedCapacity)
	case *dynamodb.TransactGetItemsOutput:
		a.addAll("read", out.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		a.addUnits("write", out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		a.addUnits("write", out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		a.addUnits("write", out.ConsumedCapacity)
	case *dynamodb.BatchWriteItemOutput:
		a.addAll("write", out.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		a.addAll("write", out.ConsumedCapacity)
	case *dynamodb.BatchExecuteStatementOutput:
		a.addAll("write", out.ConsumedCapacity) // this module has statements that write only
	}
}

func (a *awsInstruments) addAll(kind string, all []types.ConsumedCapacity) {
	// A transaction and a batch report their capacity by table.
	for i := range all {
		a.addUnits(kind, &all[i])
	}
}

func (a *awsInstruments) addUnits(kind string, c *types.ConsumedCapacity) {
	if c != nil && c.CapacityUnits != nil {
		a.capacity.plus(*c.CapacityUnits, aws.ToString(c.TableName), kind)
	}
}
