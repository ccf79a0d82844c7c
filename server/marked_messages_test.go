package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/queues"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/tests/shop"
	"ratchet/workflow"
)

var messageMark = regexp.MustCompile(`MARKED-[0-9]+x`)

// shownOfMessages are the members of a request that a log may show: an id and names, in which no secret may be
// (docs/guides/api.md).
var shownOfMessages = []string{"orderId", "event", "from", "requestId", "actor", "code"}

// markedMessages returns bodies of messages with a mark in one place each: valid, of a wrong type, twice, and cut short; and
// which member has the mark.
func markedMessages() (bodies map[string]string) {
	bodies = map[string]string{}
	add := func(member string, body map[string]any, breaks func(text string) string) {
		text, _ := json.Marshal(body)
		mark := fmt.Sprintf("MARKED-%dx", len(bodies))

		bodies[mark] = member + " " + breaks(strings.ReplaceAll(string(text), "MARK", mark))
	}
	whole := func(text string) string { return text }
	short := func(text string) string { return text[:len(text)-1] }
	twice := func(text string) string { return text[:len(text)-1] + "," + text[1:] }

	for _, member := range []string{"orderId", "event", "from", "transitionId", "requestId", "ifMatch", "values", "own", "at", "format", "unknown", "MARK", "cause/code", "cause/text", "cause/actor", "cause/source", "cause/trace"} {
		for _, value := range []any{"MARK", []any{"MARK"}, map[string]any{"MARK": "MARK"}, map[string]any{"set": map[string]any{"MARK": map[string]any{"S": "MARK"}}}, strings.Repeat("MARK", 200)} {
			for _, breaks := range []func(string) string{whole, short, twice} {
				// Refused for good: the order is past what the event needs.
				body := map[string]any{"orderId": "o-1", "event": "ship", "requestId": "r"}
				if outer, inner, nested := strings.Cut(member, "/"); nested {
					body[outer] = map[string]any{inner: value}
				} else {
					body[member] = value
				}
				add(member[strings.LastIndex(member, "/")+1:], body, breaks)
			}
		}
	}

	return bodies
}

// TestNoMessageIsLogged sends messages to the requests' queue with a mark in each member, in attributes and around the JSON.
// Neither the log at its lowest level, nor what is exported, nor the reason of a dead letter shows a mark, but for ids.
func TestNoMessageIsLogged(t *testing.T) {
	for _, queue := range []string{"requests", "requests.fifo"} {
		t.Run(queue, func(t *testing.T) { noMessageIsLogged(t, queue) })
	}
}

func noMessageIsLogged(t *testing.T, queue string) {
	w := &written{texts: map[string]*bytes.Buffer{}}
	log := slog.New(slog.NewMultiHandler(
		slog.NewTextHandler(w.to("text"), &slog.HandlerOptions{Level: slog.LevelDebug}),
		slog.NewJSONHandler(w.to("json"), &slog.HandlerOptions{Level: slog.LevelDebug})))

	bodies := markedMessages()

	// The last cleanup: what is written at the end is searched, too.
	t.Cleanup(func() {
		for place, text := range w.texts {
			for line := range strings.Lines(text.String()) {
				for _, mark := range messageMark.FindAllString(line, -1) {
					if member, _, _ := strings.Cut(bodies[mark], " "); place != "asked" && !slices.Contains(shownOfMessages, member) {
						t.Errorf("%s shows %s: %.300q", place, member, line[max(strings.Index(line, mark)-200, 0):])
					}
				}
			}
		}

		for _, place := range []string{"text", "json", "reasons", "/otlp/v1/traces", "/otlp/v1/logs"} {
			if w.texts[place] == nil {
				t.Errorf("nothing was written to %s", place)
			}
		}
	})

	env := ratchettest.Start(t, ratchettest.Config{Log: log, Server: server.Config{RequestsQueue: queue, Tracing: server.TracingConfig{Endpoint: w.farSides(t) + "/otlp"}}})
	b := env.Backend

	if _, err := b.Orders.Create(t.Context(), shop.Mugs("o-1", 1)); err != nil {
		t.Fatal(err)
	}
	env.Move("o-1", workflow.Cancel)

	url, err := b.SQS.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		t.Fatal(err)
	}

	n := 0
	send := func(body string, attributes map[string]types.MessageAttributeValue) {
		n++

		in := &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: &body, MessageAttributes: attributes}
		if strings.HasSuffix(queue, ".fifo") {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String(fmt.Sprint("g-", n)), aws.String(fmt.Sprint("d-", n))
		}

		if _, err := b.SQS.SendMessage(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}

	for _, text := range bodies {
		_, body, _ := strings.Cut(text, " ")
		send(body, nil)
	}

	for _, body := range []string{"%s", `"%s"`, `["%s"]`, `{"%s"`, `{"orderId":"o-1","event":"ship","requestId":"r"} %s`} {
		mark := fmt.Sprintf("MARKED-%dx", len(bodies))
		bodies[mark] = "around "
		send(fmt.Sprintf(body, mark), nil)
	}

	for _, name := range []string{queues.AttributeTrace, "tracestate", "baggage", "other"} {
		mark := fmt.Sprintf("MARKED-%dx", len(bodies))
		bodies[mark] = "attribute "
		send(`{"orderId":"o-1","event":"ship","requestId":"r"}`, map[string]types.MessageAttributeValue{name: {DataType: aws.String("String"), StringValue: &mark}})
	}

	dead, err := b.SQS.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String(strings.TrimSuffix(queue, ".fifo") + "-dead-letters" + strings.TrimPrefix(queue, "requests"))})
	if err != nil {
		t.Fatal(err)
	}

	// Most are refused. Requests for an order that may still come wait, and a repeat is done.
	letters := 0
	for letters < n/2 {
		out, err := b.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: dead.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"}})
		if err != nil || len(out.Messages) == 0 {
			t.Fatalf("%d dead letters of %d messages: %v", letters, n, err)
		}

		for _, m := range out.Messages {
			letters++
			w.add("reasons", []byte(aws.ToString(m.MessageAttributes[queues.AttributeReason].StringValue)))

			if _, err := b.SQS.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: dead.QueueUrl, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
	}

	t.Logf("%d messages, %d dead letters at least", n, letters)
}
