package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/server"
	"ratchet/tests/program"
)

// TestKillNineAmongConsumersAndBuyers lets many callers consume the same actions and reserve
// the same few pieces of stock while `ratchet dev` is killed three times. Every action has one
// winner, which gets the same answer again; every piece has one order.
func TestKillNineAmongConsumersAndBuyers(t *testing.T) {
	t.Parallel()

	const (
		actionCount = 30
		callersEach = 5
		pieces      = 20
		buyers      = 60
		kills       = 3
	)

	bin, dir, listen := program.Self(t, "ratchet"), t.TempDir(), program.FreeAddress(t)
	running := start(t, bin, dir, listen)
	b, err := server.Connect(t.Context(), server.Config{
		EndpointURL: "http://" + listen,
		Data:        filepath.Join(dir, "data"),
	}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Stock.Set(t.Context(), "rare", pieces); err != nil {
		t.Fatal(err)
	}

	ids := make([]actions.ID, actionCount)
	for i := range ids {
		spec := actions.Spec{ExpiresAt: time.Now().Add(time.Hour), Payload: json.RawMessage(fmt.Sprint(i))}
		if i%2 == 0 {
			spec.PIN, spec.MaxAttempts = "1234", callersEach
		}

		made, err := b.Actions.Create(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = made.ID
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	var decided, sold atomic.Int32

	results := make([]actions.Result, actionCount*callersEach)
	request := func(i int) actions.Request {
		return actions.Request{ID: ids[i/callersEach], PIN: "1234", ConsumeID: fmt.Sprint("caller-", i)}
	}

	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			untilDecided(ctx, t, func() (err error) {
				results[i], err = b.Actions.Consume(ctx, request(i))
				return err
			})
			decided.Add(1)
		})
	}

	for i := range buyers {
		group.Go(func() {
			untilDecided(ctx, t, func() error {
				err := b.Stock.Reserve(ctx, fmt.Sprint("o-", i), []inventory.Line{{SKU: "rare", Quantity: 1}})
				switch {
				case err == nil:
					sold.Add(1)
				case errors.Is(err, inventory.ErrOutOfStock):
					return nil
				}

				return err
			})
			decided.Add(1)
		})
	}

	// Kill when a part of the callers have their answers.
	for n := range kills {
		for int(decided.Load()) < n*(len(results)+buyers)/(kills+1) && ctx.Err() == nil {
			pause(ctx, time.Millisecond)
		}
		running.Kill(t)
		running = start(t, bin, dir, listen)
	}
	group.Wait()

	for i := range ids {
		mine := results[i*callersEach : (i+1)*callersEach]
		winner := slices.IndexFunc(mine, func(r actions.Result) bool { return r.Outcome == actions.Consumed })
		for j, r := range mine {
			if (r.Outcome == actions.Consumed) != (j == winner) || (j != winner && r.Outcome != actions.AlreadyUsed) {
				t.Errorf("action %d, caller %d: %+v", i, j, r)
			}
		}

		again, err := b.Actions.Consume(t.Context(), request(i*callersEach+max(0, winner)))
		if winner < 0 || err != nil || again.Outcome != actions.Consumed || !again.ConsumedAt.Equal(mine[winner].ConsumedAt) || string(again.Payload) != fmt.Sprint(i) {
			t.Errorf("action %d: won by %d, again %+v, %v", i, winner, again, err)
		}
	}

	level, _, err := b.Stock.Level(t.Context(), "rare")
	if err != nil || sold.Load() != pieces || level.Reserved != pieces || level.Available != 0 {
		t.Errorf("%d orders got one of %d pieces; %+v, %v", sold.Load(), pieces, level, err)
	}
	running.Stop(t)
}

// untilDecided repeats the call, every 20 ms, until it returns no error. The caller stays the
// same, so a repeat after a lost answer must get that answer.
func untilDecided(ctx context.Context, t *testing.T, call func() error) {
	for {
		err := call()
		if err == nil {
			return
		}

		if ctx.Err() != nil {
			t.Errorf("not decided in time: %v", err)
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
