package linearizability

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"

	"ratchet/transitions"
)

var (
	flagOps      = flag.Int("ops", 4_000, "calls per test")
	flagClients  = flag.Int("clients", 16, "clients at once, a multiple of 8")
	flagPerOrder = flag.Int("per-order", 80, "calls per order, at most 1,000")
	flagSeed     = flag.Uint64("seed", 1, "seed of the clients' choices")
	flagMoved    = flag.Bool("moved-keys", true, "send used request ids under other ids and If-Matches, too")
	flagPictures = flag.String("pictures", "", "folder for pictures of failed histories (default: the test's own)")
)

// writers is how many clients work on one order at once. With more, Porcupine's search
// takes much longer.
const writers = 8

// patience is the most time for the check of one order's history.
const patience = 5 * time.Minute

func TestLinearizableWithoutFaults(t *testing.T) {
	s := openFaultyOrders(t, transitions.JournalByStream)
	s.run(t, callsOfTest(), 0)

	if n := s.tally.unknown.Load() + s.tally.failed.Load(); n != 0 {
		t.Errorf("%d calls failed without faults", n)
	}
	s.tally.mustReach(t)
}

func TestLinearizableWithFaults(t *testing.T) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		t.Run(mode.String(), func(t *testing.T) { withFaults(t, openFaultyOrders(t, mode)) })
	}
}

func withFaults(t *testing.T, s *faultyOrders) {
	s.run(t, callsOfTest(), 8)
	s.tally.mustReach(t)

	for kind, name := range faultNames {
		n := s.wire.struck[kind].Load()
		t.Logf("%s: %d", name, n)

		if n == 0 {
			t.Errorf("the fault %q was never reached", name)
		}
	}

	if s.tally.unknown.Load() == 0 && !testing.Short() { // there are few
		t.Error("no outcome was ever unknown")
	}
}

// callsOfTest is smaller in short mode: the race detector sees the same code in all scenes.
func callsOfTest() int {
	if testing.Short() {
		return min(*flagOps, 2_000)
	}

	return *flagOps
}

// run plays scenes, several at once, until the calls are made. It checks each history as
// soon as it is complete.
func (s *faultyOrders) run(t *testing.T, calls, percent int) {
	t.Helper()

	if *flagPerOrder < writers || *flagPerOrder > 1000 || *flagClients < writers {
		t.Fatalf("-per-order %d: %d to 1000; -clients %d: at least %d", *flagPerOrder, writers, *flagClients, writers)
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(*flagClients / writers)

	for n := range (calls + *flagPerOrder - 1) / *flagPerOrder {
		group.Go(func() error {
			order := transitions.OrderID(fmt.Sprintf("o-%d", n))

			history, err := s.play(ctx, order, *flagSeed+uint64(n)<<20, writers, *flagPerOrder, percent)
			if err != nil {
				return err
			}

			return verify(t, order, history)
		})
	}

	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	s.tally.report(t, time.Since(began))
}

// verify checks one order's history. If the check fails, it stores a picture and returns an
// error.
func verify(t testing.TB, order transitions.OrderID, history []porcupine.Operation) error {
	result := porcupine.CheckOperationsTimeout(model(), history, patience)
	if result == porcupine.Ok {
		return nil
	}

	folder := *flagPictures
	if folder == "" {
		folder = t.ArtifactDir()
	}
	path := filepath.Join(folder, string(order)+".html")
	_, info := porcupine.CheckOperationsVerbose(model(), history, patience)

	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}

	if err := porcupine.VisualizePath(model(), info, path); err != nil {
		return err
	}

	return fmt.Errorf("order %s: the history of %d calls is %s; see %s", order, len(history), result, path)
}

func (y *tally) report(t testing.TB, took time.Duration) {
	t.Helper()
	t.Logf("%d calls checked in %s; unknown %d, journal behind %d, contended %d, failed reads %d", y.calls.Load(), took.Round(time.Millisecond),
		y.unknown.Load(), y.behind.Load(), y.contended.Load(), y.failed.Load())

	for _, v := range transitions.Verdicts() {
		t.Logf("%s: %d", v, y.verdicts[v].Load())
	}
}

// mustReach fails the test if a verdict never occurred.
func (y *tally) mustReach(t testing.TB) {
	t.Helper()

	for _, v := range transitions.Verdicts() {
		if y.verdicts[v].Load() == 0 {
			t.Errorf("verdict %s was never reached", v)
		}
	}
}

// quiet returns a history without faults.
func (s *faultyOrders) quiet(ctx context.Context, t testing.TB, order transitions.OrderID, seed uint64, calls int) []porcupine.Operation {
	t.Helper()

	history, err := s.play(ctx, order, seed, 4, calls, 0)
	if err != nil {
		t.Fatal(err)
	}

	return history
}
