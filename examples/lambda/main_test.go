package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams/deadletters"
	"ratchet/streams/store"
)

const event = `{"Records":[
 {"eventName":"REMOVE","eventSourceARN":"arn:aws:dynamodb:r:1:table/things/stream/L","dynamodb":{"SequenceNumber":"1","Keys":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"}}}},
 {"eventName":"MODIFY","eventSourceARN":"arn:aws:dynamodb:r:1:table/things/stream/L","dynamodb":{"SequenceNumber":"2","Keys":{"id":{"S":"b"}}}}]}`

// TestTheFunctionAnswersTheRuntime plays Lambda: it sends one batch of a stream, and one event that
// is no batch.
func TestTheFunctionAnswersTheRuntime(t *testing.T) {
	db := embeddedtest.DynamoDB(t, deadletters.TableInput("letters"))
	var out bytes.Buffer

	handlers, err := newHandlers(db, "letters", log.New(&out, "", 0))
	if err != nil {
		t.Fatal(err)
	}

	events, answers := []string{event, "[]"}, map[string]string{}
	lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/next") {
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request")
			_, _ = io.WriteString(w, events[0])
			events = events[1:]

			return
		}

		body, _ := io.ReadAll(r.Body)
		answers[r.URL.Path[strings.LastIndex(r.URL.Path, "/"):]] = string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer lambda.Close()

	runtime := &runtime{api: strings.TrimPrefix(lambda.URL, "http://")}
	for range 2 {
		if err := runtime.serveOne(t.Context(), handlers); err != nil {
			t.Fatal(err)
		}
	}

	if answers["/response"] != `{"batchItemFailures":[]}` || !strings.Contains(answers["/error"], "read the batch") {
		t.Errorf("answers %q", answers)
	}

	if !strings.Contains(out.String(), "removed: ") || !strings.Contains(out.String(), "copied ") {
		t.Errorf("log %q", out.String())
	}

	letters, _, err := deadletters.Letters{DynamoDB: db, Table: "letters"}.List(t.Context(), "copies", "", 0)
	if err != nil || len(letters) != 1 || !strings.Contains(letters[0].Error, "has no image") {
		t.Errorf("dead letters %+v, %v", letters, err)
	}
}

// TestTheTemplateReportsPartialFailures: without it, Lambda repeats whole batches.
func TestTheTemplateReportsPartialFailures(t *testing.T) {
	text, err := os.ReadFile("template.yaml")
	if err != nil {
		t.Fatal(err)
	}

	for _, line := range []string{"- ReportBatchItemFailures", "StartingPosition: TRIM_HORIZON", "StreamViewType: NEW_AND_OLD_IMAGES", "AttributeName: " + store.Expiry} {
		if !bytes.Contains(text, []byte(line)) {
			t.Errorf("template.yaml lacks %q", line)
		}
	}
}
