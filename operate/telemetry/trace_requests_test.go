package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"ratchet/operate/telemetry"
	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/transitions"
)

const requestBody = `{"orderId":"o-1","event":"cancel","requestId":"r-1"}`

// TestAMessageThatIsReceivedAgainIsLinkedToItsFirstReceive: also by another process, and in the
// sender's trace, whether the message has it as an attribute or in its body. Each receive is a span
// of its own.
func TestAMessageThatIsReceivedAgainIsLinkedToItsFirstReceive(t *testing.T) {
	attribute := map[string]queues.Attribute{queues.AttributeTrace: {Type: "String", Text: traceparent}}

	for _, row := range []struct {
		name    string
		message queues.Message
	}{
		{"in the attribute", queues.Message{ID: "m-1", Queue: "requests", Body: requestBody, Attributes: attribute}},
		{"of a message that cannot be read", queues.Message{ID: "m-1", Queue: "requests", Body: "{", Attributes: attribute}},
		{"in the body", queues.Message{ID: "m-1", Queue: "requests", Body: strings.Replace(requestBody, "{", `{"cause":{"trace":"`+traceparent+`"},`, 1)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			far := startReceiver(t, nil)

			for receive := 1; receive <= 3; receive++ {
				tracing := trace(t, newTelemetry(t), far.url) // of another process
				row.message.Receives = receive

				handle := tracing.Requests(requests.Decode)(func(ctx context.Context, _ queues.Message) queues.Outcome {
					if parent := telemetry.Traceparent(ctx); !strings.HasPrefix(parent, traceparent[:36]) || parent == traceparent {
						t.Errorf("the handler has the trace %q", parent)
					}

					return queues.Retry(0, errors.New("fails"))
				})
				handle(t.Context(), row.message)
				tracing.Close()
			}

			all := far.named("process requests")
			if len(all) != 3 || len(all[0].GetLinks()) != 0 {
				t.Fatalf("%d receives: %v", len(all), all)
			}

			ids := map[string]bool{}
			for i, span := range all {
				ids[string(span.GetSpanId())] = true

				if links := span.GetLinks(); i > 0 && (len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), all[0].GetSpanId())) {
					t.Errorf("receive %d has the links %v, want one to %x", i+1, links, all[0].GetSpanId())
				}
			}

			if len(ids) != 3 {
				t.Errorf("the receives have %d ids", len(ids))
			}
		})
	}
}

// TestAMessageWithoutATraceHasNoLinks: nothing tells the span of its first receive. This includes
// messages that cannot be read.
func TestAMessageWithoutATraceHasNoLinks(t *testing.T) {
	far := startReceiver(t, nil)
	tracing := trace(t, newTelemetry(t), far.url)

	refuse := tracing.Requests(requests.Decode)(func(context.Context, queues.Message) queues.Outcome {
		return queues.Reject(&requests.VerdictError{Result: transitions.Result{Verdict: transitions.WrongState}})
	})

	for _, body := range []string{requestBody, requestBody, "{"} {
		refuse(t.Context(), queues.Message{ID: "m-1", Queue: "requests", Body: body, Receives: 2})
	}
	tracing.Close()

	all := far.named("process requests")
	if len(all) != 3 || bytes.Equal(all[0].GetTraceId(), all[1].GetTraceId()) {
		t.Fatalf("%d receives: %v", len(all), all)
	}

	for i, span := range all {
		if len(span.GetLinks()) != 0 || !strings.Contains(span.String(), `"_OTHER"`) {
			t.Errorf("%v", span)
		}

		if of := strings.Contains(span.String(), `"ratchet.order.id"`); of != (i < 2) {
			t.Errorf("receive %d: the span names an order: %t", i+1, of)
		}
	}
}

// TestAMalformedTraceOfAMessageIsLeftOut: the span begins a trace and has no attribute with the
// malformed text; if the body has a trace, that trace counts.
func TestAMalformedTraceOfAMessageIsLeftOut(t *testing.T) {
	far := startReceiver(t, nil)
	tracing := trace(t, newTelemetry(t), far.url)
	handle := tracing.Requests(requests.Decode)(func(context.Context, queues.Message) queues.Outcome { return queues.Done() })

	malformed := []string{
		strings.Repeat("mallory", 1<<15), traceparent + "-mallory", "00-" + strings.Repeat("0", 32) + traceparent[35:], traceparent[:36] + strings.Repeat("0", 16) + "-01",
		strings.ToUpper(traceparent), "ff" + traceparent[2:],
	}
	bodies := []string{requestBody, strings.Replace(requestBody, "{", `{"cause":{"trace":"`+traceparent+`","actor":"mallory","text":"mallory"},`, 1)}

	for _, text := range malformed {
		for _, body := range bodies {
			handle(t.Context(), queues.Message{ID: "m-1", Body: body, Receives: 2, Attributes: map[string]queues.Attribute{queues.AttributeTrace: {Type: "String", Text: text}}})
		}
	}
	tracing.Close()

	all := far.named("process requests")
	if len(all) != 2*len(malformed) {
		t.Fatalf("%d receives", len(all))
	}

	ofBody, err := hex.DecodeString(traceparent[3:35])
	if err != nil {
		t.Fatal(err)
	}

	for i, span := range all {
		if continues := bytes.Equal(span.GetTraceId(), ofBody); continues != (i%2 == 1) || len(span.GetLinks()) != i%2 || strings.Contains(span.String(), "mallory") {
			t.Errorf("receive %d: %v", i, span)
		}
	}
}

func TestWithoutTracingAHandlerOfRequestsStaysAsItIs(t *testing.T) {
	t.Parallel()

	var none *telemetry.Tracing

	called := false
	none.Requests(requests.Decode)(func(context.Context, queues.Message) queues.Outcome {
		called = true
		return queues.Done()
	})(t.Context(), queues.Message{})

	if !called {
		t.Error("the handler was not called")
	}
}
