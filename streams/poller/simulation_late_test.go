package poller

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

// simLatest is how late a write arrives at the most: longer than every lease.
const simLatest = 70 * time.Second

// writes are the operations of a worker that change something.
var writes = []string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}

// late lets some writes of a worker arrive late, and some at once and a second time later. In both cases the
// worker gets no answer. It may have lost the lease by then, have repeated the write, or be dead.
func (s *simulation) late(name int, send func(*embeddedtest.Call, embeddedtest.Sender) (*http.Response, error)) func(*embeddedtest.Call, embeddedtest.Sender) (*http.Response, error) {
	return func(c *embeddedtest.Call, next embeddedtest.Sender) (*http.Response, error) {
		s.mu.Lock()
		calm := s.calm
		s.mu.Unlock()

		if c.Is("PutItem") && contains(c, retryFurther) {
			s.seen.further.Add(1)
		}

		rng := s.chance("late", name, c.Operation, c.N)
		kind := rng.IntN(30)

		if calm || kind > 1 || !slices.Contains(writes, c.Operation) {
			return send(c, next)
		}

		c.Body() // before the call ends
		again := *c
		again.Request = c.Request.Clone(context.Background())
		delay := time.Duration(rng.Int64N(int64(simLatest)))

		s.arriving.Go(func() {
			time.Sleep(delay)

			if response, err := send(&again, func() (*http.Response, error) { return again.Send(s.engine.AWSConfig().HTTPClient) }); err == nil {
				_ = response.Body.Close()
			}
		})

		if kind == 1 {
			if response, err := send(c, next); err == nil {
				_ = response.Body.Close()
			}
		}

		return nil, errors.New("no answer")
	}
}

// checkQueue checks that nothing is left in the retry queue after the last late write has arrived, and
// that every row with an image has an owner and an end.
func (s *simulation) checkQueue() {
	for range 60 {
		if len(s.waitingRows()) == 0 {
			break
		}
		time.Sleep(time.Second)
	}

	if rows := s.waitingRows(); len(rows) > 0 {
		s.Errorf("seed %d: %d rows are left in the retry queue, the first of %v", s.seed, len(rows), rows[0].Keys)
	}

	for _, row := range s.deadRows() {
		if dynamo.Flag(row, "done") && (row["record"] != nil || row["keys"] != nil) {
			s.Errorf("seed %d: a handled row has an image: %v", s.seed, row["id"])
		}
	}

	if found := s.orphans(); len(found) > 0 {
		s.Errorf("seed %d: %v", s.seed, found)
	}
}
