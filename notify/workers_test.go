package notify_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
)

// TestOneWorkerLearnsForAll: after one worker has opened its circuit, a second worker, which has seen
// no failure, sends nothing to the endpoint until the first success.
func TestOneWorkerLearnsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(0, down)
		first, _ := h.separate()
		stop := h.run(first)

		for i := range 20 {
			h.accept(first, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		}

		open := func() time.Time {
			e, err := h.newEndpoints().Get(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}

			return e.OpenUntil
		}

		// The circuit has opened several times, and is open for minutes.
		for time.Until(open()) < 2*time.Minute {
			time.Sleep(time.Second)
		}
		stop()

		second, _ := h.separate()
		defer h.run(second)()
		before := len(far.keys())
		far.set(0, nil)

		for i := range 20 {
			h.accept(second, notice(fmt.Sprint("p-", i), 2, "SHIPPED"))
		}
		time.Sleep(time.Until(open()) - time.Second)
		synctest.Wait()

		if got := len(far.keys()) - before; got != 0 {
			t.Errorf("%d attempts of another worker while the circuit is open", got)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()

		if got := h.statuses(second); got["shop DELIVERED"] != 40 || !open().IsZero() {
			t.Errorf("%v, open until %v", got, open())
		}
	})
}

// openFor writes into the endpoint's item that another worker's circuit is open.
func (h *deliveryHarness) openFor(id string, pause time.Duration) {
	h.t.Helper()

	_, err := h.db.UpdateItem(h.t.Context(), &dynamodb.UpdateItemInput{
		TableName:        aws.String("endpoints"),
		Key:              map[string]types.AttributeValue{"endpointId": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression: aws.String("SET openUntil = :until, opened = :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":until": &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(pause).UnixMilli())},
			":one":   &types.AttributeValueMemberN{Value: "1"},
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestACircuitOfAnotherWorkerEndsWithItsPause: and before, if a person enables the endpoint or another
// worker has a success. A worker whose clock is a year ahead stops no other for longer than a day.
func TestACircuitOfAnotherWorkerEndsWithItsPause(t *testing.T) {
	for _, test := range []struct {
		name   string
		pause  time.Duration
		enable bool
		wait   time.Duration
	}{
		{"a pause", time.Minute, false, time.Minute},
		{"a wrong clock", 365 * 24 * time.Hour, false, 24*time.Hour + notify.RefreshEvery},
		{"enabled", 24 * time.Hour, true, notify.RefreshEvery},
	} {
		if testing.Short() && test.wait > time.Hour {
			continue // the other rows run the same code, for a minute of virtual time
		}

		synctest.Test(t, func(t *testing.T) {
			h := newDeliveryHarness(t)
			far := h.endpoint("shop")
			h.openFor("shop", test.pause)

			d, _ := h.separate()
			defer h.run(d)()
			h.accept(d, notice("o-1", 2, "SHIPPED"))
			time.Sleep(max(test.wait-time.Minute, 0) + 29*time.Second)
			synctest.Wait()

			if got := len(far.keys()); got != 0 {
				t.Errorf("%s: %d attempts while the circuit is open", test.name, got)
			}

			if test.enable {
				if _, err := h.newEndpoints().Enable(t.Context(), "shop"); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(min(test.wait, time.Minute))
			synctest.Wait()

			if got := len(far.keys()); got != 1 {
				t.Errorf("%s: %d attempts after it", test.name, got)
			}
		})
	}
}

// TestWorkersShareARate: together they keep the rate, and the others get the share of a worker that
// ends or is killed. The item of a killed worker is removed soon, with a few calls.
func TestWorkersShareARate(t *testing.T) {
	for _, kill := range []bool{false, true} {
		if testing.Short() && !kill {
			continue // the workers that are killed stop, too
		}

		synctest.Test(t, func(t *testing.T) {
			h := newDeliveryHarness(t)
			const rate, workers = 4, 4
			far := h.endpoint("shop", func(s *notify.Settings) { s.Rate = rate })

			running := make([]*notify.Deliveries, workers)
			stops := make([]func(), workers)
			wires := make([]*embeddedtest.Transport, workers)
			for i := range running {
				running[i], wires[i] = h.separate()
				stops[i] = h.run(running[i])
				defer stops[i]()
			}

			// measure returns the attempts per second in half a minute with more than enough to do.
			next := 0
			measure := func(among []*notify.Deliveries) float64 {
				for range 45 * rate {
					h.accept(among[next%len(among)], notice(fmt.Sprint("o-", next), 2, "SHIPPED"))
					next++
				}
				before := len(far.keys())
				time.Sleep(30 * time.Second)

				return float64(len(far.keys())-before) / 30
			}

			time.Sleep(20 * time.Second) // they know each other

			if got := measure(running); got > rate*1.1 || got < rate*0.8 {
				t.Errorf("%d workers make %.1f attempts per second, want %d", workers, got, rate)
			}

			var removals atomic.Int32
			wires[0].Before(func(c *embeddedtest.Call) error {
				if c.Operation == "DeleteItem" && strings.Contains(string(c.Body()), "worker#") {
					removals.Add(1)
				}

				return nil
			})

			if kill { // their writes do not reach the tables any more
				for _, wire := range wires[1:] {
					wire.Inject(embeddedtest.Answer("AccessDeniedException"))
				}
			}

			for _, stop := range stops[1:] {
				stop()
			}
			// Shares are counted for every wake-up, and there are many.
			measure(running[:1])
			time.Sleep(30 * time.Second)

			if got := measure(running[:1]); got > rate*1.1 || got < rate*0.8 {
				t.Errorf("killed %t: the last worker makes %.1f attempts per second, want %d", kill, got, rate)
			}

			if left := h.workerItems(); left != 1 || removals.Load() > 2*(workers-1) {
				t.Errorf("killed %t: %d items of workers are left after %d removals", kill, left, removals.Load())
			}
		})
	}
}

// TestALateBeatBringsNoWorkerBack: a beat of a worker that has stopped arrives after its item was removed. A worker that runs
// stores its item again.
func TestALateBeatBringsNoWorkerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop", func(s *notify.Settings) { s.Rate = 1 })

		d, wire := h.separate()

		var beats atomic.Int64

		var late atomic.Pointer[http.Request]

		wire.Before(func(c *embeddedtest.Call) error {
			if c.Operation != "UpdateItem" || !strings.Contains(string(c.Body()), "worker#") {
				return nil
			}

			if beats.Add(1) != 2 {
				return nil
			}
			again := c.Request.Clone(context.Background())
			again.Body = io.NopCloser(bytes.NewReader(c.Body()))
			late.Store(again)

			return embeddedtest.ErrLost
		})
		stop := h.run(d)
		defer stop()

		for beats.Load() < 3 {
			time.Sleep(time.Second)
			synctest.Wait()
		}

		worker := h.scanWorkers()[0]
		if _, err := h.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("endpoints"), Key: map[string]types.AttributeValue{"endpointId": worker["endpointId"]}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * notify.RefreshEvery)

		if n := h.workerItems(); n != 1 {
			t.Errorf("%d items of the worker that runs", n)
		}
		stop()

		answer, err := wire.Do(late.Load())
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()

		if n := h.workerItems(); n != 0 || answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%d items of a worker that has stopped; the late beat was answered with %d", n, answer.StatusCode)
		}
	})
}
