package embedded

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"
)

// crashDir names the data directory of a child process that writes until it is
// killed.
const crashDir = "RATCHET_EMBEDDED_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		return
	}
	goleak.VerifyTestMain(m)
}

const crashWriters = 16

var flagKills = flag.Int("kills", 8, "how often the writing process is killed")

// kills is smaller in short mode: each process that is killed runs the same code.
func kills() int {
	if testing.Short() {
		return min(*flagKills, 2)
	}

	return *flagKills
}

// writeUntilKilled writes a line to stdout for every acknowledged write: "u <writer> <n>" for
// the nth update of the writer's order, "t <writer>" for a transfer of one cent.
func writeUntilKilled(dir string) error {
	e, err := Open(Config{Dir: dir})
	if err != nil {
		return err
	}
	db := dynamodb.NewFromConfig(e.AWSConfig())
	errs := make(chan error)
	go func() {
		// Each roll makes a shard, and the test reads all shards of all rounds.
		for range time.Tick(5 * time.Millisecond) {
			streams, err := db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
			if err == nil {
				err = e.RollShards(context.Background(), *streams.Table.LatestStreamArn)
			}

			if err != nil {
				errs <- err
			}
		}
	}()

	for w := range crashWriters {
		go func() { errs <- crashWriter(db, w) }()
	}

	if api := sqs.NewFromConfig(e.AWSConfig()); hasQueues(api) {
		for w := range crashQueues {
			go func() { errs <- crashQueue(api, w) }()
		}
	}

	return <-errs
}

func crashWriter(db *dynamodb.Client, w int) error {
	id := fmt.Sprint(w)
	for {
		n, err := countUp(context.Background(), db, id)
		if err != nil {
			return err
		}
		fmt.Printf("u %d %s\n", w, n)

		if err := moveCent(context.Background(), db, id); err != nil {
			return err
		}
		fmt.Printf("t %d\n", w)
	}
}

// countUp adds 1 to the n of an order and returns it.
func countUp(ctx context.Context, db *dynamodb.Client, id string) (n string, err error) {
	out, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String("orders"), Key: item{"id": str(id)}, ReturnValues: types.ReturnValueUpdatedNew,
		UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: item{":one": num("1")},
	})
	if err != nil {
		return "", err
	}

	return number(out.Attributes["n"]), nil
}

// moveCent moves one cent between the two accounts of an owner, in one transaction with further parts.
func moveCent(ctx context.Context, db *dynamodb.Client, owner string, further ...types.TransactWriteItem) error {
	_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append([]types.TransactWriteItem{addToBalance("from-"+owner, "-1"), addToBalance("to-"+owner, "1")}, further...),
	})

	return err
}

// addToBalance is a part of a transaction.
func addToBalance(account, step string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String("accounts"), Key: item{"id": str(account)},
		UpdateExpression: aws.String("ADD balance :step"), ExpressionAttributeValues: item{":step": num(step)},
	}}
}

// TestKillKeepsAcknowledgedWrites kills a writing process several times. All acknowledged writes must
// be in the table and in the stream, and no transaction may be there in part.
func TestKillKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel() // waits for the disk most of the time
	dir := t.TempDir()
	f := reopen(t, dir)
	f.table("orders", "id", "", types.StreamViewTypeNewImage)
	f.table("accounts", "id", "", "")

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	var updates, transfers [crashWriters]int
	for round := range kills() {
		killAfter(t, dir, 800, func(line string) bool {
			var w, n int
			if _, err := fmt.Sscanf(line, "u %d %d", &w, &n); err == nil {
				updates[w] = n
			} else if _, err := fmt.Sscanf(line, "t %d", &w); err == nil {
				transfers[w]++
			}

			return true
		})
		f := openOnce(t, dir)
		// The stream keeps the records of all rounds, so in a long run only some rounds read it.
		var seen map[string]int
		if round < 20 || round%25 == 0 || round == kills()-1 {
			seen = f.updatesInStream(round)
		}

		for w := range crashWriters {
			id := fmt.Sprint(w)
			n := atoi(t, number(f.get("orders", item{"id": str(id)})["n"]))
			if n < updates[w] || n > updates[w]+1 {
				t.Errorf("round %d, order %d: acknowledged %d, in the table %d", round, w, updates[w], n)
			}

			if seen != nil && seen[id] != n {
				t.Errorf("round %d, order %d: in the table %d, in the stream %d", round, w, n, seen[id])
			}

			from, to := number(f.get("accounts", item{"id": str("from-" + id)})["balance"]), number(f.get("accounts", item{"id": str("to-" + id)})["balance"])
			moved := atoi(t, to)
			if atoi(t, from) != -moved || moved < transfers[w] || moved > transfers[w]+1 {
				t.Errorf("round %d, account %d: acknowledged %d, from %s, to %s", round, w, transfers[w], from, to)
			}
			updates[w], transfers[w] = n, moved // also the writes without an acknowledgement
		}

		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// updatesInStream reads the stream of the orders, in which each update of an order follows the one before
// it, and returns the last one of each order.
func (f *fixture) updatesInStream(round int) (last map[string]int) {
	f.t.Helper()
	last = map[string]int{}
	f.readForest(*f.describe("orders").LatestStreamArn, func(r stypes.Record) {
		id := r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value
		n := atoi(f.t, r.Dynamodb.NewImage["n"].(*stypes.AttributeValueMemberN).Value)
		if n != last[id]+1 {
			f.t.Fatalf("round %d: in the stream update %d of order %s follows %d", round, n, id, last[id])
		}
		last[id] = n
	})

	return last
}

func atoi(t *testing.T, s string) (n int) {
	t.Helper()

	if s == "" {
		return 0
	}

	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}

	return n
}

// killAfter runs this test binary as a writer over dir and kills it with SIGKILL once it has
// written a number of lines and see says that it has seen enough. It calls see with every line.
func killAfter(t *testing.T, dir string, lines int, see func(string) (enough bool)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	var kill sync.Once
	scanner := bufio.NewScanner(out)
	written := 0
	for ; scanner.Scan(); written++ {
		if enough := see(scanner.Text()); enough && written >= lines {
			kill.Do(func() {
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	_ = cmd.Wait() // it was killed

	if written < lines {
		t.Fatalf("the writer ended after %d lines", written)
	}
}
