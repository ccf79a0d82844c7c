package embedded

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestIgnoredThroughputIsAccepted: settings of throughput that the engine ignores may stand alone in an
// update, as on AWS.
func TestIgnoredThroughputIsAccepted(t *testing.T) {
	f := open(t)
	in := ordersByState()

	if _, err := f.db.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}

	demand, warm := &types.OnDemandThroughput{MaxReadRequestUnits: aws.Int64(5)}, &types.WarmThroughput{ReadUnitsPerSecond: aws.Int64(12_000)}

	for i, update := range []dynamodb.UpdateTableInput{
		{OnDemandThroughput: demand},
		{WarmThroughput: warm},
		{SSESpecification: &types.SSESpecification{Enabled: aws.Bool(true)}},
		{GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Update: &types.UpdateGlobalSecondaryIndexAction{
			IndexName: in.GlobalSecondaryIndexes[0].IndexName, OnDemandThroughput: demand,
		}}}},
		{GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Update: &types.UpdateGlobalSecondaryIndexAction{
			IndexName: in.GlobalSecondaryIndexes[0].IndexName, WarmThroughput: warm,
		}}}},
	} {
		update.TableName = in.TableName
		if _, err := f.db.UpdateTable(t.Context(), &update); err != nil {
			t.Errorf("update %d: %v", i, err)
		}
	}
}
