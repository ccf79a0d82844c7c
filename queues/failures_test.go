package queues

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded/embeddedtest"
)

// script is a handler that answers by what is wrong at the moment, and counts its answers.
type script struct {
	mu       sync.Mutex
	answer   func(n int) Outcome // of the nth call since it was set
	calls    int
	receives int // the newest receive
}

func (s *script) set(answer func(n int) Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.calls = answer, 0
}

func (s *script) handle(_ context.Context, m Message) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.receives = m.Receives

	return s.answer(s.calls)
}

func (s *script) state() (calls, receives int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.calls, s.receives
}

func unavailable(int) Outcome { return NotYet(time.Minute, errors.New("no route to the service")) }

// TestAnOutageCostsNoAttemptAcrossRestarts: a message survives an outage, is handed to
// another process, and fails once. It has all its attempts.
func TestAnOutageCostsNoAttemptAcrossRestarts(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		h := &script{answer: unavailable}
		q.send("a")

		stop := q.run(q.config(h.handle))
		time.Sleep(30 * time.Minute)
		stop()

		if _, receives := h.state(); receives < 10 {
			t.Fatalf("%d receives during the outage", receives)
		}
		h.set(func(n int) Outcome {
			if n < 5 {
				return Retry(time.Second, errors.New("the order is not placed yet"))
			}

			return Done()
		})

		q.run(q.config(h.handle))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		q.expect("done at the last attempt", "0+0 0+0")
	})
}

// TestAStopAndAPlaceBehindAFailureCostNoAttempt: neither is a failure of the message.
func TestAStopAndAPlaceBehindAFailureCostNoAttempt(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		h := &script{answer: func(int) Outcome { return Retry(10*time.Second, errors.New("not placed yet")) }}
		q.send("g:first", "g:second")

		cfg := q.config(func(ctx context.Context, m Message) Outcome {
			if m.Body == "second" {
				return h.handle(ctx, m)
			}

			if m.Receives < 20 {
				return InProgress(time.Second) // the second waits behind it, unread
			}

			return Done()
		})
		cfg.Attempts = 3
		q.run(cfg)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		q.expect("the second was rejected", "0+0 1+0")

		if calls, receives := h.state(); calls != 3 || receives < 20 {
			t.Errorf("%d attempts in %d receives, want 3", calls, receives)
		}
	})
}

// brokenCounter is a counter whose store is out of reach.
type brokenCounter struct{}

func (brokenCounter) CountFailure(context.Context, string, string) (int, error) {
	return 0, errors.New("no route to the table")
}

func TestNoMessageIsGivenUpWhileItsFailuresCannotBeCounted(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		h := &script{answer: func(int) Outcome { return Retry(time.Second, errors.New("fails")) }}
		q.send("a")

		cfg := q.config(h.handle)
		cfg.Attempts, cfg.Failures = 2, brokenCounter{}
		stop := q.run(cfg)
		time.Sleep(time.Minute)
		stop()
		time.Sleep(time.Second) // the wait of its last failure is over
		q.expect("after a minute", "1+0 0+0")

		if calls, _ := h.state(); calls < 50 {
			t.Errorf("%d calls", calls)
		}

		cfg.Failures = nil
		q.run(cfg)
		time.Sleep(time.Minute)
		synctest.Wait()
		q.expect("with a counter", "0+0 1+0")
	})
}

func TestAReceiveIsCountedOnceAndTheOldestMessagesAreForgotten(t *testing.T) {
	var p processFailures
	count := func(message, receive string) int {
		n, err := p.CountFailure(t.Context(), message, receive)
		if err != nil {
			t.Fatal(err)
		}

		return n
	}

	got := []int{count("m", "r1"), count("m", "r1"), count("m", "r2"), count("other", "r1")}
	if !slices.Equal(got, []int{1, 1, 2, 1}) {
		t.Errorf("counted %v", got)
	}

	for i := range len(p.ring) {
		count("m"+string(rune(0x4e00+i)), "r")
	}

	if n := count("m", "r3"); n != 1 || len(p.counts) > len(p.ring) {
		t.Errorf("after %d other messages: %d failures, %d messages known", len(p.ring), n, len(p.counts))
	}
}

func TestAttemptsBeyondWhatACounterStoresAreRefused(t *testing.T) {
	cfg := Config{SQS: sqs.New(sqs.Options{}), QueueURL: "http://q", Handler: done, Attempts: maxAttempts}
	if _, err := New(cfg); err != nil {
		t.Error(err)
	}

	cfg.Attempts++
	if _, err := New(cfg); err == nil {
		t.Error("more were accepted")
	}
}

// TestALambdaLeavesWhatItCannotDeleteToTheMapping: a message that is done and could not be
// deleted is reported as done. Behind it nothing of its group is handled: it would come
// again out of order if the function were killed now.
func TestALambdaLeavesWhatItCannotDeleteToTheMapping(t *testing.T) {
	for _, row := range []struct {
		name     string
		failures int // of deletions
		calls    int
		left     string
	}{
		{name: "a deletion that fails twice", failures: 2, calls: 2, left: "0+0 0+0"},
		{name: "a deletion that keeps failing", failures: 100, calls: 1, left: "1+1 0+0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
				q.send("g:1", "g:2")
				h := &script{answer: func(int) Outcome { return Done() }}
				event := q.received()
				q.transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
					if c.Is("DeleteMessageBatch") && c.N <= row.failures {
						return c.Respond(200, `{"Successful":[],"Failed":[{"Id":"0","Code":"InternalError","SenderFault":false}]}`), nil
					}

					return send()
				})

				l := newLambda(t, LambdaConfig{SQS: q.config(done).SQS, QueueURL: q.url, Handler: h.handle})

				out, err := l.Handle(t.Context(), event)
				if calls, _ := h.state(); err != nil || calls != row.calls || len(out.Failures) != 2-row.calls {
					t.Errorf("%d calls, %+v, %v", calls, out, err)
				}
				q.expect("in the queue", row.left)
			})
		})
	}
}
