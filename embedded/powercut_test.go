package embedded

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	flagCuts    = flag.Int("cuts", 20, "how often the power fails")
	flagCutSeed = flag.Uint64("cutseed", 1, "seed of what a power failure leaves of the data that was not flushed")
)

const cutWriters = 8

// powered is an engine on a file system that keeps all flushed data after a power failure, and any
// part of the rest. acked has the writes that the engine acknowledged before the failure.
type powered struct {
	*flow
	fs    *vfs.MemFS
	dice  *rand.Rand
	ended chan error
	stop  context.CancelFunc

	updates, transfers [cutWriters]int // acknowledged
	streamed           [cutWriters]int // the last update whose record was seen
	newest             cutExecution
	shift              time.Duration
}

// cutExecution is the newest execution, as its client knows it.
type cutExecution struct {
	n               int
	started, posted bool   // acknowledged
	token           string // of its task, "" before the poll was answered
}

// TestAPowerFailureKeepsAcknowledgedWrites cuts the power at random moments under load, each time
// on the disk that the last failure has left. Every acknowledged write must be there, no transaction in
// part, the stream must have the records of all changes, and executions go on.
func TestAPowerFailureKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel() // waits for other goroutines most of the time

	p := &powered{fs: vfs.NewCrashableMem(), dice: rand.New(rand.NewPCG(*flagCutSeed, 0))}
	p.open(t)
	p.create()

	cuts := *flagCuts
	if testing.Short() {
		cuts = min(cuts, 4)
	}

	for cut := range cuts {
		p.load(1 + p.dice.IntN(150))
		p.check(cut)

		if p.dice.IntN(10) == 0 {
			p.flushRemovals()
		}
	}
	p.close()
	t.Logf("%d power failures, %d executions, updates %v, transfers %v", cuts, p.newest.n, p.updates, p.transfers)
}

// open opens the engine on the file system.
func (p *powered) open(t *testing.T) {
	e, err := openOn(p.fs, Config{Dir: "data", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}

	p.flow, p.ended = newFlow(t, e), make(chan error, 1)
	e.ShiftClock(p.shift)

	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.ended <- e.Run(ctx) }()
}

func (p *powered) close() {
	p.t.Helper()
	p.stop()

	if err := errors.Join(<-p.ended, p.Close()); err != nil {
		p.t.Fatal(err)
	}
}

const cutARN = "arn:aws:states:us-east-1:000000000000:"

func (p *powered) create() {
	p.t.Helper()
	p.table("orders", "id", "", types.StreamViewTypeNewImage)
	p.table("accounts", "id", "", "")
	p.activity("a")
	p.machine("m", `{"StartAt":"P","States":{"P":{"Type":"Pass","Next":"A"},
		"A":{"Type":"Task","Resource":"`+cutARN+`activity:a","TimeoutSeconds":3600,
			"Retry":[{"ErrorEquals":["States.Timeout"],"IntervalSeconds":1,"MaxAttempts":1000000}],"End":true}}}`, sfntypes.StateMachineTypeStandard)
}

// load writes until the engine has acknowledged a number of calls, and cuts the power while the
// writers go on.
func (p *powered) load(acknowledged int) {
	p.t.Helper()

	var mu sync.Mutex // guards what is acknowledged, up to the failure
	off, left := false, acknowledged
	enough := make(chan struct{})

	ack := func(record func()) bool {
		mu.Lock()
		defer mu.Unlock()

		if off {
			return false
		}
		record()

		if left--; left == 0 {
			close(enough)
		}

		return true
	}

	ctx, over := context.WithCancel(p.t.Context())
	var writers sync.WaitGroup
	for w := range cutWriters {
		writers.Go(func() {
			for ctx.Err() == nil {
				p.write(ctx, w, ack)
			}
		})
	}
	writers.Go(func() {
		for p.step(ctx, ack) {
		}
	})

	<-enough
	mu.Lock()
	off = true // what is acknowledged from here on may be lost
	mu.Unlock()

	rest := p.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[p.dice.IntN(3)], RNG: p.dice})

	over()
	writers.Wait()
	p.close()
	p.fs = rest
	p.open(p.t)
}

// write makes an update and a transfer.
func (p *powered) write(ctx context.Context, w int, ack func(func()) bool) {
	id := fmt.Sprint(w)

	n, err := countUp(ctx, p.db, id)
	if err != nil {
		p.failed(ctx, err)
		return
	}
	ack(func() { p.updates[w] = atoi(p.t, n) })

	if err := moveCent(ctx, p.db, id); err != nil {
		p.failed(ctx, err)
		return
	}
	ack(func() { p.transfers[w]++ })
}

// failed reports an error, unless the load is over.
func (p *powered) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.t.Error(err)
	}
}

// step takes the newest execution one step on, or starts the next one. It returns false when the
// power is off: an answer that is not recorded must not be acted on.
func (p *powered) step(ctx context.Context, ack func(func()) bool) bool {
	var err error
	var record func()
	switch flow := p.newest; {
	case flow.posted:
		p.newest = cutExecution{n: flow.n + 1}
		return true
	case !flow.started:
		_, err = p.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: aws.String(cutARN + "stateMachine:m"), Name: flow.name(), Input: aws.String(`{}`)})
		record = func() { p.newest.started = true }
	case flow.token == "":
		var task *sfn.GetActivityTaskOutput
		task, err = p.sfn.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: aws.String(cutARN + "activity:a")})
		record = func() { p.newest.token = aws.ToString(task.TaskToken) }
	default:
		_, err = p.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &flow.token, Output: aws.String(`{}`)})
		record = func() { p.newest.posted = true }
	}

	if err != nil {
		p.failed(ctx, err)
		return false
	}

	return ack(record)
}

func (e cutExecution) name() *string { return aws.String(fmt.Sprintf("e-%d", e.n)) }

// flushRemovals lets the disk note which files are removed, as it does by itself within seconds. Until then
// each power failure brings all of them back.
func (p *powered) flushRemovals() {
	p.t.Helper()

	dir, err := p.fs.OpenDir("data")
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}

	if err != nil {
		p.t.Fatal(err)
	}
}

// check compares the data after the power failure with the acknowledged writes.
func (p *powered) check(cut int) {
	p.t.Helper()

	arn := *p.describe("orders").LatestStreamArn
	p.readForest(arn, func(r stypes.Record) {
		w := atoi(p.t, r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value)
		n := atoi(p.t, r.Dynamodb.NewImage["n"].(*stypes.AttributeValueMemberN).Value)
		if n != p.streamed[w]+1 {
			p.t.Fatalf("cut %d: in the stream update %d of order %d follows %d", cut, n, w, p.streamed[w])
		}
		p.streamed[w] = n
	})

	for w := range cutWriters {
		id := fmt.Sprint(w)

		n := atoi(p.t, number(p.get("orders", item{"id": str(id)})["n"]))
		if n < p.updates[w] || p.streamed[w] != n {
			p.t.Fatalf("cut %d, order %d: acknowledged %d, in the table %d, in the stream %d", cut, w, p.updates[w], n, p.streamed[w])
		}

		from, to := number(p.get("accounts", item{"id": str("from-" + id)})["balance"]), number(p.get("accounts", item{"id": str("to-" + id)})["balance"])
		moved := atoi(p.t, to)
		if atoi(p.t, from) != -moved || moved < p.transfers[w] {
			p.t.Fatalf("cut %d, account %d: acknowledged %d, from %s, to %s", cut, w, p.transfers[w], from, to)
		}
		p.updates[w], p.transfers[w] = n, moved // also the writes without an acknowledgement
	}

	// The records were seen; without them the next check is as quick as this one.
	if err := p.TrimStream(p.t.Context(), arn, TrimPoint{}); err != nil {
		p.t.Fatal(err)
	}
	p.finish(cut)
}

// finish brings the newest execution to its end, with no more than its client knows of it.
func (p *powered) finish(cut int) {
	p.t.Helper()
	ctx := p.t.Context()

	if !p.newest.started && p.newest.token == "" {
		return // the next load starts it, again if need be
	}

	arn := aws.String(cutARN + "execution:m:" + *p.newest.name())

	for {
		d, err := p.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: arn})
		if err != nil {
			p.t.Fatalf("cut %d, execution %d (%+v): %v", cut, p.newest.n, p.newest, err)
		}

		if d.Status == sfntypes.ExecutionStatusSucceeded {
			break
		}

		if d.Status != sfntypes.ExecutionStatusRunning || p.newest.posted {
			p.t.Fatalf("cut %d, execution %d is %s, its task posted %v", cut, p.newest.n, d.Status, p.newest.posted)
		}

		if p.newest.token == "" {
			p.newest.token = p.poll()
			continue
		}

		if _, err := p.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &p.newest.token, Output: aws.String(`{}`)}); err != nil {
			p.t.Fatalf("cut %d, execution %d, its token: %v", cut, p.newest.n, err)
		}
	}
	p.newest = cutExecution{n: p.newest.n + 1}
}

// poll waits for a task. A task whose token was given to a call that the failure cut is given again
// once it has timed out.
func (p *powered) poll() (token string) {
	p.t.Helper()

	for {
		ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Millisecond)
		task, err := p.sfn.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: aws.String(cutARN + "activity:a")})
		cancel()

		if err == nil && task.TaskToken != nil {
			return *task.TaskToken
		}

		p.shift += 2 * time.Hour
		p.ShiftClock(p.shift)
	}
}
