package events_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/keys"
	"ratchet/queues"
	"ratchet/queues/events"
)

// claimedQueue is an engine with a queue, its dead letters and the table of the claims.
type claimedQueue struct {
	t         *testing.T
	engine    *embedded.Engine
	api       *sqs.Client
	url, dead string
}

// onClaimedQueue runs a test in a synctest bubble, so that hours pass in an instant.
func onClaimedQueue(t *testing.T, test func(t *testing.T, q *claimedQueue)) {
	t.Helper()
	dir := t.TempDir()

	synctest.Test(t, func(t *testing.T) {
		engine := embeddedtest.Open(t, func(c *embedded.Config) { c.Dir = dir })
		q := &claimedQueue{t: t, engine: engine, api: sqs.NewFromConfig(engine.AWSConfig())}

		for name, url := range map[string]*string{"orders": &q.url, "dead": &q.dead} {
			out, err := q.api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
			if err != nil {
				t.Fatal(err)
			}
			*url = aws.ToString(out.QueueUrl)
		}

		if _, err := dynamodb.NewFromConfig(engine.AWSConfig()).CreateTable(t.Context(), once.TableInput("once")); err != nil {
			t.Fatal(err)
		}
		test(t, q)
	})
}

// process is a consumer with clients of its own. It can be cut off from everything, as if
// it were killed, and from the table alone.
type process struct {
	cfg          queues.Config
	queue, table *embeddedtest.Transport
}

func (q *claimedQueue) process(handler queues.Handler) *process {
	q.t.Helper()

	queue, table := q.engine.AWSConfig(), q.engine.AWSConfig()
	p := &process{queue: embeddedtest.Intercept(&queue), table: embeddedtest.Intercept(&table)}
	table.RetryMaxAttempts = 2

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(table), Table: "once", Operation: "charge", Retention: 15 * 24 * time.Hour})
	if err != nil {
		q.t.Fatal(err)
	}
	p.cfg = queues.Config{
		SQS: sqs.NewFromConfig(queue), QueueURL: q.url, DeadLetterURL: q.dead, Handler: handler,
		Attempts: 5, Backoff: queues.Backoff{Base: time.Second, Max: 4 * time.Second},
		Failures: events.Failures(claims), PollGrace: -1, DrainTimeout: time.Second, Log: embeddedtest.Quiet(),
	}

	return p
}

// run runs a consumer until stop is called.
func (q *claimedQueue) run(p *process) (stop func()) {
	q.t.Helper()

	consumer, err := queues.New(p.cfg)
	if err != nil {
		q.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()

	return func() {
		cancel()

		if err := <-ended; err != nil {
			q.t.Errorf("run: %v", err)
		}
	}
}

func (q *claimedQueue) send(body string) {
	q.t.Helper()

	if _, err := q.api.SendMessage(q.t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}); err != nil {
		q.t.Fatal(err)
	}
}

// deadLetters counts the dead letters.
func (q *claimedQueue) deadLetters() string {
	q.t.Helper()

	out, err := q.api.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl:       &q.dead,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
	})
	if err != nil {
		q.t.Fatal(err)
	}

	return out.Attributes["ApproximateNumberOfMessages"]
}

// TestTheAttemptsOfAMessageAreCountedAcrossProcesses hands one message from process to
// process. Each lives through an outage, sees one failure and ends.
func TestTheAttemptsOfAMessageAreCountedAcrossProcesses(t *testing.T) {
	onClaimedQueue(t, func(t *testing.T, q *claimedQueue) {
		q.send("m")

		for n := 1; n <= 5; n++ {
			var (
				mu    sync.Mutex
				calls int
			)
			failed := make(chan struct{})
			stop := q.run(q.process(func(context.Context, queues.Message) queues.Outcome {
				mu.Lock()
				defer mu.Unlock()

				if calls++; calls <= 5 {
					return queues.NotYet(time.Minute, errors.New("the service does not answer"))
				}

				if calls == 6 {
					close(failed)
				}

				return queues.Retry(time.Minute, errors.New("not placed yet"))
			}))
			<-failed
			synctest.Wait()
			stop()

			if got, want := q.deadLetters() == "1", n == 5; got != want {
				t.Fatalf("after failure %d: dead letter: %t", n, got)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// TestAMessageHasItsAttemptsHoweverOftenItsConsumersAreKilled: processes are cut off at any
// call, with answers lost and with the table out of reach for a while. A message is given
// up after its attempts, not before. A process that was killed between a failure and its
// count makes it one attempt more.
func TestAMessageHasItsAttemptsHoweverOftenItsConsumersAreKilled(t *testing.T) {
	for seed := range uint64(6) {
		onClaimedQueue(t, func(t *testing.T, q *claimedQueue) {
			dice := rand.New(rand.NewPCG(seed, 7))
			q.send("m")

			var (
				mu       sync.Mutex
				failures int
			)
			handler := func(context.Context, queues.Message) queues.Outcome {
				mu.Lock()
				defer mu.Unlock()

				if dice.IntN(2) == 0 {
					return queues.NotYet(time.Second, errors.New("the service does not answer"))
				}
				failures++

				return queues.Retry(0, errors.New("not placed yet"))
			}

			kills := 0
			for ; q.deadLetters() == "0" && kills < 100; kills++ {
				p := q.process(handler)
				p.table.Inject(embeddedtest.LoseAnswer("UpdateItem").WithProbability(0.3, dice.Uint64()))
				p.queue.Inject(embeddedtest.LoseAnswer("ChangeMessageVisibilityBatch").WithProbability(0.3, dice.Uint64()))

				// Killed at one of the calls that deal with a message; later calls do nothing.
				cut, calls := 1+dice.IntN(6), 0
				kill := func(c *embeddedtest.Call) error {
					mu.Lock()
					defer mu.Unlock()

					if !c.Is("ReceiveMessage") {
						calls++
					}

					if calls >= cut {
						return embeddedtest.ErrLost
					}

					return nil
				}
				p.queue.Before(kill)
				p.table.Before(kill)

				stop := q.run(p)
				time.Sleep(2 * time.Minute)
				stop()
			}

			if q.deadLetters() != "1" || failures < 5 || failures > 5+kills {
				t.Errorf("seed %d: %s dead letters after %d failures in %d processes", seed, q.deadLetters(), failures, kills)
			}
			t.Logf("seed %d: given up after %d failures in %d processes", seed, failures, kills)
		})
	}
}

// TestAMessageWhoseClaimIsOutOfReachIsNoFailure: the middleware answers for the table, not
// for the message.
func TestAMessageWhoseClaimIsOutOfReachIsNoFailure(t *testing.T) {
	lost := embeddedtest.LoseRequest("UpdateItem")

	cfg := embeddedtest.Backend(t)
	cfg.Retryer = embeddedtest.RetryAtOnce
	embeddedtest.Create(t, dynamodb.NewFromConfig(cfg), once.TableInput("once"))
	transport := embeddedtest.Intercept(&cfg)

	h := newHandle(t, events.Config{Claims: newClaims(t, func(c *once.Config) { c.DynamoDB = dynamodb.NewFromConfig(cfg) })})
	outage := transport.Inject(lost)

	if out := h.Handler(t.Context(), message("m")); out.Kind != queues.KindInProgress || out.Err == nil || len(h.calls) != 0 {
		t.Errorf("during the outage: %s, %v", out.Kind, out.Err)
	}
	outage.Remove()

	if out := h.Handler(t.Context(), message("m")); out.Kind != queues.KindDone {
		t.Errorf("after it: %s, %v", out.Kind, out.Err)
	}
}

// Another delivery would do the work again.
func TestAMessageWhoseClaimDoesNotEndHasTheHandlersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := embeddedtest.Backend(t)
		cfg.Retryer = embeddedtest.RetryAtOnce
		embeddedtest.Create(t, dynamodb.NewFromConfig(cfg), once.TableInput("once"))
		transport := embeddedtest.Intercept(&cfg)

		h := newHandle(t, events.Config{Claims: newClaims(t, func(c *once.Config) {
			c.DynamoDB, c.Lease = dynamodb.NewFromConfig(cfg), 50*time.Millisecond
		})})

		for _, answer := range []queues.Outcome{queues.Done(), queues.Reject(errBusy), queues.Retry(7*time.Second, errBusy)} {
			h.do = func(context.Context, queues.Message) queues.Outcome {
				transport.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem"))
				return answer
			}

			if out := h.Handler(t.Context(), message(answer.Kind.String())); out != answer {
				t.Errorf("got %+v, want %+v", out, answer)
			}
			transport.Clear()
		}
	})
}

// TestAFailureWithoutAMessageIsNotCounted: all such messages would share one count.
func TestAFailureWithoutAMessageIsNotCounted(t *testing.T) {
	claims, err := once.New(once.Config{DynamoDB: embeddedtest.DynamoDB(t, once.TableInput("once")), Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	if n, err := events.Failures(claims).CountFailure(t.Context(), "\xff", "receive-1"); !errors.Is(err, keys.ErrInvalid) {
		t.Errorf("counted %d, %v", n, err)
	}
}
