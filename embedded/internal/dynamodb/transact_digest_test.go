package dynamodb

import (
	"testing"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/references"
)

func text(s string) attr.Value { return attr.Value{Kind: attr.S, Str: s} }

func TestDigest(t *testing.T) {
	request := func(edit func(*transactAction)) *transactWriteIn {
		name, expr := "t", "SET a = :a"
		a := &transactAction{TableName: &name, Key: attr.Item{"id": text("1")}, UpdateExpression: &expr, Parameters: references.Parameters{
			ExpressionAttributeNames:  map[string]string{"#a": "x", "#b": "y"},
			ExpressionAttributeValues: attr.Item{":a": text("1"), ":b": text("2")},
		}}
		edit(a)

		return &transactWriteIn{TransactItems: []transactWriteItem{{Update: a}}}
	}
	base := request(func(*transactAction) {}).digest()
	for range 20 { // maps are walked in another order each time
		if request(func(*transactAction) {}).digest() != base {
			t.Fatal("one request has two digests")
		}
	}

	for name, edit := range map[string]func(*transactAction){
		"key":        func(a *transactAction) { a.Key = attr.Item{"id": text("2")} },
		"value":      func(a *transactAction) { a.ExpressionAttributeValues[":a"] = text("9") },
		"name":       func(a *transactAction) { a.ExpressionAttributeNames["#a"] = "z" },
		"expression": func(a *transactAction) { a.UpdateExpression = nil },
		"condition":  func(a *transactAction) { a.ConditionExpression = new("a = :a") },
	} {
		if request(edit).digest() == base {
			t.Errorf("another %s, the same digest", name)
		}
	}
}
