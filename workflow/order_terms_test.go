package workflow_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"ratchet/workflow"
)

// TestTheTermsOfTheShop: time expires an unpaid order and closes a delivered one. But for that, the
// definition is the one of a shop without terms.
func TestTheTermsOfTheShop(t *testing.T) {
	const unpaid, window = 24 * time.Hour, 14 * 24 * time.Hour

	for _, terms := range []workflow.Terms{{}, {ExpireUnpaid: unpaid}, {ReturnWindow: window}, {ExpireUnpaid: unpaid, ReturnWindow: window}} {
		d, err := workflow.OrderWith(terms)
		if err != nil {
			t.Fatal(err)
		}

		want := map[workflow.State]workflow.Transition{}
		if terms.ExpireUnpaid > 0 {
			want[workflow.Pending] = workflow.Transition{Event: workflow.Expire, From: []workflow.State{workflow.Pending}, To: workflow.Expired, After: &workflow.After{Delay: unpaid}}
		}

		if terms.ReturnWindow > 0 {
			want[workflow.Delivered] = workflow.Transition{Event: workflow.Close, From: []workflow.State{workflow.Delivered}, To: workflow.Completed, After: &workflow.After{Delay: window}}
		}

		for _, s := range d.States() {
			timers := d.Timed(s.State)

			one, any := want[s.State]
			if any != (len(timers) == 1) || any && !reflect.DeepEqual(timers[0], one) {
				t.Errorf("%+v: the timers of %s are %v", terms, s.State, timers)
			}
		}

		all := make([]int, pairs(d))
		for i := range all {
			all[i] = i
		}

		if !reflect.DeepEqual(untimed(decisions(d, all)), decisions(workflow.Order(), all)) || d.Version() != workflow.Order().Version() {
			t.Errorf("%+v: without its timers, the definition is another one", terms)
		}
	}

	if d, _ := workflow.OrderWith(workflow.Terms{}); d != workflow.Order() {
		t.Error("without terms it is another definition")
	}

	if _, err := workflow.OrderWith(workflow.Terms{ReturnWindow: 400 * 24 * time.Hour}); err == nil || !strings.Contains(err.Error(), "event close to COMPLETED: after 400d: a delay is at most 366d") {
		t.Errorf("error %v", err)
	}
}

func untimed(all map[string]decision) map[string]decision {
	for name, one := range all {
		for i := range one.choices {
			one.choices[i].After = nil
		}
		all[name] = one
	}

	return all
}
