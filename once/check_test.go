package once_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// Check names the fault of each key other than idempotencyKey of type S alone.
func TestCheckFindsEveryWrongKey(t *testing.T) {
	key := func(name string, role types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: role}
	}
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	right := key("idempotencyKey", types.KeyTypeHash)

	for about, table := range map[string]struct {
		keys       []types.KeySchemaElement
		attributes []types.AttributeDefinition
		valid      bool
	}{
		"the right one": {[]types.KeySchemaElement{right},
			[]types.AttributeDefinition{attribute("other", "N"), attribute("idempotencyKey", "S")}, true},
		"with a sort key": {[]types.KeySchemaElement{right, key("sort", types.KeyTypeRange)},
			[]types.AttributeDefinition{attribute("idempotencyKey", "S"), attribute("sort", "S")}, false},
		"another name":  {[]types.KeySchemaElement{key("id", types.KeyTypeHash)}, []types.AttributeDefinition{attribute("idempotencyKey", "S")}, false},
		"another type":  {[]types.KeySchemaElement{right}, []types.AttributeDefinition{attribute("idempotencyKey", "B"), attribute("other", "S")}, false},
		"of no type":    {[]types.KeySchemaElement{right}, nil, false},
		"without a key": {nil, []types.AttributeDefinition{attribute("idempotencyKey", "S")}, false},
	} {
		w := newWatchedClaims(t)
		db := &describing{meter: w.db, table: types.TableDescription{KeySchema: table.keys, AttributeDefinitions: table.attributes}}

		err := once.Check(t.Context(), db, "once")
		if (err == nil) != table.valid || err != nil && !strings.Contains(err.Error(), "check table once: its key must be idempotencyKey of type S alone") {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// What DynamoDB refuses to do is a fault, whichever of the calls that is.
func TestCheckReportsWhatDynamoDBRefuses(t *testing.T) {
	for operation, want := range map[string]string{
		"DescribeTable":      "check table good: ",
		"DescribeTimeToLive": "check table good: time to live: ",
		"PutItem":            "check table good: write the probe: ",
		"UpdateItem":         "check table good: a condition that must fail returned ",
	} {
		cfg := network(t)
		transport := embeddedtest.Intercept(&cfg)
		db := dynamodb.NewFromConfig(cfg)
		embeddedtest.Create(t, db, once.TableInput("good"))
		_, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: aws.String("good"),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(once.ExpiryAttribute), Enabled: aws.Bool(true)}})
		must(t, err)
		must(t, once.Check(t.Context(), db, "good"))

		transport.Inject(embeddedtest.Answer("AccessDeniedException", operation))

		if err := once.Check(t.Context(), db, "good"); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s: %v", operation, err)
		}
	}
}

// permissive accepts every update, as an endpoint without conditions does.
type permissive struct{ *describing }

func (permissive) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

func TestCheckFindsAnEndpointWithoutConditions(t *testing.T) {
	w := newWatchedClaims(t)
	good := once.TableInput("once")
	db := permissive{&describing{meter: w.db, table: types.TableDescription{KeySchema: good.KeySchema, AttributeDefinitions: good.AttributeDefinitions}}}

	if err := once.Check(t.Context(), db, "once"); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
