// Command reconcile measures `ratchet reconcile` on a large file. It starts a `ratchet dev`,
// stores payments with their transfers, writes a processor's file with planted differences,
// runs the command, and prints its time and its peak memory. It fails if the command finds
// another number of differences.
//
//	go run ./cmd/bench/reconcile -lines 1000000
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/payments"
	"ratchet/server"
)

const (
	perPayment = 20  // captures of one payment
	every      = 997 // one line of this many is wrong
)

func main() {
	lines := flag.Int("lines", 1_000_000, "lines of the processor's file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if err := run(ctx, *lines); err != nil {
		fmt.Fprintln(os.Stderr, "reconcile:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context, lines int) error {
	dir, err := os.MkdirTemp("", "ratchet-reconcile-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	bin := filepath.Join(dir, "ratchet")
	// Built for this run: an older binary would be measured unnoticed.
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "ratchet/cmd/ratchet").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}

	endpoint, end, err := dev(ctx, bin, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer end()

	b, err := server.Connect(ctx, server.Config{EndpointURL: endpoint}, nil, server.Events{})
	if err != nil {
		return err
	}

	file := filepath.Join(dir, "processor.csv")

	// Written directly to the tables, because a million payments through the bank would take hours.
	wrong, err := fill(ctx, b, file, lines)
	if err != nil {
		return err
	}

	began := time.Now()
	cmd := exec.CommandContext(ctx, bin, "reconcile", "--endpoint-url", endpoint, "--file", file, "--json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()

	// Exit status 1 means that there are differences, as it must here.
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		return fmt.Errorf("exit status %d, want 1: %w", code, err)
	}

	// Each difference is a line of JSON, and the totals are the last line.
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Printf("%d lines in %s, peak memory %d MB; %d of %d planted differences found\n%s\n",
		lines, time.Since(began).Round(100*time.Millisecond), usage.Maxrss/1024, len(all)-1, wrong, all[len(all)-1])

	if len(all)-1 != wrong {
		return fmt.Errorf("%d differences found, %d planted", len(all)-1, wrong)
	}

	return nil
}

// dev starts `ratchet dev` and returns its endpoint, and a function that stops it.
func dev(ctx context.Context, bin, data string) (endpoint string, end func(), err error) {
	cmd := exec.CommandContext(ctx, bin, "dev", "--json", "--data", data, "--listen", "127.0.0.1:0", "--log-level", "error")

	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}

	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}

	// The first line has the port that was chosen.
	var banner struct{ Endpoint string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &banner)
	}

	if err != nil {
		end()
		return "", nil, fmt.Errorf("ratchet dev: %w", err)
	}

	return banner.Endpoint, end, nil
}

// fill writes the processor's file, and stores the payments and transfers that belong to its
// lines. It returns how many lines carry a wrong amount.
func fill(ctx context.Context, b *server.Backend, name string, lines int) (wrong int, err error) {
	file, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()

	text := bufio.NewWriter(file)
	fmt.Fprintln(text, "key,kind,amount,currency,state")

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)

	// A payment's steps and transfers are written together, in one batch of at most 25 items.
	for i := 0; i < lines; i += perPayment {
		var steps []types.AttributeValue
		var transfers []types.WriteRequest
		id := fmt.Sprint("p-", i/perPayment)

		for n := range min(perPayment, lines-i) {
			step := fmt.Sprint("c-", n)
			amount := int64(100 + n)
			reported := amount
			// The file differs from the tables, which are consistent in themselves.
			if (i+n)%every == 0 {
				wrong++
				reported++
			}

			fmt.Fprintf(text, "%s/%s,capture,%d,EUR,succeeded\n", id, step, reported)
			steps = append(steps, captureStep(step, amount))
			transfers = append(transfers, captureTransfer(id, step, amount))
		}

		payment := dynamo.Item{
			"paymentId": dynamo.S(id),
			"currency":  dynamo.S("EUR"),
			"state":     dynamo.S("CAPTURED"),
			"steps":     &types.AttributeValueMemberL{Value: steps},
		}
		group.Go(func() error {
			_, err := b.DynamoDB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{
					b.Tables.Payments:         {put(payment)},
					b.Tables.Ledger.Transfers: transfers,
				},
			})

			return err
		})

		if i%100_000 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d lines written\n", i, lines)
		}

		if ctx.Err() != nil {
			break // a write has failed, and Wait returns its error
		}
	}

	if err := group.Wait(); err != nil {
		return 0, err
	}

	return wrong, text.Flush()
}

// captureStep is a step of a payment in the form in which package payments stores it.
func captureStep(id string, amount int64) types.AttributeValue {
	return dynamo.M(dynamo.Item{
		"id":      dynamo.S(id),
		"kind":    dynamo.S(string(payments.Capturing)),
		"amount":  dynamo.N(amount),
		"outcome": dynamo.S(string(payments.Succeeded)),
		"at":      dynamo.N(1),
	})
}

// captureTransfer is the step's transfer in the form in which package ledger stores it.
func captureTransfer(payment, step string, amount int64) types.WriteRequest {
	return put(dynamo.Item{
		"transferId": dynamo.S(payment + "/" + step + "#payment"),
		"currency":   dynamo.S("EUR"),
		"at":         dynamo.N(1),
		"reference":  dynamo.S("payment " + string(payments.Capturing)),
		"legs": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			dynamo.M(dynamo.Item{"account": dynamo.S("clearing"), "amount": dynamo.N(-amount)}),
			dynamo.M(dynamo.Item{"account": dynamo.S("shop"), "amount": dynamo.N(amount)}),
		}},
	})
}

func put(item dynamo.Item) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: item}}
}
