package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

var twoMugs = []inventory.Line{{SKU: "mug", Quantity: 2}}

func (s *stock) reserveUntil(t testing.TB, order string, until time.Duration) {
	t.Helper()

	if err := s.ReserveUntil(t.Context(), order, twoMugs, s.clock.Now().Add(until)); err != nil {
		t.Fatal(err)
	}
}

func (s *stock) sweep(t testing.TB, want int) {
	t.Helper()

	if n, err := s.ExpireDue(t.Context(), 1000); err != nil || n != want {
		t.Fatalf("swept %d, %v; want %d", n, err, want)
	}
}

// dueRows counts the rows of the due table.
func (s *stock) dueRows(t testing.TB) int {
	t.Helper()

	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("due")})
	if err != nil {
		t.Fatal(err)
	}

	return len(out.Items)
}

func TestPoint40_AnExpiredReservationCannotBeCommittedAndItsPiecesReturnOnce(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	s.reserveUntil(t, "o-1", time.Minute)
	s.sweep(t, 0)
	s.clock.Advance(time.Minute)

	if err := s.Commit(t.Context(), "o-1"); !errors.Is(err, inventory.ErrExpired) || !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("a late commit, before the sweep: %v", err)
	}
	s.sweep(t, 0) // the margin: the clock of another caller may be behind

	if r, found, err := s.Reservation(t.Context(), "o-1"); err != nil || !found || r.Status != inventory.Expired {
		t.Errorf("%+v, %v, %v", r, found, err)
	}
	s.clock.Advance(3 * time.Second)
	s.sweep(t, 1)
	s.sweep(t, 0)
	level(t, s, "mug", inventory.Level{Available: 10})

	if err := s.Commit(t.Context(), "o-1"); !errors.Is(err, inventory.ErrExpired) {
		t.Errorf("a late commit, after the sweep: %v", err)
	}
	s.reserveUntil(t, "o-1", time.Minute) // the customer comes back
	level(t, s, "mug", inventory.Level{Available: 8, Reserved: 2})

	if err := s.Commit(t.Context(), "o-1"); err != nil {
		t.Error(err)
	}
	s.clock.Advance(time.Hour)
	s.sweep(t, 1)
	level(t, s, "mug", inventory.Level{Available: 8, Committed: 2})

	if n := s.dueRows(t); n != 0 {
		t.Errorf("%d items are left", n)
	}
}

func TestReservingAgainDoesNotWaitForTheSweep(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)
	s.reserveUntil(t, "o-1", time.Minute)
	s.clock.Advance(time.Hour)
	s.reserveUntil(t, "o-1", time.Minute)
	level(t, s, "mug", inventory.Level{Reserved: 2})
	s.sweep(t, 1) // the row of the first reservation; the second one stays
	level(t, s, "mug", inventory.Level{Reserved: 2})

	if err := s.Commit(t.Context(), "o-1"); err != nil {
		t.Error(err)
	}
}

func TestReleasingAnExpiredReservationClosesTheOrder(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	for _, swept := range []bool{false, true} {
		order := fmt.Sprint("o-", swept)
		s.reserveUntil(t, order, time.Minute)
		s.clock.Advance(time.Hour)

		if swept {
			s.sweep(t, 2)
		}

		for range 2 {
			if err := s.Release(t.Context(), order); err != nil {
				t.Error(err)
			}
			level(t, s, "mug", inventory.Level{Available: 10})
		}

		if err := s.Reserve(t.Context(), order, twoMugs); !errors.Is(err, inventory.ErrClosed) || errors.Is(err, inventory.ErrExpired) {
			t.Errorf("a reservation after the release: %v", err)
		}
	}
}

func TestPoint40_PiecesReturnOnceWhenReleasesAndSweepsRace(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)

	for round := range 30 {
		order := fmt.Sprintf("o-%d", round)
		s.reserveUntil(t, order, time.Minute)
		s.clock.Advance(time.Minute + 3*time.Second)

		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				var err error
				switch i % 3 {
				case 0:
					_, err = s.ExpireDue(t.Context(), 10)
				case 1:
					err = s.Release(t.Context(), order)
				case 2:
					if err = s.Commit(t.Context(), order); errors.Is(err, inventory.ErrClosed) {
						err = nil
					}
				}

				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		level(t, s, "mug", inventory.Level{Available: 2})
	}
}

func TestTheNextSweepRepeatsWhatOneCouldNotDo(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	for i := range 4 {
		s.reserveUntil(t, fmt.Sprintf("o-%d", i), time.Minute)
	}
	s.clock.Advance(time.Hour)

	for _, dies := range []string{"Query", "GetItem", "DeleteItem"} {
		// Only the rows of reservations that have ended otherwise are deleted alone.
		for i := 0; dies == "DeleteItem" && i < 4; i++ {
			if err := s.Release(t.Context(), fmt.Sprintf("o-%d", i)); err != nil {
				t.Fatal(err)
			}
		}

		fault := s.transport.Inject(embeddedtest.LoseRequest(dies))
		if _, err := s.ExpireDue(t.Context(), 10); err == nil {
			t.Errorf("%s failed, and the sweep returned no error", dies)
		}
		fault.Remove()
		s.clock.Advance(time.Minute) // the reservations that could not be ended were postponed
	}
	s.sweep(t, 4)
	level(t, s, "mug", inventory.Level{Available: 10})
}

func TestABrokenReservationDoesNotBlockTheOthers(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 100)
	set(t, s, "gone", 100)

	for i := range 20 {
		err := s.ReserveUntil(t.Context(), fmt.Sprintf("broken-%d", i), []inventory.Line{{SKU: "gone", Quantity: 1}}, s.clock.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		s.reserveUntil(t, fmt.Sprintf("whole-%d", i), 2*time.Minute)
	}

	gone := map[string]types.AttributeValue{"sku": &types.AttributeValueMemberS{Value: "gone"}}
	if _, err := s.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("inventory"), Key: gone}); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Hour)

	failures, swept := 0, 0
	for swept < 40 { // 5 at once, which is fewer than are broken
		n, err := s.ExpireDue(t.Context(), 5)
		if n == 0 {
			break
		}

		if swept += n; err != nil {
			failures++

			if text := err.Error(); !strings.Contains(text, "order broken-") || strings.Contains(text, "whole-") {
				t.Error(err)
			}
		}
	}

	if swept != 40 || failures == 0 {
		t.Errorf("dealt with %d of 40, and %d sweeps returned an error", swept, failures)
	}
	level(t, s, "mug", inventory.Level{Available: 100})

	if n := s.dueRows(t); n != 20 {
		t.Errorf("%d are postponed, want the 20 broken ones", n)
	}
	s.sweep(t, 0) // not yet

	// Several sweeps race over the postponed rows.
	s.clock.Advance(time.Minute)

	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { _, _ = s.ExpireDue(t.Context(), 100) })
	}
	group.Wait()

	if n := s.dueRows(t); n != 20 {
		t.Errorf("%d are postponed, want the 20 broken ones, each once", n)
	}

	// An operator restores the item.
	_, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("inventory"), Item: map[string]types.AttributeValue{
		"sku": gone["sku"], "available": &types.AttributeValueMemberN{Value: "80"}, "reserved": &types.AttributeValueMemberN{Value: "20"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	s.sweep(t, 20)
	level(t, s, "gone", inventory.Level{Available: 100})

	if n := s.dueRows(t); n != 0 {
		t.Errorf("%d items are left", n)
	}
}

func TestASweepIsBounded(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 100)

	for i := range 7 {
		s.reserveUntil(t, fmt.Sprintf("o-%d", i), time.Minute)
	}
	s.clock.Advance(time.Hour)

	for _, want := range []int{3, 3, 1, 0} {
		if n, err := s.ExpireDue(t.Context(), 3); err != nil || n != want {
			t.Errorf("swept %d, %v; want %d", n, err, want)
		}
	}
}

func TestRunSweepsUntilItIsStopped(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)
	s.reserveUntil(t, "o-1", time.Minute)
	s.clock.Advance(time.Hour)

	ctx, stop := context.WithCancel(t.Context())
	var swept []int
	observed := s.with(t, inventory.Events{Swept: func(n int, err error) {
		if swept = append(swept, n); err != nil || len(swept) == 2 {
			stop()
		}
	}})

	if err := observed.Run(ctx); err != nil || fmt.Sprint(swept) != "[1 0]" {
		t.Errorf("swept %v, %v", swept, err)
	}
}

// TestPiecesAreNeitherMadeNorLost lets several callers reserve, commit, release, expire
// and die at random, on the same few orders and SKUs, while requests and answers are lost.
// At every moment a SKU's pieces must add up. At the end the counters must agree with the
// reservations.
func TestPiecesAreNeitherMadeNorLost(t *testing.T) {
	const pieces = 12
	s := newStock(t)
	rounds := 0
	rapid.Check(t, func(rt *rapid.T) {
		rounds++
		random := lockedRandom{prefix: fmt.Sprintf("r%d-", rounds)}

		skus := []string{random.prefix + "a", random.prefix + "b", random.prefix + "c"}
		for _, sku := range skus {
			set(t, s, sku, pieces)
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		faults := rapid.Float64Range(0, 0.3).Draw(rt, "faults")
		steps := rapid.IntRange(3, 20).Draw(rt, "steps")
		random.r = rand.New(rand.NewPCG(seed, 0))
		lost := func(*embeddedtest.Call) bool { return random.chance(faults / 2) }
		s.transport.Inject(embeddedtest.LoseRequest().If(lost))
		s.transport.Inject(embeddedtest.LoseAnswer().If(lost))

		var group sync.WaitGroup
		var broken atomic.Value
		for worker := range 4 {
			group.Go(func() {
				for range steps {
					if err := step(t.Context(), s, &random, worker); err != nil {
						broken.Store(err.Error())
					}
				}
			})
		}
		group.Wait()
		s.transport.Clear()

		if what := broken.Load(); what != nil {
			rt.Fatal(what)
		}
		s.clock.Advance(time.Hour) // past what faults have postponed, too

		if _, err := s.ExpireDue(t.Context(), 1000); err != nil {
			rt.Fatal(err)
		}

		want := map[inventory.Status]map[string]int64{inventory.Reserved: {}, inventory.Committed: {}}
		for i := range orders {
			r, _, err := s.Reservation(t.Context(), fmt.Sprintf("%so-%d", random.prefix, i))
			if err != nil {
				rt.Fatal(err)
			}

			for _, l := range r.Lines {
				if sums := want[r.Status]; sums != nil {
					sums[l.SKU] += l.Quantity
				}
			}
		}

		for _, sku := range skus {
			l, _, err := s.Level(t.Context(), sku)
			if err != nil || l.Available+l.Reserved+l.Committed != pieces || l.Available < 0 ||
				l.Reserved != want[inventory.Reserved][sku] || l.Committed != want[inventory.Committed][sku] {
				rt.Fatalf("%+v, %v; reservations say %v", l, err, want)
			}
		}
	})
}

const orders = 6

// step does one random thing to one order, or reads a SKU. It ignores refusals, and returns
// an error if the pieces of a SKU do not add up.
func step(ctx context.Context, s *stock, random *lockedRandom, worker int) error {
	order := fmt.Sprintf("%so-%d", random.prefix, random.n(orders))
	ctx, die := context.WithCancel(ctx)
	defer die()

	if random.chance(0.1) {
		die() // before the first request, or right behind it
	}

	switch random.n(8) {
	case 0, 1:
		_ = s.Reserve(ctx, order, []inventory.Line{{SKU: random.prefix + "a", Quantity: 1 + random.n(4)}, {SKU: random.prefix + "b", Quantity: 1 + random.n(4)}})
	case 2:
		_ = s.ReserveUntil(ctx, order, []inventory.Line{{SKU: random.prefix + "b", Quantity: 1 + random.n(4)}, {SKU: random.prefix + "c", Quantity: 1 + random.n(4)}}, s.clock.Now().Add(time.Minute))
	case 3:
		_ = s.Commit(ctx, order)
	case 4:
		_ = s.Release(ctx, order)
	case 5:
		s.clock.Advance(time.Duration(random.n(60)) * time.Second)
		_, _ = s.ExpireDue(ctx, 10)
	case 7:
		if add, err := s.AddIn(order, []inventory.Line{{SKU: random.prefix + "c", Quantity: 1 + random.n(4)}}); err == nil {
			var t txn.Transaction
			add(&t)
			_ = s.writer.Write(ctx, &t)
		}
	case 6:
		sku := random.prefix + string(rune('a'+worker%3))

		l, _, err := s.Level(ctx, sku)
		if err == nil && (l.Available+l.Reserved+l.Committed != 12 || l.Available < 0 || l.Reserved < 0) {
			return fmt.Errorf("the pieces do not add up: %+v", l)
		}
	}

	return nil
}

// lockedRandom is drawn from by several goroutines.
type lockedRandom struct {
	prefix string // of the names of this round
	mu     sync.Mutex
	r      *rand.Rand
}

func (l *lockedRandom) chance(p float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Float64() < p
}

func (l *lockedRandom) n(most int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Int64N(most)
}
