package transitions

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A global table is refused, and an index that shows everything costs something. The engine has neither.
func TestCheckOfATableThatTheEngineDoesNotHave(t *testing.T) {
	m := Mapping{Prefix: "rt_"}
	in := m.OrdersTable("orders")
	is := &types.TableDescription{
		TableName: in.TableName, KeySchema: in.KeySchema, AttributeDefinitions: in.AttributeDefinitions, StreamSpecification: in.StreamSpecification,
		Replicas: []types.ReplicaDescription{{RegionName: aws.String("eu-west-1")}},
		LocalSecondaryIndexes: []types.LocalSecondaryIndexDescription{{
			IndexName: aws.String("all"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{
			{IndexName: aws.String("total"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"rt_total"}}},
			{IndexName: aws.String("own"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"total"}}},
		},
	}

	var said []string
	for _, f := range m.checkTable(is) {
		said = append(said, f.What)

		if f.Refused != strings.Contains(f.What, "global table") {
			t.Errorf("refused: %t: %s", f.Refused, f.What)
		}
	}

	for _, want := range []string{"it is a global table", "index all shows", "index total shows"} {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q is not in %q", want, said)
		}
	}

	if len(said) != 3 {
		t.Errorf("%q", said)
	}
}
