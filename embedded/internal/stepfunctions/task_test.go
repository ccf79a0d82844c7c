package stepfunctions

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// Of many completions of one task exactly one counts.
func TestOneCompletionWins(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	for range 20 {
		arn := b.start(machine, "", `{}`)
		token := b.poll(activity).TaskToken

		var wg sync.WaitGroup

		var mu sync.Mutex
		var winner string
		lost := map[string]int{}
		for i := range 8 {
			wg.Go(func() {
				err := b.succeed(token, fmt.Sprint(i))
				mu.Lock()
				defer mu.Unlock()

				if err == nil {
					winner += fmt.Sprint(i)
				} else {
					lost[code(err)]++
				}
			})
		}
		wg.Wait()

		if d := b.describe(arn); len(winner) != 1 || lost["TaskTimedOut"] != 7 || *d.Output != winner {
			t.Fatalf("winners %q, losers %v, output %s", winner, lost, *d.Output)
		}
	}
}

// Polls that are canceled at any moment neither lose nor duplicate a queued task.
func TestCanceledPollsLoseNoTask(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))

	executions := 200
	if testing.Short() {
		executions = 50
	}

	var wg sync.WaitGroup
	canceling, stopCanceling := context.WithCancel(t.Context())
	for range 4 {
		wg.Go(func() {
			for canceling.Err() == nil {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				out, err := b.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: &activity})
				cancel()

				if err == nil && out.TaskToken != nil {
					if err := b.succeed(out.TaskToken, `"canceled"`); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}

	arns := make([]string, executions)
	for i := range arns {
		arns[i] = b.start(machine, "", `{}`)
	}
	stopCanceling()
	wg.Wait()

	for b.svc.queues.Of(activity).Len() > 0 {
		out, err := b.GetActivityTask(t.Context(), &sfn.GetActivityTaskInput{ActivityArn: &activity})
		if err != nil {
			t.Fatal(err)
		}

		if err := b.succeed(out.TaskToken, `"rest"`); err != nil {
			t.Error(err)
		}
	}

	// A task that was started just before its poll was canceled is lost with the answer. Only
	// its heartbeat or timeout brings it back.
	lost := 0
	for _, arn := range arns {
		if b.describe(arn).Status == types.ExecutionStatusSucceeded {
			continue
		}
		lost++

		if _, text := b.history(arn); !strings.Contains(text, "ActivityStarted") {
			t.Errorf("a task has gone without a start: %s", text)
		}
	}
	t.Logf("%d of %d tasks went to canceled polls", lost, executions)
}

// Waits, timeouts, heartbeats and retries come at their time, on a simulated clock.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, t.TempDir())
		defer b.stop()
		activity := b.activity("work")
		machine := b.machine("m", `{"StartAt":"W","States":{`+
			`"W":{"Type":"Wait","Seconds":3600,"Next":"A"},`+
			`"A":{"Type":"Task","Resource":"`+activity+`","TimeoutSeconds":100,"HeartbeatSeconds":10,"End":true,`+
			`"Retry":[{"ErrorEquals":["States.HeartbeatTimeout"],"IntervalSeconds":5,"MaxAttempts":1}],`+
			`"Catch":[{"ErrorEquals":["States.Timeout"],"Next":"T"}]},`+
			`"T":{"Type":"Succeed"}}}`)
		begin := time.Now()
		arn := b.start(machine, "n", `{}`)

		idle := b.poll(activity)
		if idle.TaskToken != nil || time.Since(begin) != time.Minute {
			t.Fatalf("an idle poll took %v and gave %v", time.Since(begin), idle.TaskToken)
		}

		var got *sfn.GetActivityTaskOutput
		for got = b.poll(activity); got.TaskToken == nil; got = b.poll(activity) {
		}

		if d := time.Since(begin); d < time.Hour || d > time.Hour+time.Second {
			t.Errorf("the task came after %v", d)
		}

		second := b.poll(activity) // after 10 s without a heartbeat and 5 s before the retry
		if d := time.Since(begin); second.TaskToken == nil || d < time.Hour+15*time.Second || d > time.Hour+16*time.Second {
			t.Errorf("the retry came after %v", d)
		}

		if err := b.succeed(got.TaskToken, `1`); code(err) != "TaskTimedOut" {
			t.Error(err)
		}

		for range 12 {
			time.Sleep(8 * time.Second)

			if _, err := b.SendTaskHeartbeat(t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: second.TaskToken}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(8 * time.Second)

		if _, err := b.SendTaskHeartbeat(t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: second.TaskToken}); code(err) != "TaskTimedOut" {
			t.Error(err)
		}

		if d := b.describe(arn); d.Status != types.ExecutionStatusSucceeded || !strings.Contains(*d.Output, "States.Timeout") {
			t.Errorf("%+v", d)
		}
	})
}

// Queues, tokens, timers and names survive a restart.
func TestReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b := open(t, dir)
		defer func() { b.stop() }()

		activity := b.activity("work")
		machine := b.machine("m", task(activity, `,"HeartbeatSeconds":30,"ResultPath":"$.r"`))
		waits := b.machine("w", `{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":60,"End":true}}}`)
		for i := range 5 {
			b.start(machine, fmt.Sprint("e", i), fmt.Sprintf(`{"i":%d}`, i))
		}
		started := b.start(waits, "w", `{}`)
		token := b.poll(activity).TaskToken
		silent := b.poll(activity)
		b.stop()

		time.Sleep(20 * time.Second)

		b = open(t, dir)
		if err := b.succeed(token, `"done"`); err != nil {
			t.Fatal(err)
		}

		for i := 2; i < 5; i++ {
			if got := b.poll(activity); *got.Input != fmt.Sprintf(`{"i":%d}`, i) {
				t.Errorf("task %d is %s: not first in, first out", i, *got.Input)
			}
		}

		d := b.describe("arn:aws:states:us-east-1:000000000000:execution:m:e0")
		if *d.Output != `{"i":0,"r":"done"}` {
			t.Error(*d.Output)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()

		d = b.describe("arn:aws:states:us-east-1:000000000000:execution:m:e1")
		if d.Status != types.ExecutionStatusFailed || *d.Error != "States.Timeout" {
			t.Error("the heartbeat timeout was lost:", d.Status)
		}

		if err := b.succeed(silent.TaskToken, `1`); code(err) != "TaskTimedOut" {
			t.Error(err)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()

		if d := b.describe(started); d.Status != types.ExecutionStatusSucceeded {
			t.Error("the wait was lost:", d.Status)
		}

		_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{
			StateMachineArn: &machine,
			Name:            aws.String("e0"),
			Input:           aws.String(`{"i":0}`),
		})
		if code(err) != "ExecutionAlreadyExists" {
			t.Error("the name is free again:", err)
		}
	})
}
