// Command poller is a worker of streams.Poller in a process of its own, to be measured beside
// cmd/bench/peers/kcl. Both take the same arguments first and print the same lines:
// {"event":"lease"} when it gets a shard, {"event":"first"} at its first record, and
// {"event":"last"} when it has handled the requested number of records. Each line has the time
// since the first record in seconds. It runs until it is killed. `go run ./cmd/bench -only kcl`
// starts both.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/streams"
	"ratchet/streams/poller"
)

const usage = "usage: poller ENDPOINT STREAM_ARN APPLICATION WORKER LEASE_MS RECORDS"

func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}

	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "poller:", err)
		os.Exit(1)
	}
}

// run polls until ctx ends. The tables of leases and dead letters have the application's name.
func run(ctx context.Context, args []string, out io.Writer) error {
	endpoint, stream, application, name := args[0], args[1], args[2], args[3]

	lease, err1 := strconv.Atoi(args[4])
	records, err2 := strconv.Atoi(args[5])
	if err := cmp.Or(err1, err2); err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}

	cfg := aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: &endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("bench", "bench", ""),
	}
	r := &reporter{out: json.NewEncoder(out), records: records}

	p, err := poller.New(poller.Config{
		Streams:         dynamodbstreams.NewFromConfig(cfg),
		DynamoDB:        dynamodb.NewFromConfig(cfg),
		StreamARN:       stream,
		LeaseTable:      application,
		DeadLetterTable: application + "-letters",
		Owner:           name,
		LeaseDuration:   time.Duration(lease) * time.Millisecond,
		Log:             slog.New(slog.DiscardHandler),
		Handlers:        []streams.Handler{{Name: "count", Handle: r.handle}},
		Events:          streams.Events{Lease: r.lease},
	})
	if err != nil {
		return err
	}

	return p.Run(ctx)
}

// reporter counts records and prints events.
type reporter struct {
	mu      sync.Mutex
	out     *json.Encoder
	records int // "last" is printed after this number
	handled int
	first   time.Time
}

// event is a line of the output.
type event struct {
	Event   string  `json:"event"`
	Seconds float64 `json:"seconds"`
}

func (r *reporter) lease(e streams.LeaseEvent) {
	// The worker of the Kinesis Client Library reports only this change, too.
	if e.Change != streams.LeaseTaken {
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	_ = r.out.Encode(event{Event: "lease"})
}

func (r *reporter) handle(context.Context, streams.Record) error {
	// Handlers run at the same time.
	r.mu.Lock()
	defer r.mu.Unlock()

	r.handled++
	if r.handled == 1 {
		// The time counts from the first record: the start of a process is not measured.
		r.first = time.Now()

		_ = r.out.Encode(event{Event: "first"})
	}

	if r.handled == r.records {
		_ = r.out.Encode(event{Event: "last", Seconds: time.Since(r.first).Seconds()})
	}

	return nil
}
