package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlainAttributeNamesGoThroughPlaceholders(t *testing.T) {
	update := dynamo.NewUpdate("leases", dynamo.Item{"id": dynamo.S("l-1")}).
		IfEquals("owner", dynamo.S("a")).
		IfPresent("counter").
		IfAbsent("finishedAt").
		SetValue("owner", dynamo.S("b")).
		SetValue("ready", dynamo.Bool(true)).
		RemoveAttribute("wanted").
		Input()

	if got, want := *update.ConditionExpression, "#owner = :v0 AND attribute_exists(#counter) AND attribute_not_exists(#finishedAt)"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}

	if got, want := *update.UpdateExpression, "SET #owner = :v1, #ready = :v2 REMOVE #wanted"; got != want {
		t.Errorf("update %q, want %q", got, want)
	}

	names := map[string]string{
		"#owner":      "owner",
		"#counter":    "counter",
		"#finishedAt": "finishedAt",
		"#ready":      "ready",
		"#wanted":     "wanted",
	}
	if diff := cmp.Diff(names, update.ExpressionAttributeNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}

	if dynamo.Text(update.ExpressionAttributeValues, ":v1") != "b" || !dynamo.Flag(update.ExpressionAttributeValues, ":v2") {
		t.Errorf("values %v", update.ExpressionAttributeValues)
	}
}

func TestEveryClauseStandsInItsSection(t *testing.T) {
	update := dynamo.NewUpdate("orders", dynamo.Item{"id": dynamo.S("o-1")}).
		Set("note = :note").Bind(":note", dynamo.S("n")).
		Remove("#status").
		Add("tries :one").Bind(":one", dynamo.N(1)).
		Delete("tags :old").Bind(":old", dynamo.SS("a")).
		Set("#mark = :note").Alias("#mark", "once#mark").
		If("version = :one").
		Part()

	if got, want := *update.UpdateExpression, "SET note = :note, #mark = :note REMOVE #status ADD tries :one DELETE tags :old"; got != want {
		t.Errorf("update %q, want %q", got, want)
	}

	names := map[string]string{"#status": "status", "#mark": "once#mark"}
	if diff := cmp.Diff(names, update.ExpressionAttributeNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}

	if *update.TableName != "orders" || dynamo.Text(update.Key, "id") != "o-1" || len(update.ExpressionAttributeValues) != 3 {
		t.Errorf("table %s, key %v, values %v", *update.TableName, update.Key, update.ExpressionAttributeValues)
	}

	if update.ReturnValuesOnConditionCheckFailure != types.ReturnValuesOnConditionCheckFailureAllOld {
		t.Error("a failed condition must return the item")
	}
}

func TestConditionsAreJoined(t *testing.T) {
	for _, test := range []struct {
		about      string
		conditions []string
		want       string
	}{
		{
			about:      "one condition stands as it is",
			conditions: []string{"a = :a OR b = :b"},
			want:       "a = :a OR b = :b",
		},
		{
			about:      "an OR among others is put in parentheses",
			conditions: []string{"a = :a", "b = :b OR c = :c"},
			want:       "a = :a AND (b = :b OR c = :c)",
		},
		{
			about:      "parentheses that exist are enough: DynamoDB refuses redundant ones",
			conditions: []string{"a = :a", "(b = :b OR c = :c)"},
			want:       "a = :a AND (b = :b OR c = :c)",
		},
		{
			about:      "an OR behind parentheses is still the outermost operator",
			conditions: []string{"(a = :a AND b = :b) OR size(c) > :c", "d = :d"},
			want:       "((a = :a AND b = :b) OR size(c) > :c) AND d = :d",
		},
	} {
		t.Run(test.about, func(t *testing.T) {
			update := dynamo.NewUpdate("t", nil)
			for _, condition := range test.conditions {
				update.If(condition)
			}

			if got := *update.Input().ConditionExpression; got != test.want {
				t.Errorf("condition %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnUpdateWithoutConditionsHasNoConditionExpression(t *testing.T) {
	update := dynamo.NewUpdate("t", nil).Set("a = b").Input()

	if update.ConditionExpression != nil || update.ExpressionAttributeNames != nil || update.ExpressionAttributeValues != nil {
		t.Errorf("DynamoDB refuses empty expressions, names and values: %+v", update)
	}
}

// TestTheEngineTakesWhatIsBuilt sends updates that use every method of the builder.
func TestTheEngineTakesWhatIsBuilt(t *testing.T) {
	db := embeddedtest.DynamoDB(t, dynamo.Table("builder", dynamo.TextKey("id"), dynamo.NumberKey("n")))
	key := dynamo.Item{"id": dynamo.S("a"), "n": dynamo.N(1)}
	update := func() *dynamo.Update {
		u := dynamo.NewUpdate("builder", key).
			IfEquals("status", dynamo.S("OPEN")).
			If("attribute_not_exists(#owner) OR #owner = :me").Bind(":me", dynamo.S("me")).
			SetValue("owner", dynamo.S("me")).
			SetValue("status", dynamo.S("CLOSED")).
			Remove("note").
			Delete("tags :tags").Bind(":tags", dynamo.SS("x"))

		return u.Add("tries " + u.Value(dynamo.N(1)))
	}

	_, err := db.UpdateItem(t.Context(), update().Input())
	if old, failed := dynamo.FailedCondition(err); !failed || old != nil {
		t.Fatalf("on an absent item: %v %t %v", old, failed, err)
	}

	if _, err := db.UpdateItem(t.Context(), dynamo.NewUpdate("builder", key).SetValue("status", dynamo.S("OPEN")).SetValue("tags", dynamo.SS("x", "y")).Input()); err != nil {
		t.Fatal(err)
	}

	out, err := db.UpdateItem(t.Context(), update().Input())
	if err != nil || dynamo.Text(out.Attributes, "status") != "CLOSED" || dynamo.Number(out.Attributes, "tries") != 1 {
		t.Fatalf("the update answers with the new image: %v %v", out, err)
	}

	_, err = db.UpdateItem(t.Context(), update().Input())
	if old, failed := dynamo.FailedCondition(err); !failed || dynamo.Text(old, "status") != "CLOSED" {
		t.Errorf("the failed condition answers with the old image: %v %v", old, err)
	}
}
