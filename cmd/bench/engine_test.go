package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// TestMain lets the test binary be the server that startServed starts, as the benchmark's is.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "-serve" && os.Args[3] == "-data" {
		if err := serve(context.Background(), os.Args[2], os.Args[4], "", os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}

	os.Exit(m.Run())
}

// TestRivalsAreComparedRoundByRound: the engine, in a process of its own, makes each update of each
// round, and the server that answers {} takes part.
func TestRivalsAreComparedRoundByRound(t *testing.T) {
	dir := t.TempDir()
	missing := func(context.Context, string) (*rival, error) { return nil, errors.New("it is not here") }

	all, err := openRivals(t.Context(), dir, openRivalNothing, missing)
	if err != nil {
		t.Fatal(err)
	}

	stopped := false
	defer func() {
		if !stopped {
			_ = all.stop()
		}
	}()

	if len(all) != 2 {
		t.Fatalf("%d servers, want the engine and the one that answers {}", len(all))
	}

	for _, r := range all {
		if err := r.tables(t.Context(), keyedTable(updateTable, "orderId", "")); err != nil {
			t.Fatal(err)
		}
	}

	const rounds = 2

	figures, err := all.compare(t.Context(), size{rounds: rounds}, 2, 4, "update", "_2", "", func(r *rival) way { return updates(r.db, updateTable, 2, 4) })
	if err != nil {
		t.Fatal(err)
	}

	if len(figures) != 2 || figures[0].name != "engine_update_per_second_2" || figures[1].name != "engine_update_vs_empty_server_2" {
		t.Errorf("%+v", figures)
	}

	table := updateTable

	out, err := all[0].db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: dynamo.Item{"orderId": dynamo.S("o-2-3")}})
	if err != nil {
		t.Fatal(err)
	}

	if want := dynamo.N(updateWarmUps + 1 + rounds); !reflect.DeepEqual(out.Item["revision"], want) {
		t.Errorf("revision %v, want %v", out.Item["revision"], want)
	}

	stopped = true

	if err := all.stop(); err != nil {
		t.Error(err)
	}

	// The servers have ended, so the data can be opened again.
	again, err := openServedEngine(t.Context(), filepath.Join(dir, "engine"))
	if err != nil {
		t.Fatal(err)
	}

	if err := again.endpoint.stop(); err != nil {
		t.Error(err)
	}
}

func TestReadsHaveTheSizeThatTheyAreNamedFor(t *testing.T) {
	r, err := openServedEngine(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.endpoint.stop(); err != nil {
			t.Error(err)
		}
	}()

	if err := fillPages(t.Context(), r); err != nil {
		t.Fatal(err)
	}

	iterator, err := fillRecords(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}

	// Each way fails if an answer is too small or a condition does not hold.
	for name, w := range map[string]way{
		"query":    queries(r),
		"transact": transactions(r),
		"records":  readings(r, targetStreams+"GetRecords", iterator, recordsBytes),
	} {
		for round := range 2 {
			if err := w.do(t.Context(), round, 1); err != nil {
				t.Errorf("%s, round %d: %v", name, round, err)
			}
		}
	}

	if err := transactions(r).do(t.Context(), 0, 1); err == nil {
		t.Error("a transaction whose conditions do not hold was made")
	}

	nothing, err := openRivalNothing(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := nothing.endpoint.stop(); err != nil {
			t.Error(err)
		}
	}()

	for _, want := range []int64{0, pageBytes} {
		if size, err := nothing.answering(want).raw.call(t.Context(), "Query", nil); err != nil || size != want+2 {
			t.Errorf("the server that answers {} after %d bytes answered %d (%v)", want, size, err)
		}
	}
}

func TestGrowthIsMeasuredOnTheItemsThatWereLoaded(t *testing.T) {
	t.Parallel()

	g := grown{dir: t.TempDir(), items: 100}
	if err := g.load(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := g.open(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.engine.Close(); err != nil {
			t.Error(err)
		}
	}()

	for _, operation := range slices.Concat(rawOperations, clientOperations) {
		for range 200 {
			if err := operation.do(&g, t.Context()); err != nil {
				t.Fatal(operation.name, err)
			}
		}
	}

	g.items = 10_000 // most of these items do not exist
	failed := false
	for range 100 {
		failed = failed || g.get(t.Context()) != nil
	}

	if !failed {
		t.Error("a GetItem of a missing item counts as one of the benchmark's")
	}
}

func TestTheServerEndsWithItsParent(t *testing.T) {
	t.Parallel()

	in, parent := io.Pipe()
	out, child := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(t.Context(), serveNothing, "", "", in, child) }()

	line := make([]byte, 256)
	if _, err := out.Read(line); err != nil {
		t.Fatal(err)
	}

	if err := parent.Close(); err != nil {
		t.Fatal(err)
	}

	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTimingsAreMediansByRoundWithoutTheFirst(t *testing.T) {
	t.Parallel()

	var spent timings
	for _, round := range [][]time.Duration{{time.Hour}, {1, 2, 9}, {4}} {
		if err := spent.begin(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		spent.add(round...)
	}

	if got := spent.medians(); len(got) != 2 || got[0] != 2e-9 || got[1] != 4e-9 {
		t.Errorf("%v", got)
	}
}

func TestTheGroupOfTheEngineIsAllItsParts(t *testing.T) {
	t.Parallel()

	selected, err := selectParts("workflow,engine")
	if err != nil || len(selected) != 1+len(engineParts) || selected[0].name != "workflow" {
		t.Errorf("%d parts, %v", len(selected), err)
	}

	if all, err := selectParts(""); err != nil || len(all) != len(benchParts)+len(engineParts) {
		t.Errorf("%d parts by default, %v", len(all), err)
	}

	if _, err := selectParts("none"); err == nil {
		t.Error("a part that does not exist is selected")
	}
}
