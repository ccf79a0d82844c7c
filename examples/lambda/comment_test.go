package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"lambda": main}) }

// TestTheCommentSaysWhatHappens plays AWS Lambda: the program cannot be started alone, it takes its work from
// Lambda's runtime API, and Lambda ends it by SIGKILL.
func TestTheCommentSaysWhatHappens(t *testing.T) {
	const event = `{"Records":[{"eventName":"REMOVE","eventSourceARN":"arn:aws:dynamodb:r:1:table/things/stream/L",
		"dynamodb":{"SequenceNumber":"1","Keys":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"}}}}]}`

	answers := make(chan string, 1)

	var asked atomic.Bool
	runtime := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			answers <- r.URL.Path + " " + string(body)
			w.WriteHeader(http.StatusAccepted)
		case !asked.CompareAndSwap(false, true):
			<-r.Context().Done() // no more work
		default:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request-1")
			_, _ = io.WriteString(w, event)
		}
	}))
	defer runtime.Close()

	e := examples.New(t, "lambda")
	function := e.Serve(t, "lambda", "", "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(runtime.URL, "http://"),
		"DEAD_LETTER_TABLE=letters", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x")

	select {
	case answer := <-answers:
		if answer != `/2018-06-01/runtime/invocation/request-1/response {"batchItemFailures":[]}` {
			t.Errorf("the function answered %s", answer)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the function has not answered")
	}
	function.Kill(t)

	if log, err := os.ReadFile(function.Log()); err != nil || !strings.Contains(string(log), "removed: ") {
		t.Errorf("the function printed %s, %v", log, err)
	}
}
