package system

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestARequestThroughTheQueueContinuesItsSendersTrace: of a sender that writes a message attribute, with the
// poller and in a function, and of Ratchet itself.
func TestARequestThroughTheQueueContinuesItsSendersTrace(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")

	receiver := startProcess(t, "receiver", nil).first
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{
		RequestsQueue: "requests",
		Tracing:       server.TracingConfig{Endpoint: receiver},
	}})

	// Each order has a sender of its own, whose span is the parent of the decision.
	parents := map[transitions.OrderID]string{"o-sent": "1", "o-function": "2", "o-own": "3"}
	for id, digit := range parents {
		env.Place(ratchettest.NewOrder(id, "mug"))
		parents[id] = "00-" + strings.Repeat(digit, 32) + "-" + strings.Repeat(digit, 16) + "-01"
	}
	request := func(id transitions.OrderID) string {
		return fmt.Sprintf(`{"orderId":%q,"event":"cancel","requestId":"r-1"}`, id)
	}

	sendWithParent(t, env, request("o-sent"), parents["o-sent"])
	handleInFunction(t, env, request("o-function"), parents["o-function"])

	if _, err := env.Backend.Request(t.Context(), transitions.Request{
		OrderID:   "o-own",
		Event:     workflow.Cancel,
		RequestID: "r-1",
		Cause:     transitions.Cause{Trace: parents["o-own"]},
	}); err != nil {
		t.Fatal(err)
	}

	for id, parent := range parents {
		order := env.WantOrder(id, workflow.Cancelled, 2)
		if got := order.Cause.Trace; !strings.HasPrefix(got, parent[:36]) {
			t.Errorf("%s was canceled in the trace %q, want that of %s", id, got, parent)
		}
	}

	f := &forest{T: t}
	eventually(t, func() bool {
		f.all, _ = spans(t, receiver)

		return f.look(nil, "apply cancel", "ratchet.order.id", "o-own") != nil && f.look(nil, "send requests") != nil
	})

	sending := f.find(nil, "send requests", "ratchet.order.id", "o-own")
	received := f.child(sending, "process requests", "ratchet.order.id", "o-own")
	f.child(received, "apply cancel", "ratchet.order.id", "o-own")

	if got := fmt.Sprintf("00-%x-%x-01", sending.GetTraceId(), sending.GetParentSpanId()); got != parents["o-own"] {
		t.Errorf("the request was sent in %s, want %s", got, parents["o-own"])
	}
}

// sendWithParent sends a message as another program does.
func sendWithParent(t *testing.T, env *ratchettest.Env, body, parent string) {
	t.Helper()

	queue, err := env.Backend.SQS.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("requests")})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := env.Backend.SQS.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl:    queue.QueueUrl,
		MessageBody: &body,
		MessageAttributes: map[string]types.MessageAttributeValue{
			"traceparent": {DataType: aws.String("String"), StringValue: &parent},
		},
	}); err != nil {
		t.Fatal(err)
	}
}

// handleInFunction handles a message as a function behind an event source mapping does.
func handleInFunction(t *testing.T, env *ratchettest.Env, body, parent string) {
	t.Helper()

	handler, err := requests.New(requests.Config{Orders: env.Backend.Orders})
	if err != nil {
		t.Fatal(err)
	}

	function, err := queues.NewLambda(queues.LambdaConfig{Handler: handler.Handle})
	if err != nil {
		t.Fatal(err)
	}

	event, err := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"messageId":         "m-1",
		"body":              body,
		"messageAttributes": map[string]any{"traceparent": map[string]string{"dataType": "String", "stringValue": parent}},
	}}})
	if err != nil {
		t.Fatal(err)
	}

	if answer, err := function.Handle(t.Context(), event); err != nil || len(answer.Failures) > 0 {
		t.Fatal(answer, err)
	}
}
