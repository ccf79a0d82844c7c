package model

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/actions"
)

// actionsModel is the model of one-time actions.
type actionsModel struct{ all []*action }

type action struct {
	request   string // of its creation
	id        actions.ID
	pin       actions.PIN
	wrong     int // tries
	expires   time.Time
	state     actions.Outcome // Consumed, Canceled or ""
	consumeID string
	at        time.Time // when it was consumed
}

func (a *actionsModel) begin(p *program) { createAction(p) }

func createAction(p *program) {
	a := &p.actions
	now := p.store.clock.Now()
	one := &action{request: p.id("create", len(a.all)), expires: now.Add([]time.Duration{time.Minute, time.Hour, 100 * time.Hour}[p.roll(3)])}
	if p.chance(50) {
		one.pin = "4711"
	}

	var made actions.Action

	err := p.call("create action", func(ctx context.Context, m *machine) (err error) {
		made, err = m.actions.Create(ctx, actions.Spec{RequestID: one.request, PIN: one.pin, MaxAttempts: map[bool]int{true: 10}[one.pin != ""], ExpiresAt: one.expires})
		return err
	})
	if err != nil {
		p.fail("create %s: %v", one.request, err)
	}
	one.id = made.ID
	a.all = append(a.all, one)
}

// some chooses an action.
func (a *actionsModel) some(p *program) *action {
	one := a.all[p.roll(len(a.all))]
	p.passBy(one.expires)
	p.passBy(one.expires.Add(24 * time.Hour))

	return one
}

func consumeAction(p *program) {
	a, one := &p.actions, p.actions.some(p)
	r := actions.Request{ID: one.id, PIN: one.pin, ConsumeID: []string{"first", "second", "third"}[p.roll(3)]}
	want := one.outcome(p.store.clock.Now(), r.ConsumeID)
	if one.pin != "" && want == "" && one.wrong < 3 && p.chance(30) {
		one.wrong++
		r.PIN, want = actions.PIN([]string{"", "0001", "0002", "0003"}[one.wrong]), actions.InvalidPIN
	}

	if want == "" {
		want, one.state, one.consumeID = actions.Consumed, actions.Consumed, r.ConsumeID
	}

	got, err := a.ask(p, "consume", func(ctx context.Context, m *machine) (actions.Result, error) { return m.actions.Consume(ctx, r) })
	if err != nil || got.Outcome != want {
		p.fail("consume %+v as %s: %s, %v; want %s", one, r.ConsumeID, got.Outcome, err, want)
	}

	// Every later answer names the same moment.
	if used := got.ConsumedAt; !used.IsZero() {
		if one.at.IsZero() {
			one.at = used
		}

		if !used.Equal(one.at) {
			p.fail("%s was used at %s, then at %s", one.request, one.at, used)
		}
	}
}

// outcome is the answer to a consumption with the right PIN; empty if it would be the first.
func (a *action) outcome(now time.Time, consumeID string) actions.Outcome {
	switch {
	case now.After(a.expires.Add(24 * time.Hour)):
		return actions.Expired
	case a.state == actions.Canceled:
		return actions.Canceled
	case a.state == actions.Consumed && a.consumeID == consumeID:
		return actions.Consumed
	case a.state == actions.Consumed:
		return actions.AlreadyUsed
	case now.After(a.expires):
		return actions.Expired
	}

	return ""
}

func cancelAction(p *program) {
	a, one := &p.actions, p.actions.some(p)
	want := one.outcome(p.store.clock.Now(), "")
	if want == "" {
		want, one.state = actions.Canceled, actions.Canceled
	}

	got, err := a.ask(p, "cancel action", func(ctx context.Context, m *machine) (actions.Result, error) { return m.actions.Cancel(ctx, one.id) })
	if err != nil || got.Outcome != want {
		p.fail("cancel %+v: %s, %v; want %s", one, got.Outcome, err, want)
	}
}

func (a *actionsModel) ask(p *program, name string, do func(context.Context, *machine) (actions.Result, error)) (r actions.Result, err error) {
	err = p.call(name, func(ctx context.Context, m *machine) (err error) {
		r, err = do(ctx, m)
		return err
	})

	return r, err
}

func (a *actionsModel) deleteExpired(p *program) {
	for _, one := range a.all {
		p.deleteExpired("actions", actions.ExpiryAttribute, item{"actionId": &types.AttributeValueMemberS{Value: string(one.id)}})
	}
}
