package costs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/server"
	"ratchet/server/scenario"
)

// livesMeasured is how many orders go the whole path.
const livesMeasured = 100

// measureLife measures the cost of an order from its placing to its delivery, when nothing fails: Step
// Functions, eight activities, two workers, the stream, the journal, shipping and notifications. It
// leaves out leases, which cost by the minute (see idle), and the tables of the sandbox bank and
// carrier, which a real bank and carrier replace.
func measureLife(ctx context.Context) (t Table, err error) {
	t.Head = []string{"table", "read units", "write units"}
	s := &scenario.Session{Plan: scenario.Plan{Orders: livesMeasured, Prefix: "o-"}}
	b := &bill{tables: map[string]Units{}}

	backend, stop, err := openBackend(b, s.Meter.Events())
	if err != nil {
		return t, err
	}
	defer stop()

	count, err := s.Run(ctx, backend)
	if err != nil {
		return t, err
	}

	// An order that was not handled would look cheap.
	if len(count.Discrepancies) > 0 {
		return t, fmt.Errorf("%d discrepancies, the first: %+v", len(count.Discrepancies), count.Discrepancies[0])
	}

	used := b.take()
	delete(used, backend.Tables.Leases)
	delete(used, backend.Tables.SandboxCharges)
	delete(used, backend.Tables.SandboxShipments)
	delete(used, backend.Tables.Processes) // heartbeats belong to the minute
	t.Rows = perTable(used, livesMeasured)

	return t, nil
}

// idle measures the cost of two idle workers in a minute. It takes 35 seconds.
func idle(ctx context.Context) (t Table, err error) {
	t.Head = []string{"table", "read units", "write units"}
	b := &bill{tables: map[string]Units{}}

	backend, stop, err := openBackend(b, server.Events{})
	if err != nil {
		return t, err
	}
	defer stop()

	if err := backend.Init(ctx); err != nil {
		return t, err
	}

	// The first seconds are not counted: the workers register and take their leases.
	const settle, watched = 5 * time.Second, 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, settle+watched)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return backend.Engine.Run(ctx) })

	for _, name := range []string{"worker-1", "worker-2"} {
		group.Go(func() error { return backend.Run(ctx, name) })
	}
	group.Go(func() error {
		select {
		case <-time.After(settle):
			b.take()
		case <-ctx.Done():
		}

		return nil
	})

	// The end of the timeout is the end of the measurement, and no error.
	if err := group.Wait(); err != nil {
		return t, err
	}
	t.Rows = perTable(b.take(), watched.Minutes())

	return t, nil
}

// openBackend opens an embedded backend that reports its consumption to the bill. It returns a
// function that closes the backend and removes its data.
func openBackend(b *bill, hooks server.Events) (*server.Backend, func(), error) {
	dir, err := os.MkdirTemp("", "ratchet-costs-*")
	if err != nil {
		return nil, nil, err
	}
	hooks.Billed = b.add

	backend, err := server.Embed(server.Config{
		Data:         filepath.Join(dir, "data"),
		Notify:       "dir:" + filepath.Join(dir, "notices"),
		CarrierDelay: 20 * time.Millisecond,
	}, quiet, hooks)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}

	return backend, func() { _, _ = backend.Close(), os.RemoveAll(dir) }, nil
}

// perTable returns a row for each table with its consumption, divided by the given number; the most
// expensive first, and the sum last.
func perTable(used map[string]Units, by float64) (rows [][]string) {
	var sum Units
	row := func(name string, u Units) {
		rows = append(rows, []string{name, fmt.Sprintf("%.1f", u.Read/by), fmt.Sprintf("%.1f", u.Write/by)})
	}
	for _, name := range slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		// The name decides between equal tables, so that two runs print the same.
		return cmp.Or(cmp.Compare(used[b].Write, used[a].Write), cmp.Compare(a, b))
	}) {
		sum = sum.plus(used[name])
		row("`"+strings.TrimPrefix(name, "ratchet-")+"`", used[name])
	}
	row("all", sum)

	return rows
}
