package idempotency_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// newSlowAPI returns an API in a bubble whose handler takes some time, and what counts its calls of DynamoDB.
func newSlowAPI(t *testing.T, takes time.Duration, change ...func(*once.Config)) (*api, *embeddedtest.Transport) {
	t.Helper()

	backend := embeddedtest.Backend(t)
	wire := embeddedtest.Intercept(&backend)
	db := dynamodb.NewFromConfig(backend)
	embeddedtest.Create(t, db, once.TableInput("once"))

	a := newAPI(t, func(a *api, c *once.Config) {
		a.cfg.SetNow(nil)
		c.DynamoDB, c.Now = db, time.Now

		for _, f := range change {
			f(c)
		}
	})
	a.do = func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(takes) // of the bubble
		_, _ = w.Write([]byte("done"))
	}

	return a, wire
}

// TestARepeatWaitsForTheResponse: a repeat of a request that takes 0.3 s does not get 409.
func TestARepeatWaitsForTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newSlowAPI(t, 300*time.Millisecond)
		began := time.Now()

		var group sync.WaitGroup
		group.Go(func() { a.post("/orders", "", "Idempotency-Key", "k") })
		synctest.Wait()

		r := a.post("/orders", "", "Idempotency-Key", "k")
		if r.status != http.StatusOK || r.body != "done" || r.header.Get("Idempotent-Replayed") != "true" || a.calls.Load() != 1 {
			t.Errorf("%d %s %v, %d calls", r.status, r.body, r.header, a.calls.Load())
		}

		if waited := time.Since(began); waited > time.Second {
			t.Errorf("the repeat has waited %s", waited)
		}
		group.Wait()
	})
}

// TestAWaitIsBounded: in time, by the caller's preference, in reads, and in the number of callers.
func TestAWaitIsBounded(t *testing.T) {
	for name, row := range map[string]struct {
		prefer     string
		waits      time.Duration
		retryAfter string
	}{
		"by default":                 {"", 3 * time.Second, "3"},
		"as the caller asks":         {"wait=10", 10 * time.Second, "10"},
		"not at all":                 {"wait=0", 0, "1"},
		"no longer than the maximum": {"wait=3600", 30 * time.Second, "30"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, wire := newSlowAPI(t, 40*time.Second)

				var group sync.WaitGroup
				group.Go(func() { a.post("/orders", "", "Idempotency-Key", "k") })
				synctest.Wait()

				began := time.Now()
				r := a.post("/orders", "", "Idempotency-Key", "k", "Prefer", row.prefer)
				problem(t, r, http.StatusConflict, "in_progress")

				if waited := time.Since(began).Round(time.Second); waited != row.waits {
					t.Errorf("waited %s, want %s", waited, row.waits)
				}

				// As long as the request has taken: nothing else is known.
				if got := r.header.Get("Retry-After"); got != row.retryAfter {
					t.Errorf("Retry-After %s, want %s", got, row.retryAfter)
				}

				if n := wire.Count("GetItem"); n > 40 {
					t.Errorf("%d reads", n)
				}
				group.Wait()
			})
		})
	}
}

// TestOnlySoManyWait: the others are answered at once.
func TestOnlySoManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newSlowAPI(t, 2*time.Second, func(c *once.Config) { c.Waiters = 2 })

		statuses := make(chan int, 5)
		var group sync.WaitGroup
		group.Go(func() { a.post("/orders", "", "Idempotency-Key", "k") })
		synctest.Wait()

		began := time.Now()

		for range cap(statuses) {
			group.Go(func() { statuses <- a.post("/orders", "", "Idempotency-Key", "k").status })
		}
		synctest.Wait()

		if n := len(statuses); n != 3 || time.Since(began) > time.Second {
			t.Errorf("%d of %d were answered at once", n, cap(statuses))
		}
		group.Wait()
		close(statuses)

		count := map[int]int{}
		for s := range statuses {
			count[s]++
		}

		if count[http.StatusOK] != 2 || count[http.StatusConflict] != 3 {
			t.Errorf("answers %v", count)
		}
	})
}
