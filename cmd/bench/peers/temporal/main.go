// Command temporal runs workflows of four activities that do nothing on Temporal's embedded test
// server, which keeps its data in SQLite in memory. It prints "ready". Then it reads lines with a
// number of clients and a number of workflows, runs the workflows to their ends, and prints the
// seconds that they took. It ends with its input. With an address and the URL of far sides as arguments it runs orders
// (order.go). Only benchmarks use it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporaltest"
)

const queue = "noop"

func main() {
	quiet := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	server := temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: quiet}))
	defer server.Stop()

	if len(os.Args) == 3 {
		transport := http.DefaultTransport.(*http.Transport)
		transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 256, 0 // no connection is opened twice
		if err := serveOrders(server, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "temporal:", err)
			os.Exit(1) //nolint:gocritic // the server's data is in memory
		}

		return
	}

	server.NewWorker(queue, func(r worker.Registry) {
		r.RegisterWorkflow(fourSteps)
		r.RegisterActivity(step)
	})
	fmt.Println("ready")

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var clients, workflows int
		if _, err := fmt.Sscan(lines.Text(), &clients, &workflows); err != nil {
			fmt.Fprintln(os.Stderr, "temporal:", err)
			os.Exit(1) //nolint:gocritic // the server's data is in memory
		}

		began := time.Now()
		if err := run(server.GetDefaultClient(), clients, workflows); err != nil {
			fmt.Fprintln(os.Stderr, "temporal:", err)
			os.Exit(1)
		}
		fmt.Println(time.Since(began).Seconds())
	}
}

// fourSteps is the workflow.
func fourSteps(ctx workflow.Context, input string) (output string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 30 * time.Second})

	output = input
	for range 4 {
		if err := workflow.ExecuteActivity(ctx, step, output).Get(ctx, &output); err != nil {
			return "", err
		}
	}

	return output, nil
}

// step is the activity.
func step(_ context.Context, input string) (string, error) { return input, nil }

// run lets the clients run the workflows to their ends, each client one after the other.
func run(c client.Client, clients, workflows int) error {
	var started atomic.Int64
	// Room for an error of each client, so that none blocks.
	errs := make(chan error, clients)

	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			// Counted before the start, so exactly that many workflows are started.
			for started.Add(1) <= int64(workflows) {
				if err := one(c); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)

	return <-errs // nil if the channel is empty
}

func one(c client.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	w, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: queue}, fourSteps,
		`{"orderId":"o-1","total":{"amount":1250,"currency":"EUR"}}`)
	if err != nil {
		return err
	}

	return w.Get(ctx, nil)
}
