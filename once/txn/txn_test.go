package txn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/txn"
)

var (
	errFunds   = errors.New("insufficient funds")
	errUnknown = errors.New("unknown account")
)

// transfer moves n from a to b under the id.
func transfer(id string, n int, more item) *txn.Transaction {
	var t txn.Transaction
	t.Marker("transfer", marker(id, more))
	t.Add("source", debit("a", n), txn.FailWith(errFunds))
	t.Add("destination", credit("b", n), txn.FailWith(errUnknown))
	t.Token(id, 1)

	return &t
}

func refused(t testing.TB, err error) *txn.CanceledError {
	t.Helper()

	var r *txn.CanceledError
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a refusal", err)
	}

	return r
}

func TestPoint28_MarkerAndBusinessWriteAreOneCallAndReasonsAreReadByPosition(t *testing.T) {
	b := newBank(t)
	if err := b.Write(t.Context(), transfer("t-1", 4, nil)); err != nil {
		t.Fatal(err)
	}
	b.want(t, "6", "4")

	if b.sent() != 1 {
		t.Errorf("%d calls", b.sent())
	}
	var unknown txn.Transaction
	unknown.Marker("transfer", marker("t-2", nil))
	unknown.Add("source", debit("a", 1), txn.FailWith(errFunds))
	unknown.Add("destination", credit("unknown", 1), func(old item) error {
		if old != nil {
			t.Errorf("old item %v", old)
		}
		return errUnknown
	})

	err := b.Write(t.Context(), &unknown)
	if r := refused(t, err); r.Part != "destination" || r.Marker || !errors.Is(err, errUnknown) || len(r.Others) != 0 {
		t.Errorf("%+v", r)
	}
	// DynamoDB writes "None" for a part that did not fail, some emulators no code.
	for _, fine := range []string{"None", ""} {
		b.refuse(0, embeddedtest.Canceled(fine, "ConditionalCheckFailed", fine))

		if err := b.Write(t.Context(), transfer("t-3", 1, nil)); !errors.Is(err, errFunds) {
			t.Errorf("code %q beside the failed one: %v", fine, err)
		}
	}

	for _, codes := range [][]string{{"None", "Surprise", "None"}, {"None", "TransactionConflict", "Surprise"}, {"None", "None", "None"}, {"TransactionConflict"}} {
		sent := b.sent()
		b.refuse(0, embeddedtest.Canceled(codes...))

		if err := b.Write(t.Context(), transfer("t-3", 1, nil)); err == nil || txn.Retryable(err) || b.sent() != sent+1 {
			t.Errorf("%v must not be retried: %v after %d requests", codes, err, b.sent()-sent)
		}
	}
}

func TestPoint29_TheMarkerOutranksTheBusinessFailure(t *testing.T) {
	b := newBank(t)
	if err := b.Write(t.Context(), transfer("t-1", 10, item{"amount": num(10)})); err != nil {
		t.Fatal(err)
	}
	again := transfer("t-1", 10, item{"amount": num(10)})
	again.Token("t-1", 2)

	r := refused(t, b.Write(t.Context(), again))
	if !r.Marker || r.Part != "transfer" || !errors.Is(r, txn.ErrMarker) || r.Old["amount"].(*types.AttributeValueMemberN).Value != "10" {
		t.Errorf("want the marker, though the account is empty too: %+v", r)
	}

	if len(r.Others) != 1 || r.Others[0].Part != "source" {
		t.Errorf("others %+v", r.Others)
	}

	if err := b.Write(t.Context(), transfer("t-2", 10, nil)); !errors.Is(err, errFunds) {
		t.Errorf("got %v", err)
	}

	out, err := b.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("markers"), Key: item{"id": str("t-2")}, ConsistentRead: aws.Bool(true)})
	if err != nil || out.Item != nil {
		t.Errorf("a refused transfer left its marker: %v, %v", out.Item, err)
	}
	// While the marker is in conflict, a duplicate may be in flight: the failed condition
	// of another part must not be reported.
	b.refuse(1, embeddedtest.Canceled("TransactionConflict", "ConditionalCheckFailed", "None"))
	again.Token("t-1", 3)

	if r := refused(t, b.Write(t.Context(), again)); !r.Marker || b.sent() != 5 {
		t.Errorf("%+v after %d requests", r, b.sent())
	}
}

func TestADecisivePartIsEvaluatedBeforeAnyFailureCounts(t *testing.T) {
	b := newBank(t, noRetries)
	b.refuse(1, embeddedtest.Canceled("TransactionConflict", "ConditionalCheckFailed"))

	var tx txn.Transaction
	tx.AddDecisive("first", debit("a", 100), txn.FailWith(errFunds))
	tx.Add("second", credit("unknown", 1), txn.FailWith(errUnknown))

	r := refused(t, b.Write(t.Context(), &tx))
	if r.Part != "first" || r.Marker || len(r.Others) != 1 || b.sent() != 2 {
		t.Errorf("want the decisive part, after a retry: %+v after %d requests", r, b.sent())
	}
}

func TestPoint30_ConflictsAndThrottlingAreTriedAgainAndNothingElseIs(t *testing.T) {
	for _, code := range []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"} {
		b := newBank(t, noRetries)
		b.refuse(3, canceled(code))

		if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil || b.sent() != 4 {
			t.Errorf("%s three times: %v after %d requests", code, err, b.sent())
		}
		b.want(t, "9", "1")
	}

	for kind, want := range map[string]error{"TransactionConflict": txn.ErrContended, "ThrottlingError": txn.ErrThrottled, "ValidationError": nil} {
		b := newBank(t, attempts(3))
		b.refuse(0, canceled(kind))

		err := b.Write(t.Context(), transfer("t-1", 1, nil))
		if want == nil {
			if txn.Retryable(err) || b.sent() != 1 || !strings.Contains(err.Error(), "source: ValidationError") {
				t.Errorf("%s: %v after %d requests", kind, err, b.sent())
			}
			continue
		}

		if !errors.Is(err, want) || errors.Is(err, txn.ErrUnknown) || !txn.Retryable(err) || b.sent() != 3 {
			t.Errorf("%s: %v after %d requests", kind, err, b.sent())
		}
	}

	b := newBank(t, noRetries)
	b.refuse(1, &embeddedtest.Error{Code: "ProvisionedThroughputExceededException"})

	if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil {
		t.Errorf("the whole request throttled once: %v", err)
	}

	if err := b.Write(t.Context(), transfer("t-2", 100, nil)); !errors.Is(err, errFunds) || b.sent() != 3 {
		t.Errorf("a failed condition must not be retried: %v after %d requests", err, b.sent())
	}
}

func TestPoint31_ATransactionInProgressIsWaitedForAndThenTheMarkerTells(t *testing.T) {
	b := newBank(t, noRetries, attempts(4))
	if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil {
		t.Fatal(err)
	}

	b.refuse(2, &embeddedtest.Error{Code: "TransactionInProgressException"})

	if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil || b.sent() != 4 {
		t.Errorf("%v after %d requests", err, b.sent())
	}

	b.refuse(0, &embeddedtest.Error{Code: "TransactionInProgressException"})

	if err := b.Write(t.Context(), transfer("t-1", 1, nil)); !errors.Is(err, txn.ErrUnknown) || !txn.Retryable(err) {
		t.Errorf("still in progress after the last attempt: %v", err)
	}
	b.transport.Clear()

	later := transfer("t-1", 1, nil)
	later.Token("t-1", 2) // ten minutes later the token is void

	if r := refused(t, b.Write(t.Context(), later)); !r.Marker {
		t.Errorf("%+v", r)
	}
	b.want(t, "9", "1")
}

func TestPoint32_EqualTransactionsAreEqualBytesUnderADerivedToken(t *testing.T) {
	b := newBank(t)

	var bodies []string
	b.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is(transact) {
			bodies = append(bodies, string(c.Body()))
		}

		return nil
	})

	more := func() item {
		m := item{}
		for i := range 12 {
			m[fmt.Sprintf("attribute-%d", i)] = str("<&> \u2028 ü")
		}

		return item{"inner": &types.AttributeValueMemberM{Value: m}}
	}
	for range 200 {
		if err := b.Write(t.Context(), transfer("t-1", 1, more())); err != nil {
			t.Fatal(err)
		}
	}

	if n := len(bodies); n != 200 {
		t.Errorf("%d transactions were sent, want 200", n)
	}
	slices.Sort(bodies)

	if different := slices.Compact(bodies); len(different) != 1 {
		t.Errorf("200 equal transactions had %d different bodies", len(different))
	}
	b.want(t, "9", "1")

	out, err := b.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("markers"), Key: item{"id": str("t-1")}})
	if err != nil || out.Item["inner"].(*types.AttributeValueMemberM).Value["attribute-3"].(*types.AttributeValueMemberS).Value != "<&> \u2028 ü" {
		t.Errorf("the item arrived as %v, %v", out.Item, err)
	}

	tokens := map[string]bool{}
	for _, key := range []string{"", "a", strings.Repeat("long", 500)} {
		for fence := range int64(3) {
			var one txn.Transaction
			one.Add("m", marker(fmt.Sprint(key[:min(len(key), 9)], fence), nil), nil)
			one.Token(key, fence)

			if err := b.Write(t.Context(), &one); err != nil {
				t.Fatal(err)
			}

			token := between(bodies[len(bodies)-1], `"ClientRequestToken":"`, `"`)
			if tokens[token] || len(token) == 0 || len(token) > 36 {
				t.Errorf("token %q of a key of %d bytes, fence %d", token, len(key), fence)
			}
			tokens[token] = true
		}
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func TestPoint32_ALostAnswerIsSentAgainUnderTheSameToken(t *testing.T) {
	b := newBank(t, noRetries)
	b.transport.Inject(embeddedtest.LoseAnswer(transact).Next(3))

	var plain txn.Transaction // no marker, no token of its own
	plain.Add("source", debit("a", 4), txn.FailWith(errFunds))
	plain.Add("destination", credit("b", 4), nil)

	if err := b.Write(t.Context(), &plain); err != nil || b.sent() != 4 {
		t.Errorf("%v after %d requests", err, b.sent())
	}
	b.want(t, "6", "4")

	if err := b.Write(t.Context(), &plain); err != nil {
		t.Error(err)
	}
	b.want(t, "2", "8") // another Write is another transaction
}

func TestPoint33_AMismatchedTokenIsGivenUpAndTheMarkerDecides(t *testing.T) {
	b := newBank(t)
	if err := b.Write(t.Context(), transfer("t-1", 1, item{"at": num(1)})); err != nil {
		t.Fatal(err)
	}

	r := refused(t, b.Write(t.Context(), transfer("t-1", 1, item{"at": num(2)}))) // a fresh time stamp
	if !r.Marker || r.Old["at"].(*types.AttributeValueMemberN).Value != "1" {
		t.Errorf("%+v", r)
	}
	b.want(t, "9", "1")
	other := transfer("t-2", 2, nil)
	other.Token("t-1", 1) // another transaction's token; t-2 was never made

	if err := b.Write(t.Context(), other); err != nil {
		t.Error(err)
	}
	b.want(t, "7", "3")
	var plain txn.Transaction
	plain.Add("source", debit("a", 1), nil)
	plain.Token("t-1", 1)

	if err := b.Write(t.Context(), &plain); !errors.Is(err, txn.ErrTokenUsed) || txn.Retryable(err) {
		t.Errorf("without a marker nothing can decide: %v", err)
	}
}

func TestPoint33_AfterTenMinutesTheMarkerDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Minute)

		if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil {
			t.Errorf("within the token's life: %v", err)
		}
		time.Sleep(21 * time.Minute)

		if r := refused(t, b.Write(t.Context(), transfer("t-1", 1, nil))); !r.Marker {
			t.Errorf("%+v", r)
		}
		b.want(t, "9", "1")
	})
}

func TestPoint34_WhatDynamoDBWouldNeverTakeIsNotSent(t *testing.T) {
	many := func(n int) *txn.Transaction {
		var all txn.Transaction
		for i := range n {
			all.Add(fmt.Sprint("part-", i), marker(fmt.Sprint(i), nil), nil)
		}

		return &all
	}
	with := func(items ...types.TransactWriteItem) *txn.Transaction {
		var all txn.Transaction
		for i, it := range items {
			all.Add(fmt.Sprint("part-", i), it, nil)
		}

		return &all
	}

	big := func(id string, n int) types.TransactWriteItem {
		return marker(id, item{"pad": &types.AttributeValueMemberB{Value: make([]byte, n)}})
	}
	var large txn.Transaction
	for i := range 11 {
		large.Add("part", big(fmt.Sprint(i), 390<<10), nil)
	}
	markers := many(1)
	markers.Marker("one", marker("m", nil))
	markers.Marker("two", marker("n", nil))
	table := func(name string, it types.TransactWriteItem) types.TransactWriteItem {
		it.Put.TableName = &name
		return it
	}

	check := types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: aws.String("elsewhere"), Key: item{"id": str("x")}, ConditionExpression: aws.String("attribute_exists(id)")}}
	both := marker("x", nil)
	both.Delete = &types.Delete{TableName: aws.String("markers"), Key: item{"id": str("y")}}
	for name, c := range map[string]struct {
		t    *txn.Transaction
		says string
	}{
		"nothing":                       {&txn.Transaction{}, "no parts"},
		"101 parts":                     {many(101), "101 parts, at most 100"},
		"4 MB":                          {&large, "at most 4194304"},
		"a large item":                  {with(big("x", 400<<10)), "an item has at most 409600"},
		"from is to":                    {with(debit("a", 1), credit("a", 1)), "part-0 and part-1 are one item of table accounts"},
		"two puts of one item":          {with(marker("x", nil), marker("x", item{"n": num(1)})), "part-0 and part-1 are one item of table markers"},
		"a put, by its neighbour's key": {with(check, table("elsewhere", marker("x", nil))), "one item of table elsewhere"},
		"two markers":                   {markers, "2 markers, at most 1"},
		"no action":                     {with(types.TransactWriteItem{}), "0 actions"},
		"two actions":                   {with(both), "2 actions"},
		"no table":                      {with(table("", marker("x", nil))), "no table"},
		"no key":                        {with(types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("t")}}), "no key"},
	} {
		b := newBank(t)
		if err := b.Write(t.Context(), c.t); !errors.Is(err, txn.ErrInvalid) || !strings.Contains(err.Error(), c.says) || b.sent() != 0 {
			t.Errorf("%s: %v after %d requests", name, err, b.sent())
		}
	}

	if b := newBank(t); b.Write(t.Context(), many(100)) != nil {
		t.Error("100 parts are allowed")
	}
}

func TestUnknownOutcomeIsReported(t *testing.T) {
	b := newBank(t, noRetries, attempts(2))
	b.transport.Inject(embeddedtest.LoseAnswer(transact).Next(2))

	if err := b.Write(t.Context(), transfer("t-1", 1, nil)); !errors.Is(err, txn.ErrUnknown) || !txn.Retryable(err) {
		t.Errorf("got %v", err)
	}
	// A later conflict does not tell whether the first request was carried out.
	b = newBank(t, noRetries, attempts(2))
	conflict := embeddedtest.Canceled("TransactionConflict", "None", "None")
	b.transport.Inject(embeddedtest.LoseAnswer(transact).Next(1))
	b.transport.Inject(embeddedtest.Fault{On: []string{transact}, Times: 1, Err: conflict})

	if err := b.Write(t.Context(), transfer("t-1", 1, nil)); !errors.Is(err, txn.ErrUnknown) {
		t.Errorf("got %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	b.transport.Clear()
	b.transport.Before(func(*embeddedtest.Call) error {
		cancel()
		return conflict
	})

	if err := b.Write(ctx, transfer("t-2", 1, nil)); !txn.Retryable(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("the caller canceled: %v", err)
	}
}

func TestOneOfManyConcurrentWritersMakesTheTransaction(t *testing.T) {
	b := newBank(t)

	var mu sync.Mutex
	made, repeats := 0, 0
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			one := transfer("t-1", 1, item{"by": num(i)})
			err := b.Write(t.Context(), one)
			mu.Lock()
			defer mu.Unlock()

			var r *txn.CanceledError
			switch {
			case err == nil:
				made++
			case errors.As(err, &r) && r.Marker:
				repeats++
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()

	if made != 1 || repeats != 39 {
		t.Errorf("%d made the transaction, %d found the marker", made, repeats)
	}
	b.want(t, "9", "1")
}

func TestConsumedCapacityIsReported(t *testing.T) {
	units := 0.0
	b := newBank(t, func(c *txn.Config, _ *dynamodb.Options) {
		c.Consumed = func(all []types.ConsumedCapacity) {
			for _, c := range all {
				units += aws.ToFloat64(c.CapacityUnits)
			}
		}
	})
	if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil || units != 6 {
		t.Errorf("three small parts cost %v units, want 6; error %v", units, err)
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := txn.New(txn.Config{Attempts: 101})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"DynamoDB", "Attempts 101"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
