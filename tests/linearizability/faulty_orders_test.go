package linearizability

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/poller"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faultyOrders are the system under test: orders behind a connection that can fail, and the poller
// that writes their journal.
type faultyOrders struct {
	*transitions.Orders
	wire    *wire
	journal *journal
	start   time.Time
	tally   tally
}

// tally counts what has occurred: a run proves nothing about a verdict or a fault that did
// not occur.
type tally struct {
	calls, unknown, behind, contended, failed atomic.Int64
	verdicts                                  [transitions.Illegal + 1]atomic.Int64
}

// openFaultyOrders opens orders, whose poller stops when the test ends.
func openFaultyOrders(t testing.TB, mode transitions.JournalMode) *faultyOrders {
	t.Helper()
	cfg := embeddedtest.Open(t).AWSConfig()
	clean, stream := dynamodb.NewFromConfig(cfg), dynamodbstreams.NewFromConfig(cfg)
	// The SDK's retries, but without waits and without a limit for all calls together,
	// because faults are far more frequent here.
	cfg.Retryer = embeddedtest.RetryAtOnce

	kit := shop.Over(t, cfg)
	kit.Tables(leases.TableInput("leases"), deadletters.TableInput("dead-letters"))
	s := &faultyOrders{wire: &wire{}, start: time.Now()}
	kit.Wire.Around(s.wire.carry)
	s.Orders = kit.Orders(shop.Journal(mode), func(c *transitions.Config) { c.Definition, c.Attempts = definition(), 3 })

	if mode == transitions.JournalTransactional {
		return s
	}
	s.journal = keepJournal(t, s.Orders, clean, stream)

	return s
}

// journal is the poller that writes the journal, and the rows that it has written so far.
type journal struct {
	mu   sync.Mutex
	grew *sync.Cond
	upTo map[transitions.OrderID]transitions.TransitionID
	err  error
}

// keepJournal starts the poller that writes the journal. It stops when the test ends.
func keepJournal(t testing.TB, orders *transitions.Orders, db *dynamodb.Client, stream *dynamodbstreams.Client) *journal {
	t.Helper()
	j := &journal{upTo: map[transitions.OrderID]transitions.TransitionID{}}
	j.grew = sync.NewCond(&j.mu)

	poller, err := poller.New(poller.Config{
		Streams: stream, DynamoDB: db, TableName: shop.OrdersTable, LeaseTable: "leases", DeadLetterTable: "dead-letters",
		PollActive: 5 * time.Millisecond, PollIdle: 20 * time.Millisecond, Log: embeddedtest.Quiet(),
		Handlers: []streams.Handler{{Name: "journal", Handle: func(ctx context.Context, r streams.Record) error {
			return j.record(ctx, orders, r)
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := poller.Run(ctx)
		j.mu.Lock()
		j.err = errors.Join(errors.New("the poller has ended"), err)
		j.mu.Unlock()
		j.grew.Broadcast()
		ended <- err
	}()
	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Errorf("the journal's poller: %v", err)
		}
	})

	return j
}

// record writes the journal's row of a record and notes its id.
func (j *journal) record(ctx context.Context, orders *transitions.Orders, r streams.Record) error {
	change, grew, err := transitions.Mapping{}.FromRecord(r.Old, r.New)
	if err != nil || !grew {
		return err
	}

	// A write that a test has broken may make an id twice. The journal keeps the first, and the history shows it.
	if err := orders.Record(ctx, change); err != nil && !errors.Is(err, transitions.ErrJournalAhead) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.upTo[change.New.ID] = change.New.TransitionID
	j.grew.Broadcast()

	return nil
}

// wait waits until the journal has the order's transition. It returns at once if j is nil:
// a transactional journal has the row already. It fails if the poller has ended.
func (j *journal) wait(order transitions.OrderID, id transitions.TransitionID) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()

	for j.upTo[order] < id && j.err == nil {
		j.grew.Wait()
	}

	return j.err
}

// forget removes the order from the journal's notes.
func (j *journal) forget(order transitions.OrderID) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.upTo, order)
}

// ask makes one call and returns the answer. told is false if the call ended in an error
// after which nothing can have been written: such a call is not a part of the history.
func (s *faultyOrders) ask(ctx context.Context, order transitions.OrderID, c call, t *trouble) (a answer, told bool, err error) {
	s.tally.calls.Add(1)

	if t != nil {
		ctx, t.cancel = context.WithCancel(ctx)
		defer t.cancel()
		ctx = context.WithValue(ctx, troubleKey{}, t)
	}

	a, err = s.send(ctx, order, c)
	struck := t != nil && t.struck > 0
	switch {
	case err == nil:
		s.tally.verdicts[a.verdict].Add(1)
		return a, true, nil
	case errors.Is(err, transitions.ErrOutcomeUnknown) && struck:
		s.tally.unknown.Add(1)
		return answer{unknown: true}, true, nil
	case errors.Is(err, transitions.ErrJournalBehind):
		// An answer may have been lost before the slot was used again.
		s.tally.behind.Add(1)
		return answer{unknown: true}, struck, nil
	case errors.Is(err, transitions.ErrContended):
		s.tally.contended.Add(1)
		return answer{}, false, nil
	case struck && c.verb != "create":
		// Only a read fails like this: the fault hit no write.
		s.tally.failed.Add(1)
		return answer{}, false, nil
	}

	return answer{}, false, err
}

// send makes the call and translates its result.
func (s *faultyOrders) send(ctx context.Context, id transitions.OrderID, c call) (answer, error) {
	var result transitions.Result
	var err error
	switch c.verb {
	case "get":
		found, exists, err := s.Get(ctx, id)
		a := answer{}
		if exists {
			a.found, a.state, a.id = true, found.State, found.TransitionID
			for _, t := range found.Recent() {
				a.ring = append(a.ring, made{t.ID, t.Event, t.From, t.To})
			}
		}

		return a, err
	case "create":
		result, err = s.Create(ctx, transitions.NewOrder{ID: id, Total: transitions.Money{Amount: c.total, Currency: "EUR"}})
	default:
		r := c.request
		r.OrderID = id
		result, err = s.Apply(ctx, r)
	}

	t := result.Transition
	a := answer{verdict: result.Verdict, transition: made{t.ID, t.Event, t.From, t.To}}
	if o := result.Order; o != nil {
		a.found, a.state, a.id = true, o.State, o.TransitionID
	}

	return a, err
}

// misfortune draws the faults of one call, nil for none.
func misfortune(rng *rand.Rand, percent int) *trouble {
	if rng.IntN(100) >= percent {
		return nil
	}

	t := &trouble{rng: rng, skip: rng.IntN(3) * rng.IntN(2), left: 1 + rng.IntN(2), kind: fault(rng.IntN(int(faults)))}
	switch rng.IntN(60) {
	case 0: // as long as Apply tries
		t.left, t.kind = 9, fault(rng.IntN(int(givenUpBefore)))
	case 1, 2, 3: // any mixture
		t.left, t.kind = 1+rng.IntN(4), faults
	}

	return t
}
