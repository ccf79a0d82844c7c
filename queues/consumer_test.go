package queues

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// onQueues runs a test on an engine of its own in a synctest bubble: days pass in an
// instant.
func onQueues(t *testing.T, suffix string, test func(t *testing.T, q *queuePair)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { test(t, newQueuePair(t, dir, suffix)) })
}

func TestEachOutcomeBecomesWhatTheQueueUnderstands(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome Outcome
		counts  string        // right after it
		again   time.Duration // when it comes again; 0: never
	}{
		{name: "done is deleted", outcome: Done(), counts: "0+0 0+0", again: 0},
		{name: "a retry comes again after its pause", outcome: Retry(7*time.Second, errors.New("later")), counts: "0+1 0+0", again: 7 * time.Second},
		{name: "a pause is rounded up", outcome: Retry(6500*time.Millisecond, nil), counts: "0+1 0+0", again: 7 * time.Second},
		{name: "work in progress comes again when the lease is over", outcome: InProgress(20 * time.Second), counts: "0+1 0+0", again: 20 * time.Second},
		{name: "a rejection is sent to the dead letters", outcome: Reject(errors.New("never")), counts: "0+0 1+0", again: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			onQueues(t, "", func(t *testing.T, q *queuePair) {
				var times []time.Duration
				start := time.Now()
				q.send("a")
				q.run(q.config(func(context.Context, Message) Outcome {
					times = append(times, time.Since(start))
					if len(times) > 1 {
						return Done()
					}

					return c.outcome
				}))
				synctest.Wait()
				q.expect("after the first call", c.counts)
				time.Sleep(time.Hour)
				synctest.Wait()

				if c.again == 0 && len(times) != 1 || c.again != 0 && (len(times) != 2 || times[1] != c.again) {
					t.Errorf("called at %v, want again after %v", times, c.again)
				}
			})
		})
	}
}

func TestADeadLetterNamesItsReasonAndItsSource(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		if _, err := q.api.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"),
			MessageAttributes: attributesOf("kind", "order")}); err != nil {
			t.Fatal(err)
		}
		var id string
		q.run(q.config(func(_ context.Context, m Message) Outcome {
			id = m.ID
			return Reject(fmt.Errorf("no such %s\x00", m.Attributes["kind"].Text))
		}))
		synctest.Wait()

		out, err := q.api.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.dead, MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: allSystem})
		if err != nil || len(out.Messages) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}

		m := out.Messages[0]
		if *m.Body != "a" || *m.MessageAttributes["kind"].StringValue != "order" || *m.MessageAttributes[AttributeReason].StringValue != "no such order?" ||
			*m.MessageAttributes[attributeSource].StringValue != "orders.fifo/"+id || m.Attributes["MessageGroupId"] != "g" {
			t.Errorf("dead letter %s, %v", *m.Body, m.MessageAttributes)
		}
	})
}

func TestARetryAfterTheLastAttemptIsARejection(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("poison", "busy")
		j := newJournal()
		cfg := q.config(func(_ context.Context, m Message) Outcome {
			j.note(m)

			if m.Body == "busy" && m.Receives <= 10 { // ten times not an attempt
				return InProgress(time.Second)
			}

			if m.Body == "poison" {
				panic("cannot")
			}

			return Retry(time.Second, errors.New("fails"))
		})
		cfg.Attempts = 3
		q.run(cfg)
		time.Sleep(time.Hour)
		synctest.Wait()
		q.expect("in the end", "0+0 2+0")

		if n := strings.Count(j.String(), "poison"); n != 3 {
			t.Errorf("poison was tried %d times", n)
		}

		if n := strings.Count(j.String(), "busy"); n != 13 {
			t.Errorf("busy was handed out %d times, want 10 that do not count and 3 that do", n)
		}
	})
}

func TestWithoutDeadLettersTheRedrivePolicyTakesWhatIsRejected(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		if _, err := q.api.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: map[string]string{
			"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":2}`}}); err != nil {
			t.Fatal(err)
		}
		q.send("a")
		calls := 0
		cfg := q.config(func(context.Context, Message) Outcome { calls++; return Reject(errors.New("never")) })
		cfg.DeadLetterURL = ""
		q.run(cfg)
		time.Sleep(time.Minute)
		synctest.Wait()
		q.expect("in the end", "0+0 1+0")

		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestAMessageStaysInvisibleWhileItsHandlerWorks(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("slow")
		var beats []time.Duration
		start := time.Now()
		j := newJournal()
		cfg := q.config(func(_ context.Context, m Message) Outcome {
			j.note(m)
			time.Sleep(4 * time.Minute)
			return Done()
		})
		cfg.Visibility = 12 * time.Second
		cfg.Events.Extended = func(n int, err error) {
			if n != 1 || err != nil {
				t.Errorf("extended %d: %v", n, err)
			}
			beats = append(beats, time.Since(start))
		}
		q.run(cfg)
		q.run(cfg) // another consumer never sees it
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		q.expect("in the end", "0+0 0+0")

		if j.String() != "slow#1@0s" {
			t.Errorf("called %s", j)
		}

		last := time.Duration(0)
		for _, b := range beats {
			if b-last > 4*time.Second {
				t.Errorf("extended after %v, later than a third of 12 s", b-last)
			}
			last = b
		}

		if len(beats) < 60 || len(beats) > 81 {
			t.Errorf("%d extensions in 4 minutes", len(beats))
		}
	})
}

// TestAConsumerThatIsCutOffStopsBeforeAnotherBegins: when nothing gets through any
// more, the handler's context ends before the message is visible again.
func TestAConsumerThatIsCutOffStopsBeforeAnotherBegins(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("a")
		start := time.Now()
		var ended, again time.Duration
		var cause error
		cfg := q.config(func(ctx context.Context, m Message) Outcome {
			<-ctx.Done()
			ended, cause = time.Since(start), context.Cause(ctx)
			return Retry(0, cause)
		})
		q.interfere(func(operation string, n int) fault {
			if operation == "ReceiveMessage" && n == 0 {
				return none
			}
			return lost
		})
		q.run(cfg)
		synctest.Wait()
		other := q.config(func(context.Context, Message) Outcome { again = time.Since(start); return Done() })
		other.SQS = q.api
		q.run(other)
		time.Sleep(time.Minute)
		synctest.Wait()

		if !errors.Is(cause, ErrMessageLost) || ended >= again || again != 30*time.Second {
			t.Errorf("the first ended after %v (%v), the second began after %v", ended, cause, again)
		}
		q.expect("in the end", "0+0 0+0")
	})
}

// TestAFailureOfALostMessageIsNotCounted: another receiver may have it, and handle it.
func TestAFailureOfALostMessageIsNotCounted(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("a")
		counter := &countedFailures{}
		var cause error
		cfg := q.config(func(ctx context.Context, _ Message) Outcome {
			<-ctx.Done()
			cause = context.Cause(ctx)

			return Retry(0, cause)
		})
		cfg.Failures = counter
		q.interfere(func(operation string, n int) fault {
			if operation == "ReceiveMessage" && n == 0 {
				return none
			}

			return lost
		})
		q.run(cfg)
		time.Sleep(time.Minute)
		synctest.Wait()

		if n := counter.failures.Load(); n != 0 || !errors.Is(cause, ErrMessageLost) {
			t.Errorf("%d failures were counted after %v", n, cause)
		}
	})
}

// countedFailures counts the calls.
type countedFailures struct{ failures atomic.Int32 }

func (c *countedFailures) CountFailure(context.Context, string, string) (int, error) {
	return int(c.failures.Add(1)), nil
}

func TestTheHandlerEndsWhenItsMessageIsGone(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("a")
		var cause error
		cfg := q.config(func(ctx context.Context, m Message) Outcome {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return Done()
		})
		q.run(cfg)
		synctest.Wait()

		if _, err := q.api.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.url}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()

		if !errors.Is(cause, ErrMessageLost) {
			t.Errorf("cause %v", cause)
		}
	})
}

func TestAGroupKeepsItsOrderWhenAMessageFails(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		q.send("g:1", "g:2", "h:a", "g:3", "h:b")
		j := newJournal()
		var dispositions []string
		var mu sync.Mutex
		cfg := q.config(func(_ context.Context, m Message) Outcome {
			j.note(m)

			if m.Body == "2" && m.Receives < 3 {
				return Retry(10*time.Second, errors.New("later"))
			}

			return Done()
		})
		cfg.Attempts = 3
		cfg.Events.Ended = func(e Ended) {
			mu.Lock()
			defer mu.Unlock()
			dispositions = append(dispositions, e.Message.Body+" "+string(e.Disposition))
		}
		q.run(cfg)
		time.Sleep(time.Minute)
		synctest.Wait()
		q.expect("in the end", "0+0 0+0")

		var g []string
		for line := range strings.SplitSeq(j.String(), " ") {
			if !strings.HasPrefix(line, "a") && !strings.HasPrefix(line, "b") {
				g = append(g, line)
			}
		}
		// 3 was received three times and tried once, behind 2.
		if got := strings.Join(g, " "); got != "1#1@0s 2#1@0s 2#2@10s 2#3@20s 3#3@20s" {
			t.Errorf("group g: %s", got)
		}

		if n := strings.Count(strings.Join(dispositions, ","), "3 unread"); n != 2 {
			t.Errorf("dispositions %v", dispositions)
		}
	})
}

// TestAGroupGoesOnOnlyWhenAMessageIsDeleted: a deletion that is lost holds up what comes
// behind it, and nothing else.
func TestAGroupGoesOnOnlyWhenAMessageIsDeleted(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		q.send("g:1", "g:2")
		q.interfere(func(operation string, n int) fault {
			if operation == "DeleteMessageBatch" && n < 3 {
				return []fault{lost, unanswered, halved}[n]
			}
			return none
		})
		j := newJournal()
		q.run(q.config(func(_ context.Context, m Message) Outcome {
			if m.Body == "2" && q.counts() != "0+1 0+0" {
				t.Errorf("2 was begun with %s", q.counts())
			}
			j.note(m)

			return Done()
		}))
		time.Sleep(time.Minute)
		synctest.Wait()

		if j.String() != "1#1@0s 2#1@0s" {
			t.Errorf("called %s", j)
		}
		q.expect("in the end", "0+0 0+0")
	})
}

func TestOnlyTheEntriesOfABatchThatFailedAreSentAgain(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		for i := range 10 {
			q.send(fmt.Sprint(i))
		}
		q.interfere(func(operation string, n int) fault {
			if operation == "DeleteMessageBatch" && n < 4 {
				return halved
			}
			return none
		})
		j := newJournal()
		q.run(q.config(func(_ context.Context, m Message) Outcome {
			j.note(m)
			time.Sleep(time.Second) // all end together
			return Done()
		}))
		time.Sleep(time.Minute)
		synctest.Wait()
		q.expect("in the end", "0+0 0+0")

		if n := strings.Count(j.String(), "#1@0s"); n != 10 || strings.Contains(j.String(), "#2") {
			t.Errorf("called %s", j)
		}
	})
}

func TestAStopFinishesWhatHasBegunAndReturnsTheRest(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		q.send("g:1", "g:2", "g:3", "h:stuck")
		var cause error
		cfg := q.config(func(ctx context.Context, m Message) Outcome {
			if m.Body == "stuck" {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return Retry(time.Hour, ctx.Err())
			}
			time.Sleep(5 * time.Second)

			return Done()
		})
		stop := q.run(cfg)
		synctest.Wait()
		start := time.Now()
		stop()

		if d := time.Since(start); d != 30*time.Second || !errors.Is(cause, ErrStopped) {
			t.Errorf("stopped after %v, with %v", d, cause)
		}
		q.expect("2, 3 and what was cut short are there at once", "3+0 0+0")
	})
}

func TestAHandlerThatDoesNotReturnKeepsNoMessage(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		q.send("a")
		release := make(chan struct{})
		var calls atomic.Int32
		cfg := q.config(func(context.Context, Message) Outcome {
			if calls.Add(1) == 1 {
				<-release // ignores its context
			}
			return Done()
		})
		cfg.Timeout = time.Minute

		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		time.Sleep(2 * time.Minute)
		synctest.Wait()

		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls, want the message handed out again", n)
		}
		q.expect("done by the second call", "0+0 0+0")
		cancel()

		if err := <-ended; !errors.Is(err, ErrStuck) {
			t.Errorf("run: %v", err)
		}
		close(release)
	})
}

func TestAQueueThatIsGoneEndsRun(t *testing.T) {
	onQueues(t, "", func(t *testing.T, q *queuePair) {
		if _, err := q.api.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
			t.Fatal(err)
		}

		c, err := New(q.config(func(context.Context, Message) Outcome { return Done() }))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()

		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "NonExistentQueue") {
			t.Errorf("run: %v", err)
		}

		if d := time.Since(start); d < 2*time.Minute || d > 3*time.Minute {
			t.Errorf("gave up after %v", d)
		}

		if c.Ready() == nil {
			t.Error("ready without a queue")
		}
	})
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	good := Config{SQS: sqs.New(sqs.Options{}), QueueURL: "http://q", Handler: func(context.Context, Message) Outcome { return Done() }}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}

	for name, edit := range map[string]func(*Config){
		"no client":            func(c *Config) { c.SQS = nil },
		"no queue":             func(c *Config) { c.QueueURL = "" },
		"no handler":           func(c *Config) { c.Handler = nil },
		"its own dead letters": func(c *Config) { c.DeadLetterURL = c.QueueURL },
		"negative slots":       func(c *Config) { c.Slots = -1 },
		"half a second":        func(c *Config) { c.Visibility = 1500 * time.Millisecond },
		"more than 12 h":       func(c *Config) { c.Timeout = 13 * time.Hour },
		"a pause that shrinks": func(c *Config) { c.Backoff = Backoff{Base: time.Minute, Max: time.Second} },
	} {
		cfg := good
		edit(&cfg)

		if _, err := New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
