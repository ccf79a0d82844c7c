package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ratchet/embedded"
	"ratchet/workflow"
)

// attribute turns a plain value into DynamoDB's.
func attribute(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case int:
		return &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
	case int64:
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}
	case float64:
		return &types.AttributeValueMemberN{Value: strconv.FormatFloat(v, 'f', -1, 64)}
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case []any:
		list := make([]types.AttributeValue, len(v))
		for i, item := range v {
			list[i] = attribute(item)
		}

		return &types.AttributeValueMemberL{Value: list}
	case map[string]any:
		m := map[string]types.AttributeValue{}
		for k, item := range v {
			m[k] = attribute(item)
		}

		return &types.AttributeValueMemberM{Value: m}
	}
	panic(fmt.Sprintf("%T", v))
}

// TestAGuardMeansInGoWhatItMeansInACondition asks the embedded engine, which is held
// against DynamoDB Local, about random guards and items.
func TestAGuardMeansInGoWhatItMeansInACondition(t *testing.T) {
	engine, err := embedded.Open(embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})

	db := dynamodb.NewFromConfig(engine.AWSConfig())
	ctx := t.Context()
	if _, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String("items"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}}}); err != nil {
		t.Fatal(err)
	}
	scalar := rapid.OneOf(rapid.Custom(func(t *rapid.T) any { return rapid.IntRange(0, 3).Draw(t, "number") }),
		rapid.SampledFrom([]any{"", "a", "b", "ab", true, false}))
	value := rapid.OneOf(scalar, rapid.SampledFrom([]any{1.5, nil}),
		rapid.Custom(func(t *rapid.T) any { return map[string]any{"z": scalar.Draw(t, "z")} }),
		rapid.Custom(func(t *rapid.T) any { return []any{scalar.Draw(t, "first")} }))
	path := rapid.SampledFrom([]string{"x", "y", "x.z", "x[0]", "size(x)", "size(y)"})
	rapid.Check(t, func(t *rapid.T) {
		g := workflow.Guard{Name: "g", Attribute: path.Draw(t, "attribute"), Op: rapid.SampledFrom([]workflow.Op{"=", "<>", "<", "<=", ">", ">=", "in", "exists", "missing"}).Draw(t, "op")}
		request := map[string]any{"r": scalar.Draw(t, "request")}
		switch {
		case g.Op == "in":
			g.Value = rapid.SliceOfN(scalar, 1, 3).Draw(t, "list")
		case g.Op == "exists" || g.Op == "missing":
		default:
			switch rapid.IntRange(0, 2).Draw(t, "operand") {
			case 0:
				g.Value = scalar.Draw(t, "value")
			case 1:
				g.Other = path.Draw(t, "other")
			case 2:
				g.Request = "r"
			}
		}
		spec := twoStates()
		spec.Transitions[0].Guards = []workflow.Guard{g}

		d, err := workflow.New(spec)
		if err != nil {
			return // what cannot be expressed is refused
		}
		g = d.Choices("A", "go")[0].Guards[0]
		condition, err := workflow.RenderGuards([]workflow.Guard{g}, "g", request)

		item := map[string]any{}
		for _, a := range []string{"x", "y"} {
			if rapid.Bool().Draw(t, "has "+a) {
				item[a] = value.Draw(t, a)
			}
		}

		holds, err2 := g.Holds(item, request)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%s: rendering says %v, evaluating %v", g, err, err2)
		}

		if err != nil {
			return
		}

		if got := ask(t, db, item, condition); got != holds {
			t.Fatalf("%s on %v: the engine says %v, Holds %v", g, item, got, holds)
		}
	})
}

// ask puts the item and reports whether the condition holds for it.
func ask(t *rapid.T, db *dynamodb.Client, item map[string]any, c workflow.Condition) bool {
	ctx := context.Background()
	item["id"] = "i"

	image, _ := attribute(item).(*types.AttributeValueMemberM)
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("items"), Item: image.Value}); err != nil {
		t.Fatal(err)
	}

	values := map[string]types.AttributeValue{":one": attribute(1)}
	for k, v := range c.Values {
		values[k] = attribute(v)
	}

	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: aws.String("items"), Key: map[string]types.AttributeValue{"id": attribute("i")},
		UpdateExpression: aws.String("SET touched = :one"), ConditionExpression: aws.String(c.Expression),
		ExpressionAttributeNames: c.Names, ExpressionAttributeValues: values})
	var refused *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return true
	case errors.As(err, &refused):
		return false
	}
	t.Fatalf("%s with %v: %v", c.Expression, c.Values, err)

	return false
}
