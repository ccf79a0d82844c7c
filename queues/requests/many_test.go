package requests_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/transitions"
	"ratchet/workflow"
)

// loseSome makes the transport lose one request and one answer in twenty. After cut it
// loses all of them, also the answers of requests that are on their way.
func loseSome(transport *embeddedtest.Transport, seed uint64) (cut func()) {
	// A receive keeps its requests: it is its lost answers that hide messages.
	transport.Inject(embeddedtest.LoseAnswer().WithProbability(0.05, seed))
	transport.Inject(embeddedtest.LoseRequest().WithProbability(0.05, seed+1).
		If(func(c *embeddedtest.Call) bool { return !c.Is("ReceiveMessage") }))

	var isCut atomic.Bool
	lost := func(*embeddedtest.Call) error {
		if isCut.Load() {
			return embeddedtest.ErrLost
		}

		return nil
	}
	transport.Before(lost)
	transport.After(lost)

	return func() { isCut.Store(true) }
}

var (
	flagOrders = flag.Int("orders", 20, "orders that get messages, at least 10")
	flagEach   = flag.Int("each", 10, "requests for each order, an even number")
)

// TestConcurrentMessagesApplyEachTransitionOnce: many orders, many requests each, each request
// sent twice; answers are lost, and consumers are cut off in the middle of their work.
// On a standard queue everything comes in any order, and what is too early is retried;
// on a FIFO queue the requests carry their ids, from 2 on, and come in order. In the end
// each request was applied once, no more and no less.
func TestConcurrentMessagesApplyEachTransitionOnce(t *testing.T) {
	orders, each := *flagOrders, *flagEach
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("queue"+suffix, func(t *testing.T) {
			onQueue(t, suffix, func(t *testing.T, s *orderQueue) {
				dice := rand.New(rand.NewPCG(1, 2))
				s.sendAll(plan(dice, suffix, orders, each))

				for i := range orders {
					s.create(orderID(i))
				}

				handled := s.consumeWithCuts(dice, int64(orders*each*6/10))
				for i := range orders {
					o, _, err := s.Get(t.Context(), orderID(i))
					if err != nil || o.TransitionID != transitions.TransitionID(each+1) || o.State != workflow.Pending {
						t.Errorf("order %s is %s at %d, %v", o.ID, o.State, o.TransitionID, err)
					}

					rows, err := s.History(t.Context(), o.ID, 0, 0)
					if err != nil || len(rows) != each+1 {
						t.Errorf("order %s has %d transitions, %v", o.ID, len(rows), err)
					}
				}

				if queued, reasons := s.left(); queued != "0+0" || reasons != nil {
					t.Errorf("left %s, dead letters %v", queued, reasons)
				}
				t.Logf("%d messages, %d calls of the handler", 2*orders*each, handled)
			})
		})
	}
}

func orderID(i int) transitions.OrderID { return transitions.OrderID(fmt.Sprintf("o-%03d", i)) }

// plan is every message, in the order in which they are sent.
func plan(dice *rand.Rand, suffix string, orders, each int) []*sqs.SendMessageInput {
	var out []*sqs.SendMessageInput
	for n := range each {
		event := []workflow.Event{workflow.Hold, workflow.Release}[n%2]
		for i := range orders {
			r := transitions.Request{OrderID: orderID(i), Event: event, RequestID: transitions.RequestID(fmt.Sprintf("r-%d", n))}
			if suffix != "" {
				r.TransitionID, r.RequestID = transitions.TransitionID(n+2), ""
			}

			for copy := range 2 {
				in, err := requests.Input("q"+suffix, r)
				if err != nil {
					panic(err)
				}

				if suffix != "" {
					in.MessageDeduplicationId = aws.String(fmt.Sprintf("%s/%d", *in.MessageDeduplicationId, copy))
				}
				out = append(out, in)
			}
		}
	}

	if suffix == "" {
		dice.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}

	return out
}

func (s *orderQueue) sendAll(all []*sqs.SendMessageInput) {
	s.t.Helper()

	for batch := range slices.Chunk(all, 10) {
		in := &sqs.SendMessageBatchInput{QueueUrl: &s.url}
		for i, m := range batch {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), MessageBody: m.MessageBody,
				MessageGroupId: m.MessageGroupId, MessageDeduplicationId: m.MessageDeduplicationId})
		}

		if out, err := s.api.SendMessageBatch(s.t.Context(), in); err != nil || len(out.Failed) > 0 {
			s.t.Fatalf("%+v, %v", out, err)
		}
	}
}

// consumeWithCuts runs pairs of consumers, each pair until it has handled so many more
// messages and is then cut off from SQS; the last one until nothing is left.
func (s *orderQueue) consumeWithCuts(dice *rand.Rand, cut int64) (handled int64) {
	s.t.Helper()

	var calls atomic.Int64
	for round := int64(1); ; round++ {
		cfg := s.engine.AWSConfig()
		cutOff := loseSome(embeddedtest.Intercept(&cfg), dice.Uint64())
		enough := make(chan struct{})
		consumer := s.config(requests.Config{Orders: s})
		inner := consumer.Handler
		consumer.SQS, consumer.Attempts, consumer.DrainTimeout = sqs.NewFromConfig(cfg), -1, time.Second
		consumer.Backoff = queues.Backoff{Base: time.Second, Max: 4 * time.Second}
		var once sync.Once
		consumer.Handler = func(ctx context.Context, m queues.Message) queues.Outcome {
			if calls.Add(1) > round*cut && round < 4 {
				cutOff()
				once.Do(func() { close(enough) })
			}

			return inner(ctx, m)
		}

		stops := []func(){s.run(consumer), s.run(consumer)}
		if round < 4 {
			<-enough

			for _, stop := range stops {
				stop()
			}
			continue
		}

		for queued := ""; queued != "0+0"; queued, _ = s.left() {
			time.Sleep(time.Minute)
		}

		for _, stop := range stops {
			stop()
		}

		return calls.Load()
	}
}
