package stepfunctions

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
)

const waitAndWork = `{"StartAt":"W","States":{"W":{"Type":"Wait","SecondsPath":"$","Next":"A"},
	"A":{"Type":"Task","Resource":"%s","End":true}}}`

// An execution whose timer takes long delays no other one, and the end of Run waits for it.
func TestASlowTimerDelaysNoOther(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	work := b.activity("work")
	machine := b.machine("m", strings.ReplaceAll(waitAndWork, "%s", work))

	slow, _, err := b.svc.executionNamed(b.start(machine, "slow", "3599"))
	if err != nil {
		t.Fatal(err)
	}

	b.start(machine, "other", "3600")

	// Its lock keeps the execution as an expression in it would.
	lock := b.svc.lock(slow)
	lock.Lock()
	b.svc.cfg.Clock.Shift(time.Hour)

	if task := b.poll(work); task.TaskToken == nil || *task.Input != "3600" {
		t.Errorf("the task %+v is not that of the other execution", task)
	}

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		b.stop()
	}()

	lock.Unlock()
	<-stopped

	if st, err := open(t, dir).svc.readExecution(slow); err != nil || st.NextTimer() != 0 {
		t.Errorf("after the end the timer is still to fire: %+v, %v", st, err)
	}
}

// A timer that was taken before its execution was deleted is over: nothing tries it again.
func TestTheTimerOfADeletedExecution(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", strings.ReplaceAll(waitAndWork, "%s", b.activity("work")))

	key, _, err := b.svc.executionNamed(b.start(machine, "e", "3600"))
	if err != nil {
		t.Fatal(err)
	}

	if _, err := b.DeleteStateMachine(t.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: &machine}); err != nil {
		t.Fatal(err)
	}

	b.svc.tick(t.Context(), key)

	if due, next := b.svc.timers.Pop(0, 1); len(due) > 0 || next != 0 {
		t.Errorf("the timer of an execution that is no more: %v, %d", due, next)
	}
}

// The end of runTimers waits for timers that are firing. After that, the store may close.
func TestTheEndOfTimersWaits(t *testing.T) {
	db, err := store.Open(store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = db.Close() }()

	svc, err := New(db, Config{Region: "us-east-1", AccountID: "000000000000"})
	if err != nil {
		t.Fatal(err)
	}

	const machine = "arn:aws:states:us-east-1:000000000000:stateMachine:m"
	for _, call := range []struct{ operation, body string }{
		{"CreateStateMachine", `{"name":"m","roleArn":"arn:aws:iam::000000000000:role/r","definition":"{\"StartAt\":\"W\",\"States\":{\"W\":{\"Type\":\"Wait\",\"Seconds\":3600,\"End\":true}}}"}`},
		{"StartExecution", `{"name":"e","stateMachineArn":"` + machine + `"}`},
	} {
		if _, err := svc.calls.Own[call.operation](t.Context(), []byte(call.body)); err != nil {
			t.Fatal(err)
		}
	}

	key, _, err := svc.executionNamed(strings.Replace(machine, "stateMachine:m", "execution:m:e", 1))
	if err != nil {
		t.Fatal(err)
	}

	lock := svc.lock(key)
	lock.Lock()
	svc.cfg.Clock.Shift(time.Hour)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- svc.runTimers(ctx) }()

	for taken := false; !taken; runtime.Gosched() {
		taken = svc.timers.Len() == 0
	}

	cancel()

	for range 10000 { // time for an end that does not wait
		runtime.Gosched()
	}

	select {
	case <-ended:
		t.Error("timers have ended while one fires")
		lock.Unlock()
	default:
		lock.Unlock()
		<-ended
	}

	if st, err := svc.readExecution(key); err != nil || st.Status != execution.Succeeded {
		t.Errorf("%+v, %v", st, err)
	}
}
