package queues

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"pgregory.net/rapid"
)

// bubbled hides the test's deadline from rapid, which must not be asked for inside a
// synctest bubble.
type bubbled struct{ rapid.TB }

// chaos is one run: groups of messages, handlers that do everything a handler may do,
// and a service that cannot be relied on.
type chaos struct {
	mu      sync.Mutex
	dice    *rand.Rand
	faulty  bool
	active  map[string]int      // handlers at work by group
	done    map[string][]string // bodies by group, in the order in which they were first done
	broken  []string
	trouble int // of 100 answers, how many are no Done
}

func (c *chaos) roll(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dice.IntN(n)
}

func (c *chaos) fault(operation string, _ int) fault {
	c.mu.Lock()
	defer c.mu.Unlock()

	if !c.faulty {
		return none
	}

	switch n := c.dice.IntN(10); {
	case n == 0:
		return lost
	case n == 1 && operation != "ReceiveMessage": // that would only be a long wait
		return unanswered
	case n == 2 && operation == "DeleteMessageBatch":
		return halved
	}

	return none
}

func (c *chaos) enter(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.active[group]++; c.active[group] > 1 {
		c.broken = append(c.broken, "two handlers at once in group "+group)
	}
}

func (c *chaos) leave(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active[group]--
}

func (c *chaos) handle(ctx context.Context, m Message) Outcome {
	c.enter(m.GroupID)
	defer c.leave(m.GroupID)

	select {
	case <-time.After(time.Duration(c.roll(40)) * time.Second):
	case <-ctx.Done():
		return Retry(0, context.Cause(ctx))
	}

	if c.roll(100) < c.trouble {
		switch c.roll(4) {
		case 0:
			panic("chaos")
		case 1:
			return InProgress(time.Duration(c.roll(20)) * time.Second)
		case 2:
			return Retry(time.Duration(c.roll(20))*time.Second, errors.New("chaos"))
		}

		return Outcome{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	if !slices.Contains(c.done[m.GroupID], m.Body) {
		c.done[m.GroupID] = append(c.done[m.GroupID], m.Body)
	}

	return Done()
}

// TestAGroupKeepsItsOrderWhateverHappens: two consumers, calls that are lost or not
// answered, batches that fail by half, handlers that fail in every way. Every message is
// done in the end, no two of a group are at work at once, and each group's messages are
// done in the order in which they were sent.
func TestAGroupKeepsItsOrderWhateverHappens(t *testing.T) {
	onQueues(t, ".fifo", func(t *testing.T, q *queuePair) {
		run := 0
		rapid.Check(bubbled{t}, func(rt *rapid.T) {
			run++

			out, err := q.api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(fmt.Sprintf("chaos-%d.fifo", run)), Attributes: map[string]string{"FifoQueue": "true"}})
			if err != nil {
				rt.Fatal(err)
			}
			q.url = *out.QueueUrl
			c := &chaos{dice: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)), faulty: rapid.Bool().Draw(rt, "faulty"),
				active: map[string]int{}, done: map[string][]string{}, trouble: rapid.IntRange(0, 60).Draw(rt, "trouble")}

			groups, each := rapid.IntRange(1, 4).Draw(rt, "groups"), rapid.IntRange(1, 6).Draw(rt, "each")
			for i := range each {
				for g := range groups {
					q.send(fmt.Sprintf("%d:%d", g, i))
				}
			}
			q.interfere(c.fault)
			cfg := q.config(c.handle)
			cfg.Attempts, cfg.Slots, cfg.Backoff = -1, rapid.IntRange(1, 20).Draw(rt, "slots"), Backoff{Max: 10 * time.Second}

			stops := []func(){q.run(cfg), q.run(cfg)}
			for range 500 {
				time.Sleep(time.Minute)
				synctest.Wait()

				if q.counts() == "0+0 0+0" {
					break
				}
			}

			for _, stop := range stops {
				stop()
			}
			q.transport.Clear()

			if got := q.counts(); got != "0+0 0+0" {
				rt.Errorf("left: %s", got)
			}

			for _, b := range c.broken {
				rt.Error(b)
			}

			for g := range groups {
				if done := c.done[fmt.Sprint(g)]; len(done) != each || !slices.IsSorted(done) {
					rt.Errorf("group %d was done as %v", g, done)
				}
			}
		})
	})
}
