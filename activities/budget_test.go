package activities

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

func TestWorkerPoint09_ACallWithAnEarlierDeadlineGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1, 0)
		began := time.Now()

		if err := b.take(t.Context(), began); err != nil {
			t.Fatal(err)
		}

		var mu sync.Mutex
		var order []int

		for _, deadline := range []int{30, 10, 20} {
			go func() {
				if err := b.take(t.Context(), began.Add(time.Duration(deadline)*time.Second)); err != nil {
					t.Error(err)
				}

				mu.Lock()
				defer mu.Unlock()
				order = append(order, deadline)
			}()
			synctest.Wait()
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()

		if !slices.Equal(order, []int{10, 20, 30}) || time.Since(began) != 3*time.Second {
			t.Errorf("turns in the order %v after %v", order, time.Since(began))
		}
	})
}

func TestWorkerPoint09_ATurnThatIsNotUsedGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1, 0)
		began := time.Now()

		if err := b.take(t.Context(), began); err != nil {
			t.Fatal(err)
		}

		cause := errors.New("the task has ended")
		ctx, cancel := context.WithCancelCause(t.Context())

		for range 100 {
			go func() {
				if err := b.take(ctx, began); !errors.Is(err, cause) {
					t.Errorf("take: %v", err)
				}
			}()
		}
		synctest.Wait()
		cancel(cause)
		synctest.Wait()

		if err := b.take(t.Context(), began); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v, want the turn that the others did not need", err, time.Since(began))
		}

		// A caller that gives its turn back after it was granted.
		turn := b.enqueue(began)
		time.Sleep(time.Second)
		synctest.Wait()
		b.giveBack(turn)

		if err := b.take(t.Context(), began); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v, want the turn that was given back", err, time.Since(began))
		}
	})
}

func TestABudgetLetsBurstsThroughAndThenKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 2)
		began := time.Now()
		moments := make([]time.Duration, 40)

		for i := range moments {
			if err := b.take(t.Context(), began); err != nil {
				t.Fatal(err)
			}
			moments[i] = time.Since(began)
		}

		if moments[20] != 0 || moments[21] != 100*time.Millisecond || moments[39] != 1900*time.Millisecond {
			t.Errorf("calls at %v", moments)
		}
	})
}

func TestANegativeRateIsNoLimit(t *testing.T) {
	b := newBudget(-1, 0)
	for range 10_000 {
		if err := b.take(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
}

// direct is the script without HTTP, for tests with very many calls.
type direct struct{ *script }

// GetActivityTask is part of Client.
func (d *direct) GetActivityTask(ctx context.Context, _ *sfn.GetActivityTaskInput, _ ...func(*sfn.Options)) (*sfn.GetActivityTaskOutput, error) {
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return &sfn.GetActivityTaskOutput{}, nil
	case token := <-d.tokens:
		d.alive(token)
		return &sfn.GetActivityTaskOutput{TaskToken: &token}, nil
	}
}

// SendTaskSuccess is part of Client.
func (d *direct) SendTaskSuccess(_ context.Context, in *sfn.SendTaskSuccessInput, _ ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	return &sfn.SendTaskSuccessOutput{}, d.heardFrom(*in.TaskToken)
}

// SendTaskFailure is part of Client.
func (d *direct) SendTaskFailure(_ context.Context, in *sfn.SendTaskFailureInput, _ ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error) {
	return &sfn.SendTaskFailureOutput{}, d.heardFrom(*in.TaskToken)
}

// SendTaskHeartbeat is part of Client.
func (d *direct) SendTaskHeartbeat(_ context.Context, in *sfn.SendTaskHeartbeatInput, _ ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error) {
	if !d.quiet {
		d.mu.Lock()
		d.calls = append(d.calls, sentCall{op: "SendTaskHeartbeat", at: time.Since(d.began)})
		d.mu.Unlock()
	}

	return &sfn.SendTaskHeartbeatOutput{}, d.heardFrom(*in.TaskToken)
}

func (d *direct) heardFrom(token string) error {
	if d.alive(token) {
		return nil
	}

	return &sfntypes.TaskTimedOut{}
}

// overload lets many tasks run at the same time and counts the lost ones.
func overload(t *testing.T, tasks int, heartbeat, each time.Duration, perSecond float64) (lost int, beats []sentCall) {
	t.Helper()
	s := &direct{script: newScript()}
	s.heartbeat = heartbeat

	for i := range tasks {
		s.tokens <- strconv.Itoa(i)
	}

	var ended, failed atomic.Int32
	r := begin(t, s.config(lasts(each), func(c *Config) {
		c.SFN = s
		c.Rates = Rates{GetActivityTask: perSecond, SendTaskSuccess: perSecond, SendTaskHeartbeat: perSecond}
		c.Activities[0].Heartbeat = heartbeat
		c.Activities[0].Slots, c.Activities[0].Pollers = tasks, 64
		c.Events.Done = func(d Done) {
			ended.Add(1)

			if d.Outcome != Succeeded {
				failed.Add(1)
			}
		}
	}))
	time.Sleep(each + 2*time.Minute)
	wantNil(t, r.stop())

	if int(ended.Load()) != tasks {
		t.Errorf("%d of %d tasks have ended", ended.Load(), tasks)
	}

	return int(failed.Load()), s.of("SendTaskHeartbeat")
}

func TestWorkerPoint09_TenThousandTasksShareTheBudgetAndNoneIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks, rate := 10_000, 400
		if testing.Short() {
			tasks, rate = 1_000, 40
		}

		lost, beats := overload(t, tasks, 90*time.Second, 5*time.Minute, float64(rate))
		if lost != 0 {
			t.Errorf("%d tasks were lost", lost)
		}

		slices.SortFunc(beats, func(a, b sentCall) int { return int(a.at - b.at) })

		for i := rate; i < len(beats); i++ {
			if beats[i].at-beats[i-rate].at < time.Second {
				t.Fatalf("%d heartbeats within %v, at %v", rate+1, beats[i].at-beats[i-rate].at, beats[i].at)
			}
		}

		if len(beats) < tasks*3 {
			t.Errorf("%d heartbeats", len(beats))
		}
	})
}

func TestWorkerPoint09_NearItsLimitTheBudgetLosesNoTask(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees the same in the test of ten thousand tasks")
	}

	synctest.Test(t, func(t *testing.T) {
		// 3,300 tasks with HeartbeatSeconds of 15 need 244 heartbeats a second, each just
		// before its fence.
		if lost, beats := overload(t, 3300, 15*time.Second, 2*time.Minute, 250); lost != 0 {
			t.Errorf("%d of 3300 tasks were lost, with %d heartbeats", lost, len(beats))
		}
	})
}

func TestWorkerPoint09_BeyondItsLimitTheBudgetLosesFewTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees the same in the test of ten thousand tasks")
	}

	synctest.Test(t, func(t *testing.T) {
		// The budget is enough for 3,375 tasks.
		if lost, beats := overload(t, 4000, 15*time.Second, 2*time.Minute, 250); lost > 1000 {
			t.Errorf("%d of 4000 tasks were lost, with %d heartbeats", lost, len(beats))
		}
	})
}
