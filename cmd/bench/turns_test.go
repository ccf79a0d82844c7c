package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
)

func TestShareDoesEveryPieceOnce(t *testing.T) {
	t.Parallel()

	for _, callers := range []int{1, 3, 10, 20} {
		var done [10]atomic.Int32

		err := share(t.Context(), callers, len(done), func(_ context.Context, piece int) error {
			done[piece].Add(1)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}

		for piece := range done {
			if n := done[piece].Load(); n != 1 {
				t.Errorf("%d callers: piece %d was done %d times", callers, piece, n)
			}
		}
	}
}

func TestShareStopsAtAnError(t *testing.T) {
	t.Parallel()

	broken := errors.New("broken")

	pieces := 0
	err := share(t.Context(), 1, 10, func(_ context.Context, piece int) error {
		pieces++

		if piece == 2 {
			return broken
		}

		return nil
	})
	if !errors.Is(err, broken) || pieces != 3 {
		t.Errorf("%v after %d pieces", err, pieces)
	}
}

func TestTurnsMeasureEveryWayInEveryRoundButTheFirst(t *testing.T) {
	var prepared, done [2][]int

	ways := make([]way, 2)
	for n := range ways {
		ways[n] = way{
			prepare: func(_ context.Context, round int) error {
				prepared[n] = append(prepared[n], round)
				return nil
			},
			do: func(_ context.Context, round, _ int) error {
				done[n] = append(done[n], round)
				return nil
			},
		}
	}

	measured, err := turns(t.Context(), size{rounds: 2}, 1, 2, ways...)
	if err != nil {
		t.Fatal(err)
	}

	for n, m := range measured {
		if want := []int{0, 1, 2}; !slices.Equal(prepared[n], want) {
			t.Errorf("way %d was prepared for the rounds %v, want %v", n, prepared[n], want)
		}

		if want := []int{0, 0, 1, 1, 2, 2}; !slices.Equal(done[n], want) {
			t.Errorf("way %d did pieces of the rounds %v, want %v", n, done[n], want)
		}

		if len(m.rates) != 2 || len(m.cpu) != 2 || len(m.allocs) != 2 || len(m.bytes) != 2 {
			t.Errorf("way %d: %+v, want figures of two rounds", n, m)
		}
	}
}

func TestTurnsReportWhatFails(t *testing.T) {
	broken := errors.New("broken")
	fine := func(context.Context, int) error { return nil }

	for name, w := range map[string]way{
		"prepare": {prepare: func(context.Context, int) error { return broken }},
		"do":      {prepare: fine, do: func(context.Context, int, int) error { return broken }},
	} {
		if _, err := turns(t.Context(), size{}, 1, 1, w); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	t.Parallel()

	// The median of 4, 2 and 1, and not the ratio of the medians, 3.
	if got := ratio([]float64{8, 6, 3}, []float64{2, 3, 3}); got != 2 {
		t.Errorf("%v, want 2", got)
	}
}

func TestFiguresAreWrittenAsOneObject(t *testing.T) {
	t.Parallel()

	name := filepath.Join(t.TempDir(), "figures.json")
	if err := writeJSON(name, []figure{{name: "a", value: 1.5}, {name: "b", value: 2}}); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	var got map[string]float64
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&got); err != nil {
		t.Fatal(err)
	}

	if len(got) != 2 || got["a"] != 1.5 || got["b"] != 2 {
		t.Errorf("%v", got)
	}

	if err := writeJSON("", nil); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

// TestEveryWayMovesAnOrderAlongThePath checks that the benchmark compares like with like: Apply,
// the bare client and the plain update each move an order through all its transitions.
func TestEveryWayMovesAnOrderAlongThePath(t *testing.T) {
	e, err := openEngine()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.stop(); err != nil {
			t.Error(err)
		}
	}()

	s, err := openOrders(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}

	for name, move := range map[string]step{"apply": s.apply, "bare": s.bare, "plain": s.plain} {
		w := s.way(1, 2, name, move)
		if err := w.prepare(t.Context(), 0); err != nil {
			t.Fatal(err)
		}

		for order := range 2 {
			if err := w.do(t.Context(), 0, order); err != nil {
				t.Errorf("%s, order %d: %v", name, order, err)
			}
		}
	}
}
