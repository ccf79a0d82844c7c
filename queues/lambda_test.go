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

	"github.com/aws/aws-sdk-go-v2/service/sqs"
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

func newLambda(t *testing.T, cfg LambdaConfig) *Lambda {
	t.Helper()

	l, err := NewLambda(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return l
}

// answers is a handler that answers by body, and notes the messages of its calls.
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
		{name: "all done", queue: "q", bodies: []string{"a", "b", "c"}, failed: "", calls: 3},
		{name: "each outcome but done is reported", queue: "q", bodies: []string{"a", "retry", "busy", "reject", "b"}, failed: "m1 m2 m3", calls: 5},
		{name: "a panic, an exit and no answer are reported, and nothing else", queue: "q", bodies: []string{"panic", "a", "exit", "b", "forgot"}, failed: "m0 m2 m4", calls: 5},
		{name: "a group of a FIFO queue stops behind a failure, other groups go on", queue: "q.fifo", bodies: []string{"g:a", "h:b", "g:retry", "g:c", "h:d", "g:e"}, failed: "m2 m3 m5", calls: 4},
		{name: "a standard queue's groups keep no order", queue: "q", bodies: []string{"g:a", "g:retry", "g:c"}, failed: "m1", calls: 3},
		{name: "an empty batch", queue: "q", bodies: nil, failed: "", calls: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a answers

			out, err := newLambda(t, LambdaConfig{Handler: a.handle, Concurrency: 2}).Handle(t.Context(), event(t, c.queue, c.bodies...))
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
	if _, err := newLambda(t, LambdaConfig{Handler: h}).Handle(t.Context(), event(t, "orders.fifo", "g:hello")); err != nil {
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

		out, err := newLambda(t, LambdaConfig{Handler: h, Concurrency: 1}).Handle(ctx, event(t, "q", "a", "b", "slow", "c", "d"))
		if err != nil || failed(out) != "m2 m3 m4" {
			t.Errorf("failed %q, %v", failed(out), err)
		}

		if ctx.Err() != nil || !errors.Is(cause, ErrStopped) {
			t.Errorf("answered after the deadline, or the handler got the cause %v", cause)
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

		out, err := newLambda(t, LambdaConfig{Handler: h}).Handle(t.Context(), event(t, "q", "a"))
		if err != nil || failed(out) != "m0" || !errors.Is(cause, ErrTimeout) {
			t.Errorf("failed %q, %v, cause %v", failed(out), err, cause)
		}
	})
}

// received is a Lambda event with what a receive of the queue brings.
func (q *queuePair) received() json.RawMessage {
	q.t.Helper()

	out, err := q.api.ReceiveMessage(q.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: 10, MessageSystemAttributeNames: allSystem})
	if err != nil {
		q.t.Fatal(err)
	}

	var records []map[string]any
	for _, m := range out.Messages {
		records = append(records, map[string]any{"messageId": m.MessageId, "receiptHandle": m.ReceiptHandle, "body": m.Body, "attributes": m.Attributes,
			"eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:" + q.url[strings.LastIndexByte(q.url, '/')+1:]})
	}

	return mustJSON(map[string]any{"Records": records})
}

// TestAFunctionThatIsKilledRepeatsNothingThatWasDone: with a client each message is
// deleted as soon as it is done, before the batch is reported.
func TestAFunctionThatIsKilledRepeatsNothingThatWasDone(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		q.send("g:1", "g:2", "g:3")
		event := q.received()
		killed := make(chan struct{})
		l := newLambda(t, LambdaConfig{SQS: q.api, QueueURL: q.url, Handler: func(_ context.Context, m Message) Outcome {
			if m.Body == "3" {
				<-killed // ignores its context
			}
			return Done()
		}})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = l.Handle(t.Context(), event)
		}()
		synctest.Wait()
		q.expect("1 and 2 are gone while 3 hangs", "0+1 0+0")
		close(killed)
		<-ended
	})
}

func TestALambdaWithAClientDisposesOfEachMessageAtOnce(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("ok", "retry", "busy", "reject")
		l := newLambda(t, LambdaConfig{SQS: q.api, QueueURL: q.url, DeadLetterURL: q.dead, Attempts: 2, Handler: func(_ context.Context, m Message) Outcome {
			switch m.Body {
			case "retry":
				return Retry(5*time.Second, errors.New("later"))
			case "busy":
				return InProgress(time.Minute)
			case "reject":
				return Reject(errors.New("never"))
			}

			return Done()
		}})

		out, err := l.Handle(t.Context(), q.received())
		if err != nil || len(out.Failures) != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		q.expect("one dead letter, two to come again", "0+2 1+0")
		time.Sleep(5 * time.Second)
		q.expect("the retry after its pause", "1+1 1+0")

		if out, err = l.Handle(t.Context(), q.received()); err != nil || len(out.Failures) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
		q.expect("given up after two attempts", "0+1 2+0")
		time.Sleep(55 * time.Second)
		q.expect("work in progress when the lease is over", "1+0 2+0")
	})
}

// TestALambdaHoldsUpAGroupNoLongerThanItsFirstFailure: the messages behind it that were not begun are
// given back.
func TestALambdaHoldsUpAGroupNoLongerThanItsFirstFailure(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		q.send("g:1", "g:2", "g:3")

		l := newLambda(t, LambdaConfig{SQS: q.api, QueueURL: q.url, Handler: func(_ context.Context, m Message) Outcome {
			if m.Body == "2" {
				return Retry(5*time.Second, nil)
			}
			return Done()
		}})
		if out, err := l.Handle(t.Context(), q.received()); err != nil || len(out.Failures) != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		q.expect("2 waits, 3 behind it", "1+1 0+0")
		time.Sleep(5 * time.Second)

		if out, err := l.Handle(t.Context(), q.received()); err != nil || len(out.Failures) != 2 {
			t.Errorf("%+v, %v: want both again, in order", out, err)
		}
	})
}

func TestMiddlewareWrapsTheHandlerTheFirstOutermost(t *testing.T) {
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
	if _, err := newLambda(t, LambdaConfig{Handler: a.handle, Middleware: []Middleware{around("outer"), around("inner")}}).Handle(t.Context(), event(t, "q", "a")); err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(order, []string{"outer", "inner"}) {
		t.Errorf("order %v", order)
	}
}

func TestALambdaThatIsNotConfiguredIsRefused(t *testing.T) {
	h := (&answers{}).handle
	for name, cfg := range map[string]LambdaConfig{
		"no handler":                  {},
		"a URL without a client":      {Handler: h, QueueURL: "http://q"},
		"dead letters without client": {Handler: h, DeadLetterURL: "http://d"},
		"a pause that shrinks":        {Handler: h, Backoff: Backoff{Base: time.Hour, Max: time.Minute}},
	} {
		if _, err := NewLambda(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}

	for _, bad := range []string{``, `{"Records":1}`, `{"Records":[{}]}`} {
		if _, err := newLambda(t, LambdaConfig{Handler: h}).Handle(t.Context(), json.RawMessage(bad)); err == nil {
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

// A handler that the function's deadline cuts short has not failed.
func TestADeadlineOfAFunctionCostsNoAttempt(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("slow")
		l := newLambda(t, LambdaConfig{SQS: q.api, QueueURL: q.url, DeadLetterURL: q.dead, Attempts: 1, Margin: 4 * time.Second, Handler: func(ctx context.Context, _ Message) Outcome {
			<-ctx.Done()
			return Retry(time.Minute, ctx.Err())
		}})

		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)

			if out, err := l.Handle(ctx, q.received()); err != nil || len(out.Failures) != 1 {
				t.Errorf("%+v, %v", out, err)
			}
			cancel()
			q.expect("it comes again at once", "1+0 0+0")
		}

		// The handler's own time limit counts.
		l.cfg.Timeout = time.Second
		if out, err := l.Handle(t.Context(), q.received()); err != nil || len(out.Failures) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
		q.expect("given up", "0+0 1+0")
	})
}

func TestTheTimesOfALambdaAreNotNegative(t *testing.T) {
	for _, cfg := range []LambdaConfig{{Timeout: -1}, {Margin: -1}} {
		cfg.Handler = func(context.Context, Message) Outcome { return Done() }
		if _, err := NewLambda(cfg); err == nil {
			t.Errorf("%+v", cfg)
		}
	}
}
