package dynamo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/internal/dynamo"
)

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

func TestFlagReadsOnlyBooleans(t *testing.T) {
	item := dynamo.Item{"yes": dynamo.Bool(true), "no": dynamo.Bool(false), "text": dynamo.S("true")}
	for name, want := range map[string]bool{"yes": true, "no": false, "text": false, "absent": false} {
		if got := dynamo.Flag(item, name); got != want {
			t.Errorf("Flag(%s) = %t, want %t", name, got, want)
		}
	}
}
