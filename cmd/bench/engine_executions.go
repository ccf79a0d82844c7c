package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded"
)

const (
	hopPieces      = 64
	syncBytes      = 1024
	syncRoom       = 16 << 20
	openExecutions = 100_000 // make bench-large has a million
	openShort      = 2_000
	openCallers    = 64
)

// benchHop compares a hop (from the answer of a task to the next task, with one client) with a
// synced write to a file on the same disk, in turns.
func benchHop(ctx context.Context, work size) ([]figure, error) {
	return onDisk(func(dir string) (figures []figure, err error) {
		engine, err := embedded.Open(embedded.Config{Dir: filepath.Join(dir, "engine")})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, engine.Close()) }()

		noop, err := newNoop(ctx, sfn.NewFromConfig(engine.AWSConfig()))
		if err != nil {
			return nil, err
		}

		file, err := openSynced(filepath.Join(dir, "synced"))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()

		var hops, syncs timings
		written := int64(0)

		_, err = turns(ctx, work, 1, hopPieces,
			// A hop is measured inside of one execution, between its tasks.
			way{prepare: hops.begin, do: func(ctx context.Context, _, _ int) error {
				err := noop.one(ctx, true)
				hops.add(noop.hops...)
				// The hops of this piece are stored; the next piece begins with none.
				noop.hops = nil

				return err
			}},
			way{prepare: syncs.begin, do: func(context.Context, int, int) error {
				began := time.Now()
				// The write stays within the room that was written before, so the sync writes no
				// new size of the file.
				_, err := file.WriteAt(make([]byte, syncBytes), written%syncRoom)
				err = errors.Join(err, syncData(file))
				syncs.add(time.Since(began))
				written += syncBytes

				return err
			}})
		if err != nil {
			return nil, fmt.Errorf("engine, hop: %w", err)
		}

		hop, sync := hops.medians(), syncs.medians()

		return []figure{
			{
				name:  "hop_over_sync",
				value: ratio(hop, sync),
				about: fmt.Sprintf("from the answer of a task to the next task, one client / a write of %d bytes and its sync", syncBytes),
			},
			{name: "hop_ms", value: median(hop) * 1000, unit: "ms", about: "such a hop"},
			{name: "sync_ms", value: median(sync) * 1000, unit: "ms", about: "such a sync"},
		}, nil
	})
}

// openSynced returns a file whose room is written already, as in the engine's log: a later sync
// then writes data and no size.
func openSynced(name string) (*os.File, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}

	if _, err := file.Write(make([]byte, syncRoom)); err != nil {
		return nil, errors.Join(err, file.Close())
	}

	if err := file.Sync(); err != nil {
		return nil, errors.Join(err, file.Close())
	}

	return file, nil
}

// timings holds durations by round.
type timings [][]float64

// begin begins a round.
func (t *timings) begin(context.Context, int) error {
	*t = append(*t, nil)
	return nil
}

func (t *timings) add(spent ...time.Duration) {
	last := &(*t)[len(*t)-1]
	for _, d := range spent {
		*last = append(*last, d.Seconds())
	}
}

// medians returns the median of each round but the first, which warms up.
func (t *timings) medians() (medians []float64) {
	// The first round warms up.
	for _, round := range (*t)[1:] {
		medians = append(medians, median(round))
	}

	return medians
}

// openStates is a machine whose executions stay open for a day: the input says whether they wait
// for a worker or for a timer.
const openStates = `{"StartAt":"Which","States":{
	"Which":{"Type":"Choice","Choices":[{"Variable":"$.task","BooleanEquals":true,"Next":"Work"}],"Default":"Wait"},
	"Work":{"Type":"Task","Resource":%q,"TimeoutSeconds":86400,"End":true},
	"Wait":{"Type":"Wait","Seconds":86400,"End":true}}}`

// benchOpenExecutions measures the heap that an open execution takes, and how long the engine takes
// to open many. Half of them wait for a worker and half for a timer.
func benchOpenExecutions(ctx context.Context, work size) ([]figure, error) {
	executions := openExecutions
	if work.short() {
		executions = openShort
	}

	// Too few executions would measure the engine's fixed memory.
	executions, err := numberFrom("BENCH_EXECUTIONS", executions, openShort)
	if err != nil {
		return nil, err
	}

	return onDisk(func(dir string) ([]figure, error) {
		started, err := startOpen(ctx, dir, executions)
		if err != nil {
			return nil, fmt.Errorf("engine, open executions: %w", err)
		}

		before, began := heap(), time.Now()

		engine, err := embedded.Open(embedded.Config{Dir: dir})
		if err != nil {
			return nil, err
		}

		took := time.Since(began).Seconds()
		// Measured twice: an execution that was just started may hold more than an execution read
		// from disk.
		reopened := float64(heap()-before) / float64(executions)

		return []figure{
			{
				name: "open_executions_bytes",
				// The larger value counts, because both ways occur.
				value: max(started, reopened),
				unit:  "B",
				about: fmt.Sprintf("heap of each of %d open executions: %.0f once started, %.0f once opened again", executions, started, reopened),
			},
			{
				name:  "open_executions_" + amount(executions) + "_s",
				value: took,
				unit:  "s",
				about: fmt.Sprintf("opening %d open executions", executions),
			},
		}, engine.Close()
	})
}

// startOpen starts executions that stay open and returns the heap that each takes.
func startOpen(ctx context.Context, dir string, executions int) (bytes float64, err error) {
	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()

	client := sfn.NewFromConfig(engine.AWSConfig())

	activity, err := client.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String("open")})
	if err != nil {
		return 0, err
	}

	machine, err := client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name:       aws.String("open"),
		RoleArn:    aws.String("arn:aws:iam::000000000000:role/bench"),
		Definition: aws.String(fmt.Sprintf(openStates, *activity.ActivityArn)),
	})
	if err != nil {
		return 0, err
	}

	// Without the SDK, whose garbage would be in the heap.
	raw := &rawClient{url: "http://engine", http: engine.HTTPClient()}
	// The machine and the activity are in the heap already.
	before := heap()

	err = share(ctx, openCallers, executions, func(ctx context.Context, n int) error {
		input := fmt.Sprintf(`{"orderId":"o-%d","task":%t}`, n, n%2 == 0)
		_, err := raw.call(ctx, targetStates+"StartExecution", fmt.Appendf(nil, `{"stateMachineArn":%q,"name":"o-%d","input":%q}`, *machine.StateMachineArn, n, input))

		return err
	})

	return float64(heap()-before) / float64(executions), err
}

// heap returns the bytes of the heap that are in use. The engine's cache of blocks is not among
// them where there is cgo.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees objects that the first collection finalized

	var m runtime.MemStats
	runtime.ReadMemStats(&m)

	return int64(m.HeapAlloc)
}
