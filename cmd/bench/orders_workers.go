package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
	"ratchet/server"
	"ratchet/server/scenario"
)

const (
	// serveWorker is this program as a worker of the engine that -data names by its URL.
	serveWorker = "worker"
	// ordersRunning is how many orders run at a time.
	ordersRunning = 160
)

// benchOrdersWorkers drives orders with nothing to pay through 1, 2 and 4 worker processes over loopback. The engine, the
// sandbox carrier and the driver are in this process, so on few processors all of them share these.
func benchOrdersWorkers(ctx context.Context, work size) (figures []figure, err error) {
	var one float64
	for _, workers := range []int{1, 2, 4} {
		run, err := ordersOverWorkers(ctx, workers, work.orders)
		if err != nil {
			return figures, fmt.Errorf("%d workers: %w", workers, err)
		}

		rate := float64(work.orders) / run.took.Seconds()
		if workers == 1 {
			one = rate
		}
		figures = append(figures,
			figure{name: fmt.Sprintf("orders_per_second_%d_processes", workers), value: rate, unit: "1/s", about: fmt.Sprintf("%d orders with nothing to pay, through this many worker processes over loopback", work.orders)},
			figure{name: fmt.Sprintf("orders_workers_ratio_%d", workers), value: rate / one, about: "the same per one worker process"},
			figure{name: fmt.Sprintf("order_cpu_ms_%d_processes", workers), value: 1000 * run.used.cpu.Seconds() / float64(work.orders), unit: "ms", about: "processor time of all these processes, for an order"},
			figure{name: fmt.Sprintf("orders_cores_%d_processes", workers), value: run.used.cpu.Seconds() / run.took.Seconds(), about: "processors that they had, on average"},
			figure{name: fmt.Sprintf("orders_threads_waiting_%d_processes", workers), value: run.used.waited.Seconds() / run.took.Seconds(), about: "threads that were ready to run and had no processor, on average: above 0.5 or so, processors are what is missing"})
	}

	return figures, nil
}

// ordersRan is a run of orders.
type ordersRan struct {
	took time.Duration
	used processUse // of all processes
}

// ordersOverWorkers runs the orders to their ends.
func ordersOverWorkers(ctx context.Context, workers, orders int) (run ordersRan, err error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return run, err
	}
	defer os.RemoveAll(dir)

	plan := scenario.Plan{Orders: orders, Prefix: "o-", Free: true}

	// A directory takes the files of all processes.
	notify := "dir:" + filepath.Join(dir, "notifications")

	b, err := server.Embed(server.Config{Data: filepath.Join(dir, "data"), Notify: notify, CarrierDelay: 100 * time.Millisecond}, nil, server.Events{})
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	if err := errors.Join(b.Init(ctx), plan.Fill(ctx, b)); err != nil {
		return run, err
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return run, err
	}

	running, stop := context.WithCancel(ctx)
	group, groupCtx := errgroup.WithContext(running)
	group.Go(func() error { return b.ServeEngine(groupCtx, listener) })
	group.Go(func() error { return b.Engine.Run(groupCtx) })
	group.Go(func() error { return b.RunCarrier(groupCtx) })
	defer func() {
		stop()
		err = errors.Join(err, group.Wait())
	}()

	processes := []string{"self"}
	for range workers {
		p, err := startServed(ctx, serveWorker, "http://"+listener.Addr().String(), "-notify", notify)
		if err != nil {
			return run, err
		}
		defer func() { _ = p.stop() }()
		processes = append(processes, strconv.Itoa(p.cmd.Process.Pid))
	}

	use := func() (all processUse) {
		for _, process := range processes {
			all.add(useOf(process))
		}

		return all
	}

	// Once the workers have handled these, they hold the shards of the stream.
	if err := storeOrders(groupCtx, b, 256); err != nil {
		return run, err
	}

	began, before := time.Now(), use()

	if err := startOrders(groupCtx, b, plan); err != nil {
		return run, err
	}

	if err := scenario.Wait(groupCtx, b); err != nil {
		return run, err
	}
	run = ordersRan{time.Since(began), use().since(before)}

	// A rate with wrong results does not count.
	count, err := plan.RecountUntilConsistent(ctx, b)
	if err == nil && len(count.Discrepancies) > 0 {
		err = fmt.Errorf("%d discrepancies, the first: %+v", len(count.Discrepancies), count.Discrepancies[0])
	}

	return run, err
}

// startOrders starts the orders of the plan, of which so many run at a time. The events of other processes are not seen here,
// so the engine is asked how many run.
func startOrders(ctx context.Context, b *server.Backend, plan scenario.Plan) error {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}

	for next := 0; next < plan.Orders; {
		out, err := b.SFN.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, StatusFilter: sfntypes.ExecutionStatusRunning, MaxResults: ordersRunning})
		if err != nil {
			return err
		}

		more := min(ordersRunning-len(out.Executions), plan.Orders-next)
		if more == 0 && !worker.Wait(ctx, 5*time.Millisecond) {
			return context.Cause(ctx)
		}

		err = share(ctx, 16, more, func(ctx context.Context, i int) error {
			_, err := b.Start(ctx, arn, plan.Order(next+i))
			return err
		})
		if err != nil {
			return err
		}
		next += more
	}

	return nil
}

// serveAsWorker runs a worker of the engine at the URL until in ends or ctx does.
func serveAsWorker(ctx context.Context, url, notify string, in io.Reader, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-worker-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	ctx, stop := context.WithCancel(ctx)
	defer stop()

	b, err := server.Connect(ctx, server.Config{EndpointURL: url, Data: dir, Notify: notify}, nil, server.Events{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	if err := json.NewEncoder(out).Encode(served{URL: url}); err != nil {
		return err
	}

	go func() {
		_, _ = io.Copy(io.Discard, in) // ends with the parent
		stop()
	}()

	return b.Run(ctx, fmt.Sprintf("worker-%d", os.Getpid()))
}
