package stepfunctions

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
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

	b.svc.tick(key)

	if keys, next := b.svc.timers.pop(0, 1); len(keys) > 0 || next != 0 {
		t.Errorf("the timer of an execution that is no more: %v, %d", keys, next)
	}
}
