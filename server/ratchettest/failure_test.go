package ratchettest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/payments"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/workflow"
)

// lostBank is a bank to which there is no way.
type lostBank struct{ payments.Processor }

var errNoWay = errors.New("no way to the bank")

func (lostBank) Sale(context.Context, payments.Request) (string, error) { return "", errNoWay }

func (lostBank) Authorize(context.Context, payments.Request) (string, error) { return "", errNoWay }

func (lostBank) Void(context.Context, string) error { return errNoWay }

func (lostBank) Lookup(context.Context, string) (payments.Operation, error) {
	return payments.Operation{}, errNoWay
}

// TestAVainWaitSaysHowTheStepFailed: the order does not move because a step fails again and again.
func TestAVainWaitSaysHowTheStepFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{
			Patience: 10 * time.Second,
			Server:   server.Config{Parts: server.Parts{Bank: lostBank{}}},
		})
		env.SetStock("mug", 1)
		env.Execute(ratchettest.NewOrder("o-1", "mug"))
		env.WantOrder("o-1", workflow.Pending, 1)

		f := &failing{TB: t}
		env = env.With(f)

		got := f.run(func() { env.WantOrder("o-1", workflow.PaymentReceived, 2) })
		if !strings.Contains(got, "last seen: PENDING at transition 1; the task of state Pay failed: Order.") || !strings.Contains(got, errNoWay.Error()) {
			t.Errorf("the failure is %q", got)
		}
	})
}
