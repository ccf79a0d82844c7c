package activities

import (
	"context"
	"errors"
	"flag"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

var soakTasks = flag.Int("tasks", 10_000, "tasks of TestWorkerPoint44_ASoakGrowsNeitherGoroutinesNorMemory")

// quietGoroutines is how many goroutines a worker without tasks and the test may have.
const quietGoroutines = 24

// TestWorkerPoint44_ASoakGrowsNeitherGoroutinesNorMemory runs many tasks of every kind of
// end, with heartbeats and faults, and compares the goroutines and the memory after a tenth of them
// with both after all.
func TestWorkerPoint44_ASoakGrowsNeitherGoroutinesNorMemory(t *testing.T) {
	s := &flaky{direct: direct{script: newScript()}}
	s.quiet = true

	var ended atomic.Int64
	r := begin(t, s.config(soakHandler, func(c *Config) {
		c.SFN = s
		c.Rates = Rates{-1, -1, -1, -1}
		c.Activities[0].Slots, c.Activities[0].Pollers = 64, 8
		c.Activities[0].Heartbeat, c.Activities[0].Timeout = time.Second, time.Minute
		c.Events.Done = func(Done) { ended.Add(1) }
	}))

	run := func(from, to int) {
		for i := from; i < to; i++ {
			s.tokens <- strconv.Itoa(i)
		}

		for deadline := time.Now().Add(10 * time.Minute); ended.Load() < int64(to); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d tasks have ended", ended.Load(), to)
			}
		}

		// Goroutines that wait for their next task end.
		for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > quietGoroutines && time.Now().Before(deadline); {
			time.Sleep(runnerIdle / 10)
		}
	}

	run(0, *soakTasks/10)
	goroutines, memory := held()
	run(*soakTasks/10, *soakTasks)
	moreGoroutines, moreMemory := held()
	wantNil(t, r.stop())

	t.Logf("%d tasks: %d goroutines and %d KB, %d and %d KB after a tenth",
		*soakTasks, moreGoroutines, moreMemory>>10, goroutines, memory>>10)

	if goroutines > quietGoroutines || moreGoroutines > quietGoroutines {
		t.Errorf("%d goroutines after a tenth of the tasks, %d after all", goroutines, moreGoroutines)
	}

	if moreMemory > memory+256<<10 {
		t.Errorf("%d KB after a tenth of the tasks, %d KB after all", memory>>10, moreMemory>>10)
	}
}

// flaky is a service that fails now and then.
type flaky struct {
	direct

	n atomic.Int64
}

// SendTaskSuccess is part of Client.
func (f *flaky) SendTaskSuccess(ctx context.Context, in *sfn.SendTaskSuccessInput, o ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	switch f.n.Add(1) % 50 {
	case 0:
		return nil, &sfntypes.TaskTimedOut{}
	case 10:
		return nil, errors.New("the connection broke")
	}

	return f.direct.SendTaskSuccess(ctx, in, o...)
}

// SendTaskHeartbeat is part of Client.
func (f *flaky) SendTaskHeartbeat(ctx context.Context, in *sfn.SendTaskHeartbeatInput, o ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error) {
	switch f.n.Add(1) % 50 {
	case 20:
		return nil, &sfntypes.TaskTimedOut{}
	case 30:
		<-ctx.Done()
		return nil, ctx.Err()
	}

	return f.direct.SendTaskHeartbeat(ctx, in, o...)
}

// soakHandler ends tasks in every way.
func soakHandler(ctx context.Context, t Task) (any, error) {
	switch n, _ := strconv.Atoi(string(t.Token)); n % 50 {
	case 0:
		panic("soak")
	case 1:
		runtime.Goexit()
	case 2:
		return nil, ErrParked
	case 3:
		return nil, context.Canceled
	case 4: // long enough for a heartbeat
		return nil, RecordHeartbeat(ctx, n)
	case 5:
		lasts(400*time.Millisecond)(ctx, t)
	}

	return t.Token, nil
}

// held returns how many goroutines there are and how much memory is reachable.
func held() (goroutines int, memory uint64) {
	var m runtime.MemStats

	for range 3 { // the second and third free the objects that the first has finalized
		runtime.GC()
	}
	runtime.ReadMemStats(&m)

	return runtime.NumGoroutine(), m.HeapAlloc
}
