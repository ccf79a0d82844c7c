package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/telemetry"
	"ratchet/streams"
	"ratchet/streams/lambda"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestARecordInAFunctionContinuesTheTraceOfItsTransition: in a Lambda function as in the poller.
func TestARecordInAFunctionContinuesTheTraceOfItsTransition(t *testing.T) {
	far := startReceiver(t, nil)
	tracing := trace(t, newTelemetry(t), far.url)
	var seen string

	function, err := lambda.New(lambda.Config{Handlers: tracing.Handlers([]streams.Handler{{
		Name: "own",
		Handle: func(ctx context.Context, _ streams.Record) error {
			seen = telemetry.Traceparent(ctx)
			return nil
		},
	}}, transitions.Mapping{})})
	if err != nil {
		t.Fatal(err)
	}

	answer, err := function.Handle(t.Context(), placedRecord(t, tracing))
	if err != nil || len(answer.Failures) > 0 {
		t.Fatal(answer, err)
	}
	tracing.Close()

	applied, handled := far.named("apply place"), far.named("process orders")
	if len(applied) != 1 || len(handled) != 1 {
		t.Fatalf("%d decisions and %d records", len(applied), len(handled))
	}

	if string(handled[0].GetTraceId()) != string(applied[0].GetTraceId()) || string(handled[0].GetParentSpanId()) != string(applied[0].GetSpanId()) {
		t.Errorf("the record is %v, want a child of %v", handled[0], applied[0])
	}

	if !strings.HasPrefix(seen, traceparent[:36]) {
		t.Errorf("the handler continues %q, want the trace of %s", seen, traceparent)
	}
}

// TestARetriedRecordIsLinkedToItsFirstCall: a retry in memory, and a dead letter that is replayed.
func TestARetriedRecordIsLinkedToItsFirstCall(t *testing.T) {
	far := startReceiver(t, nil)
	tracing := trace(t, newTelemetry(t), far.url)

	handlers := tracing.Handlers([]streams.Handler{{Name: "own", Handle: func(context.Context, streams.Record) error { return errors.New("fails") }}}, transitions.Mapping{})
	record := streams.Record{New: placedItem(t, tracing), Handler: "own", SequenceNumber: "1", Attempt: 1}

	for _, again := range []func(){func() {}, func() { record.Attempt = 2 }, func() { record.Attempt, record.Replay = 1, &streams.Replayed{} }} {
		again()
		_ = handlers[0].Handle(t.Context(), record)
	}
	tracing.Close()

	calls := far.named("process orders")
	if len(calls) != 3 || len(calls[0].GetLinks()) != 0 {
		t.Fatalf("%d calls: %v", len(calls), calls)
	}

	for _, retry := range calls[1:] {
		links := retry.GetLinks()
		if len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), calls[0].GetSpanId()) || bytes.Equal(retry.GetSpanId(), calls[0].GetSpanId()) {
			t.Errorf("the retry %x has the links %v, want one to %x", retry.GetSpanId(), links, calls[0].GetSpanId())
		}
	}
}

// TestABatchIsLinkedToItsTransitions: its span begins a trace, because its records belong to
// several.
func TestABatchIsLinkedToItsTransitions(t *testing.T) {
	far := startReceiver(t, nil)
	tracing := trace(t, newTelemetry(t), far.url)

	handlers := tracing.Handlers([]streams.Handler{{Name: "own", Batch: &streams.Batch{
		Handle: func(_ context.Context, all []streams.Record) []error { return make([]error, len(all)) },
	}}}, transitions.Mapping{})
	item := placedItem(t, tracing)
	handlers[0].Batch.Handle(t.Context(), []streams.Record{{New: item}, {Old: item, New: item}}) // the second moves nothing
	tracing.Close()

	applied, batches := far.named("apply place"), far.named("process orders batch")
	if len(applied) != 1 || len(batches) != 1 {
		t.Fatalf("%d decisions and %d batches", len(applied), len(batches))
	}

	links := batches[0].GetLinks()
	if len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), applied[0].GetSpanId()) || bytes.Equal(batches[0].GetTraceId(), applied[0].GetTraceId()) {
		t.Errorf("the batch is %v, want a trace of its own with a link to %x", batches[0], applied[0].GetSpanId())
	}
}

// placedRecord places an order and returns its item as the event of a function.
func placedRecord(t *testing.T, tracing *telemetry.Tracing) json.RawMessage {
	t.Helper()

	image := map[string]any{}
	for name, value := range placedItem(t, tracing) {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			image[name] = map[string]string{"S": v.Value}
		case *types.AttributeValueMemberN:
			image[name] = map[string]string{"N": v.Value}
		}
	}

	event, err := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"eventName": "INSERT",
		"dynamodb":  map[string]any{"SequenceNumber": "1", "Keys": map[string]any{"orderId": image["orderId"]}, "NewImage": image},
	}}})
	if err != nil {
		t.Fatal(err)
	}

	return event
}

// placedItem places an order and returns its item.
func placedItem(t *testing.T, tracing *telemetry.Tracing) map[string]types.AttributeValue {
	t.Helper()

	db := embeddedtest.DynamoDB(t, transitions.Mapping{}.OrdersTable("orders"))

	orders, err := transitions.New(transitions.Config{
		DynamoDB: db,
		Table:    "orders",
		Events:   tracing.OrderEvents(workflow.Order(), transitions.Events{}),
		Log:      embeddedtest.Quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}

	placed, err := orders.Create(t.Context(), transitions.NewOrder{
		ID:    "o-1",
		Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 100}},
		Total: transitions.Money{Amount: 100, Currency: "EUR"},
		Cause: transitions.Cause{Trace: traceparent},
	})
	if err != nil || placed.Verdict != transitions.Applied {
		t.Fatal(placed, err)
	}

	found, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("orders")})
	if err != nil || len(found.Items) != 1 {
		t.Fatal(found, err)
	}

	return found.Items[0]
}
