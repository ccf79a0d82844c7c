package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// event is a Lambda event with one message per text "group:body"; a plain body has no
// group.
func event(t *testing.T, queue string, texts ...string) json.RawMessage {
	t.Helper()
	type record map[string]any
	var records []record
	for i, text := range texts {
		attributes := map[string]string{"ApproximateReceiveCount": "2", "SentTimestamp": "1790000000123"}
		group, body, grouped := strings.Cut(text, ":")
		if grouped {
			attributes["MessageGroupId"], attributes["MessageDeduplicationId"] = group, fmt.Sprint("d", i)
		} else {
			body = text
		}
		records = append(records, record{"messageId": fmt.Sprint("m", i), "receiptHandle": fmt.Sprint("r", i), "body": body, "attributes": attributes,
			"messageAttributes": map[string]any{"n": map[string]any{"stringValue": "7", "dataType": "Number"}, "b": map[string]any{"binaryValue": []byte{1, 2}, "dataType": "Binary"}},
			"eventSource":       "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:" + queue, "awsRegion": "us-east-1"})
	}
	raw, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func failed(r BatchResponse) string {
	var ids []string
	for _, f := range r.Failures {
		ids = append(ids, f.ItemIdentifier)
	}
	return strings.Join(ids, " ")
}

// answers is a handler that answers by body, and notes what it was called with.
type answers struct {
	mu   sync.Mutex
	seen []string
}

func (a *answers) handle(_ context.Context, m Message) Outcome {
	a.mu.Lock()
	a.seen = append(a.seen, m.Body)
	a.mu.Unlock()
	switch m.Body {
	case "retry":
		return Retry(0, errors.New("later"))
	case "busy":
		return InProgress(time.Minute)
	case "reject":
		return Reject(errors.New("never"))
	case "panic":
		panic("handler")
	case "exit":
		runtime.Goexit()
	case "forgot":
		return Outcome{}
	}
	return Done()
}

func TestABatchReportsWhatIsNotDone(t *testing.T) {
	for _, c := range []struct {
		name, queue string
		bodies      []string
		failed      string
		calls       int
	}{
		{"all done", "q", []string{"a", "b", "c"}, "", 3},
		{"each outcome but done is reported", "q", []string{"a", "retry", "busy", "reject", "b"}, "m1 m2 m3", 5},
		{"a panic, an exit and no answer are reported, and nothing else", "q", []string{"panic", "a", "exit", "b", "forgot"}, "m0 m2 m4", 5},
		{"a group of a FIFO queue stops behind a failure, other groups go on", "q.fifo", []string{"g:a", "h:b", "g:retry", "g:c", "h:d", "g:e"}, "m2 m3 m5", 4},
		{"a standard queue's groups keep no order", "q", []string{"g:a", "g:retry", "g:c"}, "m1", 3},
		{"an empty batch", "q", nil, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a answers
			out, err := Lambda{Handler: a.handle, Concurrency: 2}.Handle(t.Context(), event(t, c.queue, c.bodies...))
			if err != nil {
				t.Fatal(err)
			}
			if got := failed(out); got != c.failed || len(a.seen) != c.calls {
				t.Errorf("failed %q, want %q; %d calls, want %d", got, c.failed, len(a.seen), c.calls)
			}
			if raw, err := json.Marshal(out); err != nil || !strings.HasPrefix(string(raw), `{"batchItemFailures":[`) {
				t.Errorf("response %s, %v", raw, err) // null would fail the whole batch
			}
		})
	}
}

func TestAMessageIsReadFromTheEvent(t *testing.T) {
	var got Message
	h := func(_ context.Context, m Message) Outcome { got = m; return Done() }
	if _, err := (Lambda{Handler: h}).Handle(t.Context(), event(t, "orders.fifo", "g:hello")); err != nil {
		t.Fatal(err)
	}
	if got.ID != "m0" || got.Body != "hello" || got.Queue != "orders.fifo" || !got.FIFO() || got.GroupID != "g" || got.DeduplicationID != "d0" ||
		got.Receives != 2 || got.SentAt.UnixMilli() != 1790000000123 || got.Attributes["n"].Text != "7" || !slices.Equal(got.Attributes["b"].Binary, []byte{1, 2}) {
		t.Errorf("message %+v", got)
	}
	if got.String() != "orders.fifo/m0" {
		t.Errorf("named %s", got)
	}
}

// TestATimeOutReportsOnlyTheRest: a function that runs out of time reports the records
// that are not done, before it is killed; 1..k are not run again.
func TestATimeOutReportsOnlyTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var cause error
		h := func(ctx context.Context, m Message) Outcome {
			if m.Body == "slow" {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return Retry(0, cause)
			}
			return Done()
		}
		out, err := Lambda{Handler: h, Concurrency: 1}.Handle(ctx, event(t, "q", "a", "b", "slow", "c", "d"))
		if err != nil || failed(out) != "m2 m3 m4" {
			t.Errorf("failed %q, %v", failed(out), err)
		}
		if ctx.Err() != nil || !errors.Is(cause, ErrStopped) {
			t.Errorf("answered after the deadline, or the handler was told %v", cause)
		}
	})
}

func TestAHandlerThatTakesTooLongIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		h := func(ctx context.Context, _ Message) Outcome {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return Outcome{}
		}
		out, err := Lambda{Handler: h}.Handle(t.Context(), event(t, "q", "a"))
		if err != nil || failed(out) != "m0" || !errors.Is(cause, ErrTimeout) {
			t.Errorf("failed %q, %v, cause %v", failed(out), err, cause)
		}
	})
}

func TestMiddlewareStandsAroundTheHandler(t *testing.T) {
	var order []string
	around := func(name string) Middleware {
		return func(next Handler) Handler {
			return func(ctx context.Context, m Message) Outcome {
				order = append(order, name)
				return next(ctx, m)
			}
		}
	}
	var a answers
	if _, err := (Lambda{Handler: a.handle, Middleware: []Middleware{around("outer"), around("inner")}}).Handle(t.Context(), event(t, "q", "a")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(order, []string{"outer", "inner"}) {
		t.Errorf("order %v", order)
	}
}

func TestALambdaThatIsNotSetUpIsRefused(t *testing.T) {
	h := (&answers{}).handle
	for name, l := range map[string]Lambda{
		"no handler":                  {},
		"a URL without a client":      {Handler: h, QueueURL: "http://q"},
		"dead letters without client": {Handler: h, DeadLetterURL: "http://d"},
		"a pause that shrinks":        {Handler: h, Backoff: Backoff{Base: time.Hour, Max: time.Minute}},
	} {
		if _, err := l.Handle(t.Context(), event(t, "q", "a")); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, bad := range []string{``, `{"Records":1}`, `{"Records":[{}]}`} {
		if _, err := (Lambda{Handler: h}).Handle(t.Context(), json.RawMessage(bad)); err == nil {
			t.Errorf("event %q was read", bad)
		}
	}
}

// FuzzEvent: no event makes the decoder panic, and a message that is read has an ID.
func FuzzEvent(f *testing.F) {
	f.Add(`{"Records":[{"messageId":"m","body":"b","attributes":{"ApproximateReceiveCount":"1"},"messageAttributes":{"x":{"stringValue":"1","dataType":"Number"}},"eventSourceARN":"arn:aws:sqs:us-east-1:1:q.fifo"}]}`)
	f.Add(`{"Records":[{"messageId":"m","messageAttributes":{"x":{"binaryValue":"AQ=="}}}]}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, text string) {
		ms, err := decodeEvent(json.RawMessage(text))
		for _, m := range ms {
			if m.ID == "" || err != nil {
				t.Fatalf("%+v, %v", m, err)
			}
		}
	})
}
