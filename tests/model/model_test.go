// Package model plays random programs of claims, actions, transfers, holds, payments,
// reservations and orders against one store and one plain model. operations_test.go lists what a program
// does; each subject has a file, which says what must be true after a step. Callers crash before
// or after their writes are made, answers are lost, work is cut off or loses its lease, the callers'
// clocks are hours off and are set, sweeps and the reader of the stream come or not, expired items are
// deleted, orders are renewed, lost and restored, and the definition of orders and the configuration
// change from call to call. Every answer, and in the end every balance, count, state
// and history, must be as the model says, and the ledger must prove itself.
//
// A program is chosen by its seed. A failure names the seed and the last steps;
// repeat it, with more of its lines, with
//
//	go test ./tests/model -args -seed SEED -steps 200 -tail 1000
package model

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ratchet/once/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	flagSteps = flag.Int("steps", 2_500, "steps of all programs together")
	flagTail  = flag.Int("tail", 40, "lines of a failure")
	flagSeed  = flag.Uint64("seed", 1, "seed of the first program; each following one has the next")
)

const (
	stepsOfProgram = 200
	// programsOfStore is how many programs share a store, and slots how many of them run at
	// a time: writes wait for the disk, and the writes of several programs wait together.
	programsOfStore = 100
	slots           = 16
)

func TestProgramsFollowTheModel(t *testing.T) {
	steps := *flagSteps
	if testing.Short() {
		steps = min(steps, 2_000)
	}

	began, counts := time.Now(), &tally{counts: map[string]int{}}

	// A few programs need not come to everything. A seed does not say which goroutine comes first, so many need more
	// seeds now and then.
	missing := func() []string {
		if steps < 2_000 {
			return nil
		}

		return slices.DeleteFunc(rare(), func(name string) bool { return counts.counts[name] > 0 })
	}

	programs := (steps + stepsOfProgram - 1) / stepsOfProgram
	first := 0
	for most := programs; first < most && !t.Failed(); {
		next := min(first+programsOfStore, most)

		t.Run(fmt.Sprintf("store %d", first/programsOfStore+1), func(t *testing.T) {
			// The waits between retries are in virtual time. The callers have clocks of their own.
			synctest.Test(t, func(t *testing.T) {
				playAll(t, *flagSeed+uint64(first), next-first, counts)
			})
		})

		if first = next; first == most && most < 10*programs && len(missing()) > 0 {
			most += programs
		}
	}

	if never := missing(); len(never) > 0 && !t.Failed() {
		t.Errorf("no program came to %q", never)
	}
	t.Logf("%d steps in %v: %v", first*stepsOfProgram, time.Since(began).Round(time.Second), counts.counts)
}

// rare are what many programs together come to: every operation, and what happens in some of them.
func rare() []string {
	names := []string{"crash", "deleted", "cut off", "lease lost", "a clock was set in a call", "trimmed", "lost row", "lost order", "order taken back"}
	for _, o := range operations {
		names = append(names, o.name)
	}

	return names
}

// playAll plays that many programs on one store, a few at a time.
func playAll(t *testing.T, seed uint64, n int, counts *tally) {
	t.Helper()

	s := newStore(t)
	seeds := make(chan uint64)
	var players sync.WaitGroup
	for slot := range min(slots, n) {
		players.Go(func() {
			callers := s.slot(t, slot)
			for seed := range seeds {
				callers.play(t, seed, counts)
			}
			callers.recount(t)
		})
	}

	for i := range uint64(n) {
		if t.Failed() {
			break
		}
		seeds <- seed + i
	}
	close(seeds)
	players.Wait()
}

// recount proves the ledger of the slot by its rows.
func (s *callers) recount(t *testing.T) {
	proof, err := s.machines[1].ledger.Verify(t.Context(), func(f ledger.Finding) error { return fmt.Errorf("%+v", f) }, nil)
	if err != nil || proof.Sums[currency] != 0 {
		t.Errorf("the ledger: %+v, %v", proof, err)
	}
}

// tally counts the acts of the programs.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[name]++
}

// program is one run: a seed, its own ids in the store, and the model.
type program struct {
	t      *testing.T
	store  *callers
	seed   uint64
	dice   *rand.Rand
	counts *tally
	log    []string
	habits habits

	claims   claims
	actions  actionsModel
	money    money
	payments paymentsModel
	stock    stock
	orders   orders
}

// play runs the program with the seed.
func (s *callers) play(t *testing.T, seed uint64, counts *tally) {
	t.Helper()

	p := &program{t: t, store: s, seed: seed, dice: rand.New(rand.NewPCG(seed, 11)), counts: counts}
	s.playing = p
	s.restart(t)
	p.begin()
	p.claims.begin(p)
	p.actions.begin(p)
	p.money.begin(p)
	p.stock.begin(p)
	p.orders.begin(p)

	for range stepsOfProgram {
		step := p.draw()
		p.counts.add(step.name)
		p.note("%s", step.name)

		if step.do(p); t.Failed() {
			return
		}
	}

	p.claims.check(p)
	compareAccounts(p)
	p.payments.check(p)
	compareStock(p)
	p.orders.check(p)
}

func (p *program) roll(n int) int { return p.dice.IntN(n) }

// chance is true in that many of 100 cases.
func (p *program) chance(percent int) bool { return p.roll(100) < percent }

// id names something of this program.
func (p *program) id(kind string, n int) string { return fmt.Sprintf("%s-%d-%d", kind, p.seed, n) }

func (p *program) note(format string, args ...any) {
	p.log = append(p.log, p.store.clock.Now().Format("01-02 15:04:05 ")+fmt.Sprintf(format, args...))
}

// fail reports what does not follow the model, with the last steps.
func (p *program) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Errorf("seed %d: %s\n%s", p.seed, fmt.Sprintf(format, args...), strings.Join(p.log[max(0, len(p.log)-*flagTail):], "\n"))
}
