package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/queues"
	"ratchet/queues/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClaims(t *testing.T, change ...func(*once.Config)) *once.Claims {
	t.Helper()

	cfg := once.Config{DynamoDB: embeddedtest.DynamoDB(t, once.TableInput("once")), Table: "once", Operation: "charge"}
	for _, c := range change {
		c(&cfg)
	}

	claims, err := once.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return claims
}

// handle is a handler under claims that returns a preset outcome and counts its calls.
type handle struct {
	queues.Handler
	calls []string
	mu    sync.Mutex
	do    func(context.Context, queues.Message) queues.Outcome
}

func newHandle(t *testing.T, cfg events.Config) *handle {
	t.Helper()
	h := &handle{do: func(context.Context, queues.Message) queues.Outcome { return queues.Done() }}

	wrap, err := events.Messages(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Handler = wrap(func(ctx context.Context, m queues.Message) queues.Outcome {
		h.mu.Lock()
		h.calls = append(h.calls, m.ID)
		h.mu.Unlock()
		return h.do(ctx, m)
	})

	return h
}

func message(id string) queues.Message {
	return queues.Message{ID: id, Body: "body", Queue: "charges", Receives: 1}
}

func TestPoint45_TheOutcomeOfTheClaimDecidesAboutTheMessage(t *testing.T) {
	claims := newClaims(t)
	h := newHandle(t, events.Config{Claims: claims})
	want := func(m queues.Message, kind queues.Kind, calls int) queues.Outcome {
		t.Helper()

		out := h.Handler(t.Context(), m)
		if out.Kind != kind || len(h.calls) != calls {
			t.Errorf("%s: %s (%v), %d calls; want %s, %d", m.ID, out.Kind, out.Err, len(h.calls), kind, calls)
		}

		return out
	}
	want(message("done"), queues.KindDone, 1)
	want(message("done"), queues.KindDone, 1) // replayed: acknowledged

	h.do = func(context.Context, queues.Message) queues.Outcome {
		return queues.Retry(7*time.Second, errors.New("busy"))
	}

	if out := want(message("retry"), queues.KindRetry, 2); out.After != 7*time.Second {
		t.Errorf("the handler's own retry time: %s", out.After)
	}
	want(message("retry"), queues.KindRetry, 3)

	h.do = func(context.Context, queues.Message) queues.Outcome {
		return queues.Reject(errors.New("no such account"))
	}
	want(message("reject"), queues.KindReject, 4)

	if out := want(message("reject"), queues.KindReject, 4); out.Err.Error() == "" {
		t.Errorf("the stored reason: %v", out.Err)
	}
	other := message("done")
	other.Body = "another"
	want(other, queues.KindReject, 4)

	started, finish := make(chan struct{}), make(chan struct{})
	h.do = func(context.Context, queues.Message) queues.Outcome { close(started); <-finish; return queues.Done() }
	var group sync.WaitGroup
	group.Go(func() { h.Handler(t.Context(), message("held")) })
	<-started

	if out := want(message("held"), queues.KindInProgress, 5); out.After < 4*time.Minute || out.After > 6*time.Minute {
		t.Errorf("the message must be hidden for the rest of the lease: %s", out.After)
	}
	close(finish)
	group.Wait()

	unknown := newHandle(t, events.Config{Claims: newClaims(t, func(c *once.Config) { c.ExpiredIsUnknown = true })})
	unknown.do = func(context.Context, queues.Message) queues.Outcome { panic("killed") }
	func() {
		defer func() { _ = recover() }()
		unknown.Handler(t.Context(), message("panic"))
	}()

	if out := unknown.Handler(t.Context(), message("panic")); out.Kind != queues.KindInProgress || len(unknown.calls) != 1 {
		t.Errorf("an unknown outcome must not be repeated: %s, %d calls", out.Kind, len(unknown.calls))
	}
}

// TestPoint45_ARedeliveredBatchRepeatsNothing kills a function behind message k.
func TestPoint45_ARedeliveredBatchRepeatsNothing(t *testing.T) {
	h := newHandle(t, events.Config{Claims: newClaims(t)})

	var batch struct{ Records []map[string]any }
	for i := range 10 {
		batch.Records = append(batch.Records, map[string]any{"messageId": fmt.Sprint(i), "body": "b", "eventSource": "aws:sqs",
			"eventSourceARN": "arn:aws:sqs:eu-central-1:1:charges", "receiptHandle": "r", "attributes": map[string]string{"ApproximateReceiveCount": "1"}})
	}

	event, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}

	mapping, err := queues.NewLambda(queues.LambdaConfig{Handler: h.Handler, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}

	ctx, kill := context.WithCancel(t.Context())
	h.do = func(ctx context.Context, m queues.Message) queues.Outcome {
		if m.ID == "5" {
			kill()
			return queues.Retry(0, ctx.Err())
		}

		return queues.Done()
	}

	first, err := mapping.Handle(ctx, event)
	if err != nil {
		t.Fatal(err)
	}

	done := 10 - len(first.Failures)
	if done < 5 {
		t.Fatalf("%d were done", done)
	}
	h.calls, h.do = nil, func(context.Context, queues.Message) queues.Outcome { return queues.Done() }

	second, err := mapping.Handle(t.Context(), event)
	if err != nil || len(second.Failures) != 0 {
		t.Errorf("%+v, %v", second, err)
	}

	for i := range 5 {
		if slices.Contains(h.calls, fmt.Sprint(i)) {
			t.Errorf("message %d ran again", i)
		}
	}

	if !slices.Contains(h.calls, "5") {
		t.Errorf("message 5 was not done: %v", h.calls)
	}
}

func TestTheSendersIDComesBeforeTheMessagesID(t *testing.T) {
	h := newHandle(t, events.Config{Claims: newClaims(t)})
	for _, id := range []string{"a", "b"} {
		m := message(id)
		m.Queue, m.GroupID, m.DeduplicationID = "charges.fifo", "g", "d"
		if out := h.Handler(t.Context(), m); out.Kind != queues.KindDone {
			t.Errorf("%s: %s", id, out.Kind)
		}
	}

	if len(h.calls) != 1 {
		t.Errorf("calls %v", h.calls)
	}

	bad := newHandle(t, events.Config{Claims: newClaims(t), Key: func(queues.Message) (string, error) { return "", errors.New("no key") }})
	if out := bad.Handler(t.Context(), message("m")); out.Kind != queues.KindReject || len(bad.calls) != 0 {
		t.Errorf("a message without a key: %s", out.Kind)
	}

	if _, err := events.Messages(events.Config{}); err == nil {
		t.Error("a configuration without claims is accepted")
	}
}

func TestAFunctionReturnsTheStoredResult(t *testing.T) {
	calls := 0

	fn, err := events.Function(events.FunctionConfig{
		Claims: newClaims(t, func(c *once.Config) { c.PayloadJSON = true }),
		Key: func(event json.RawMessage) (string, error) {
			var e struct{ ID string }
			err := json.Unmarshal(event, &e)
			return e.ID, err
		}},
		func(context.Context, json.RawMessage) (json.RawMessage, error) {
			calls++
			return json.RawMessage(`{"charged":true}`), nil
		})
	if err != nil {
		t.Fatal(err)
	}

	for _, event := range []string{`{"ID":"1","amount":7}`, `{"amount":7.0, "ID":"1"}`} {
		if got, err := fn(t.Context(), json.RawMessage(event)); err != nil || string(got) != `{"charged":true}` {
			t.Errorf("%s: %s, %v", event, got, err)
		}
	}

	if _, err := fn(t.Context(), json.RawMessage(`{"ID":"1","amount":8}`)); !errors.Is(err, once.ErrMismatch) || calls != 1 {
		t.Errorf("%v, %d calls", err, calls)
	}

	if _, err := fn(t.Context(), json.RawMessage(`[`)); err == nil {
		t.Error("an event without a key is accepted")
	}

	if _, err := events.Function(events.FunctionConfig{}, nil); err == nil {
		t.Error("a missing function is accepted")
	}
}

// After a run that did not end, only the handler can find out whether it had an effect.
func TestAHandlerSeesItsClaim(t *testing.T) {
	for about, runIn := range map[string]func(t *testing.T, see func(context.Context)) func(){
		"a message": func(t *testing.T, see func(context.Context)) func() {
			h := newHandle(t, events.Config{Claims: newClaims(t)})
			h.do = func(ctx context.Context, _ queues.Message) queues.Outcome {
				see(ctx)
				return queues.Done()
			}

			return func() { h.Handler(t.Context(), queues.Message{ID: "1", Queue: "q", Body: "b"}) }
		},
		"an event": func(t *testing.T, see func(context.Context)) func() {
			fn, err := events.Function(events.FunctionConfig{
				Claims: newClaims(t),
				Key:    func(json.RawMessage) (string, error) { return "k", nil },
			}, func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
				see(ctx)
				return event, nil
			})
			if err != nil {
				t.Fatal(err)
			}

			return func() { _, _ = fn(t.Context(), json.RawMessage("1")) }
		},
	} {
		t.Run(about, func(t *testing.T) {
			var seen []once.Outcome
			run := runIn(t, func(ctx context.Context) {
				if claim := events.ClaimFrom(ctx); claim != nil {
					seen = append(seen, claim.Outcome)
				}

				if len(seen) == 1 {
					panic("halfway")
				}
			})

			for range 2 {
				func() {
					defer func() { _ = recover() }()
					run()
				}()
			}

			if !slices.Equal(seen, []once.Outcome{once.Acquired, once.TakenOver}) {
				t.Errorf("the handler has seen %v", seen)
			}

			if events.ClaimFrom(t.Context()) != nil {
				t.Error("a claim without a run")
			}
		})
	}
}
