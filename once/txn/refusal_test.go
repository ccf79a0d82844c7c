package txn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/txn"
)

// every returns an action of each kind on the account, on a condition that fails.
func every(id string) map[string]types.TransactWriteItem {
	table, key := aws.String("accounts"), item{"id": str(id)}
	poor, values := aws.String("balance > :most"), item{":most": num(1000)}

	return map[string]types.TransactWriteItem{
		"put":    {Put: &types.Put{TableName: table, Item: key, ConditionExpression: poor, ExpressionAttributeValues: values}},
		"update": {Update: &types.Update{TableName: table, Key: key, UpdateExpression: aws.String("SET balance = :most"), ConditionExpression: poor, ExpressionAttributeValues: values}},
		"delete": {Delete: &types.Delete{TableName: table, Key: key, ConditionExpression: poor, ExpressionAttributeValues: values}},
		"check":  {ConditionCheck: &types.ConditionCheck{TableName: table, Key: key, ConditionExpression: poor, ExpressionAttributeValues: values}},
	}
}

func TestEveryRefusalBringsTheItem(t *testing.T) {
	b := newBank(t)
	for kind, action := range every("a") {
		var tx txn.Transaction
		tx.Add(kind, action, nil)

		r := refused(t, b.Write(t.Context(), &tx))
		if n, ok := r.Old["balance"].(*types.AttributeValueMemberN); !ok || n.Value != "10" || !errors.Is(r, txn.ErrCondition) {
			t.Errorf("%s: %+v", kind, r)
		}

		if want := "transaction refused by " + kind + ": condition failed"; r.Error() != want {
			t.Errorf("%s: %q, want %q", kind, r, want)
		}
	}
	b.want(t, "10", "0")
}

func TestARefusalNamesTheOtherParts(t *testing.T) {
	b := newBank(t)

	var tx txn.Transaction
	tx.Add("first", debit("a", 100), txn.FailWith(errFunds))
	tx.Add("second", credit("c", 1), txn.FailWith(errUnknown))
	tx.Add("third", credit("d", 1), nil)

	if r := refused(t, b.Write(t.Context(), &tx)); r.Error() != "transaction refused by first: insufficient funds (and by second, third)" {
		t.Error(r)
	}
}

// Throttling of a decisive part counts like a conflict, whatever follows it.
func TestAThrottledDecisivePartIsEvaluatedBeforeAnyFailureCounts(t *testing.T) {
	for _, code := range []string{"ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict"} {
		for _, between := range []string{"None", "ThrottlingError", "TransactionConflict"} {
			b := newBank(t, noRetries)
			b.refuse(1, embeddedtest.Canceled(code, between, "ConditionalCheckFailed"))

			var tx txn.Transaction
			tx.AddDecisive("first", debit("a", 100), txn.FailWith(errFunds))
			tx.Add("second", credit("b", 1), nil)
			tx.Add("third", credit("unknown", 1), txn.FailWith(errUnknown))

			if r := refused(t, b.Write(t.Context(), &tx)); r.Part != "first" || len(r.Others) != 1 || b.sent() != 2 {
				t.Errorf("%s, %s: %+v after %d requests", code, between, r, b.sent())
			}
		}
	}
}

// DynamoDB throttled the whole request in every attempt: nothing was written.
func TestAThrottledRequestWroteNothing(t *testing.T) {
	b := newBank(t, noRetries, attempts(2))
	b.refuse(0, &embeddedtest.Error{Code: "ProvisionedThroughputExceededException"})

	err := b.Write(t.Context(), transfer("t-1", 1, nil))
	if !errors.Is(err, txn.ErrThrottled) || errors.Is(err, txn.ErrUnknown) || b.sent() != 2 {
		t.Errorf("%v after %d requests", err, b.sent())
	}
}

// A transaction without a marker is known again by its token alone, so all its attempts are
// equal bytes.
func TestAttemptsWithoutAMarkerAreEqualBytes(t *testing.T) {
	b := newBank(t, noRetries)

	bodies := map[string]bool{}
	b.transport.Before(func(c *embeddedtest.Call) error {
		bodies[string(c.Body())] = true

		return nil
	})
	b.transport.Inject(embeddedtest.LoseAnswer(transact).Next(8))

	more := item{}
	for i := range 10 {
		more[fmt.Sprint("attribute-", i)] = num(i)
	}

	var tx txn.Transaction
	tx.Add("m", marker("m", more), nil)

	if err := b.Write(t.Context(), &tx); err != nil || len(bodies) != 1 || b.sent() != 9 {
		t.Errorf("%v, %d different bodies in %d requests", err, len(bodies), b.sent())
	}
}

func TestAttemptsHaveBounds(t *testing.T) {
	b := newBank(t)
	for n, valid := range map[int]bool{-1: false, 0: true, 1: true, 100: true, 101: false} {
		if _, err := txn.New(txn.Config{DynamoDB: b.db, Attempts: n}); valid != (err == nil) {
			t.Errorf("%d attempts: %v", n, err)
		}
	}
}

// padded is a marker whose item has that many bytes.
func padded(id string, bytes int) types.TransactWriteItem {
	return marker(id, item{"pad": &types.AttributeValueMemberB{Value: make([]byte, bytes-len("id")-len(id)-len("pad"))}})
}

func TestTheLargestTransactionIsSent(t *testing.T) {
	const kb = 1 << 10

	b := newBank(t, noRetries, attempts(1))
	b.refuse(0, &embeddedtest.Error{Code: "ValidationException"})

	for name, row := range map[string]struct {
		sizes []int
		valid bool
	}{
		"400 KB":          {[]int{400 * kb}, true},
		"a byte more":     {[]int{400*kb + 1}, false},
		"4 MB":            {[]int{400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 96 * kb}, true},
		"a byte too many": {[]int{400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 400 * kb, 96*kb + 1}, false},
	} {
		sent := b.sent()

		var tx txn.Transaction
		for i, n := range row.sizes {
			tx.Add(fmt.Sprint(i), padded(fmt.Sprint(i), n), nil)
		}

		err := b.Write(t.Context(), &tx)
		if sent := b.sent() == sent+1; sent != row.valid || errors.Is(err, txn.ErrInvalid) == row.valid {
			t.Errorf("%s: %v, sent %v", name, err, sent)
		}
	}
}

// Items are told apart by all attributes of their key, if these are known.
func TestItemsAreToldApartByTheirKeys(t *testing.T) {
	in := func(table string, key item) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: key}}
	}
	check := func(table string, key item) types.TransactWriteItem {
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: key, ConditionExpression: aws.String("attribute_exists(id)")}}
	}
	bytes := func(b ...byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

	b := newBank(t, noRetries, attempts(1))
	b.refuse(0, &embeddedtest.Error{Code: "ValidationException"})

	for name, row := range map[string]struct {
		parts []types.TransactWriteItem
		same  bool
	}{
		"two attributes, equal":           {[]types.TransactWriteItem{check("pairs", item{"id": str("x"), "n": num(1)}), check("pairs", item{"n": num(1), "id": str("x")})}, true},
		"two attributes, one differs":     {[]types.TransactWriteItem{check("pairs", item{"id": str("x"), "n": num(1)}), check("pairs", item{"id": str("x"), "n": num(2)})}, false},
		"texts that run together":         {[]types.TransactWriteItem{check("pairs", item{"a": str("x"), "b": str("yz")}), check("pairs", item{"a": str("xy"), "b": str("z")})}, false},
		"a text and a number":             {[]types.TransactWriteItem{check("pairs", item{"id": str("1")}), check("pairs", item{"id": num(1)})}, false},
		"bytes, equal":                    {[]types.TransactWriteItem{check("pairs", item{"id": bytes(1, 2)}), check("pairs", item{"id": bytes(1, 2)})}, true},
		"bytes, different":                {[]types.TransactWriteItem{check("pairs", item{"id": bytes(1, 2)}), check("pairs", item{"id": bytes(1, 3)})}, false},
		"two tables":                      {[]types.TransactWriteItem{check("pairs", item{"id": str("x")}), check("others", item{"id": str("x")})}, false},
		"puts, the key unknown":           {[]types.TransactWriteItem{in("others", item{"id": str("x")}), in("others", item{"id": str("x")})}, false},
		"puts, the key of another table":  {[]types.TransactWriteItem{in("others", item{"id": str("x")}), in("others", item{"id": str("y")}), check("pairs", item{"name": str("z")})}, false},
		"puts, the key of their table":    {[]types.TransactWriteItem{in("others", item{"id": str("x")}), in("others", item{"id": str("y")}), check("others", item{"id": str("z")})}, false},
		"puts that the key shows as same": {[]types.TransactWriteItem{in("others", item{"id": str("x"), "n": num(1)}), in("others", item{"id": str("x")}), check("others", item{"id": str("z")})}, true},
	} {
		for range 20 { // the attributes come in random order
			var tx txn.Transaction
			for i, p := range row.parts {
				tx.Add(fmt.Sprint("part-", i), p, nil)
			}

			if err := b.Write(t.Context(), &tx); errors.Is(err, txn.ErrInvalid) != row.same || row.same && !strings.Contains(err.Error(), "part-0 and part-1") {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
