package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"pgregory.net/rapid"
)

// updateValues are the values of drawUpdate's expressions.
var updateValues = item{
	":n": num("3"), ":s": str("new"),
	":t": &types.AttributeValueMemberSS{Value: []string{"a", "c"}},
	":l": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("x"), &types.AttributeValueMemberM{Value: item{"a": num("1")}}}},
	":m": &types.AttributeValueMemberM{Value: item{"a": num("2"), "l": &types.AttributeValueMemberL{Value: []types.AttributeValue{num("1")}}}},
}

// drawUpdate draws an update expression with the values that it uses. Some cannot be applied.
func drawUpdate(r *rapid.T) (string, item) {
	path := rapid.SampledFrom([]string{"a", "b", "n", "t", "m", "l", "m.a", "m.l", "m.l[0]", "l[0]", "l[1]", "l[1].a", "l[9]"})
	value := rapid.SampledFrom([]string{":n", ":s", ":l", ":m", "a", "b", "m", "l", "t", "m.l", "l[1]", "n + :n",
		"list_append(l, l)", "list_append(l, :l)", "list_append(:l, m.l)", "if_not_exists(b, :m)", "if_not_exists(m, :m)"})

	sections := []struct {
		word   string
		clause func() string
	}{
		{"SET", func() string { return path.Draw(r, "to") + " = " + value.Draw(r, "value") }},
		{"REMOVE", func() string { return path.Draw(r, "gone") }},
		{"ADD", func() string { return rapid.SampledFrom([]string{"n :n", "t :t", "b :t"}).Draw(r, "add") }},
		{"DELETE", func() string { return "t :t" }},
	}

	var parts []string
	for _, s := range sections {
		var clauses []string
		for range rapid.IntRange(0, 2).Draw(r, s.word) {
			clauses = append(clauses, s.clause())
		}

		if len(clauses) > 0 {
			parts = append(parts, s.word+" "+strings.Join(clauses, ", "))
		}
	}

	expression, values := strings.Join(parts, " "), item{}
	for name, v := range updateValues {
		if strings.Contains(expression, name) {
			values[name] = v
		}
	}

	return expression, values
}

// TestAnUpdateInPlaceAnswersAsOneOfACopy: a table with a time to live keeps each old item beside the new
// one, another table changes the item in place. Both give the same answers, items and images, and an
// image does not change after its record was written.
func TestAnUpdateInPlaceAnswersAsOneOfACopy(t *testing.T) {
	f := open(t)
	tables := [...]string{"in-place", "copied"}

	var streams [len(tables)]string
	for i, table := range tables {
		streams[i] = *f.table(table, "id", "", types.StreamViewTypeNewAndOldImages).LatestStreamArn
	}
	f.ttl("copied", "expires", true)

	ids := 0
	rapid.Check(t, func(r *rapid.T) {
		ids++
		keys := []item{{"id": str(fmt.Sprintf("%d-a", ids))}, {"id": str(fmt.Sprintf("%d-b", ids))}}

		for _, table := range tables {
			for _, key := range keys {
				f.put(table, item{"id": key["id"], "a": str("x"), "n": num("5"), "t": updateValues[":t"], "m": updateValues[":m"], "l": updateValues[":l"]})
			}
		}

		for range rapid.IntRange(1, 8).Draw(r, "updates") {
			first, values := drawUpdate(r)
			second, others := drawUpdate(r)
			returns := rapid.SampledFrom(types.ReturnValue("").Values()).Draw(r, "returns")
			both := rapid.IntRange(0, 2).Draw(r, "transaction") == 0

			if first == "" || second == "" {
				continue
			}

			var answers [len(tables)]string
			for i, table := range tables {
				if both {
					_, err := f.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
						{Update: &types.Update{TableName: &table, Key: keys[0], UpdateExpression: &first, ExpressionAttributeValues: orNil(values)}},
						{Update: &types.Update{TableName: &table, Key: keys[1], UpdateExpression: &second, ExpressionAttributeValues: orNil(others)}},
					}})
					answers[i] = message(err)
				} else {
					out, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: keys[0], UpdateExpression: &first,
						ExpressionAttributeValues: orNil(values), ReturnValues: returns})
					if answers[i] = message(err); err == nil {
						answers[i] = printed(out.Attributes)
					}
				}

				for _, key := range keys {
					answers[i] += "\n" + printed(f.get(table, key))
				}
			}

			if answers[0] != answers[1] {
				r.Fatalf("%s | %s, %s:\n%s\nand of a copy:\n%s", first, second, returns, answers[0], answers[1])
			}
		}
	})

	if inPlace, copied := f.imagesOf(t, streams[0]), f.imagesOf(t, streams[1]); len(inPlace) == 0 || !reflect.DeepEqual(inPlace, copied) {
		t.Errorf("the streams of %d and %d items differ", len(inPlace), len(copied))
	}
}

// imagesOf returns the images of each item in the stream. Every old image equals the new image before it.
func (f *fixture) imagesOf(t *testing.T, stream string) map[string][]string {
	all := map[string][]string{}
	f.readForest(stream, func(r stypes.Record) {
		id := r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value
		before, after := printed(r.Dynamodb.OldImage), printed(r.Dynamodb.NewImage)

		if images := all[id]; len(images) > 0 && images[len(images)-1] != before {
			t.Errorf("item %s: the old image %s follows %s", id, before, images[len(images)-1])
		}
		all[id] = append(all[id], after)
	})

	return all
}

// printed returns the attributes as text, in the order of their names.
func printed(attributes any) string {
	text, err := json.Marshal(attributes)
	if err != nil {
		return err.Error()
	}

	return string(text)
}

// message returns the message of the engine's error, "" without an error.
func message(err error) string {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		return ""
	}

	return refusal.ErrorCode() + ": " + refusal.ErrorMessage()
}

// orNil returns the values, nil if there are none: an empty map is refused.
func orNil(values item) item {
	if len(values) == 0 {
		return nil
	}

	return values
}
