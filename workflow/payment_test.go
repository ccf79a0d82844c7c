package workflow_test

import (
	"testing"

	"ratchet/workflow"
)

func TestCapturedMoneyIsNotVoided(t *testing.T) {
	d := workflow.Payment()
	if d.Reachable("CAPTURED", "VOIDED") {
		t.Error("a captured payment can be voided")
	}

	if _, ok := d.Next("REFUND_PENDING", "refund"); ok {
		t.Error("Next answers although guards choose between targets")
	}
}

func TestDecideFollowsTheMoney(t *testing.T) {
	rows := []struct {
		name                      string
		from                      workflow.State
		event                     workflow.Event
		total, captured, refunded int
		want                      workflow.State
	}{
		{name: "the total is covered", from: "CAPTURING", event: "settle", total: 100, captured: 100, refunded: 0, want: "CAPTURED"},
		{name: "a part is covered", from: "CAPTURING", event: "settle", total: 100, captured: 40, refunded: 0, want: "PARTIALLY_CAPTURED"},
		{name: "a failed second part leaves the first", from: "CAPTURING", event: "fail", total: 100, captured: 40, refunded: 0, want: "PARTIALLY_CAPTURED"},
		{name: "a failed first part leaves nothing", from: "CAPTURING", event: "fail", total: 100, captured: 0, refunded: 0, want: "FAILED"},
		{name: "all given back", from: "REFUND_PENDING", event: "refund", total: 100, captured: 100, refunded: 100, want: "REFUNDED"},
		{name: "a part given back", from: "REFUND_PENDING", event: "refund", total: 100, captured: 100, refunded: 30, want: "PARTIALLY_REFUNDED"},
		{name: "a failed refund after another", from: "REFUND_PENDING", event: "fail_refund", total: 100, captured: 100, refunded: 30, want: "PARTIALLY_REFUNDED"},
		{name: "a failed first refund", from: "REFUND_PENDING", event: "fail_refund", total: 100, captured: 100, refunded: 0, want: "CAPTURED"},
		{name: "a failed first refund of a part", from: "REFUND_PENDING", event: "fail_refund", total: 100, captured: 40, refunded: 0, want: "PARTIALLY_CAPTURED"},
		{name: "no such event", from: "NONE", event: "refund", total: 0, captured: 0, refunded: 0, want: ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			data := map[string]any{"total": row.total, "captured": row.captured, "refunded": row.refunded}
			got, err := workflow.Payment().Decide(row.from, row.event, data, nil)
			if err != nil || got.To != row.want {
				t.Errorf("got %+v, error %v, want %q", got, err, row.want)
			}
		})
	}

	got, err := workflow.Payment().Decide("CAPTURING", "settle", map[string]any{}, nil)
	if err != nil || got.To != "" || len(got.Unmet) != 2 {
		t.Errorf("without the amounts no guard holds: %+v, %v", got, err)
	}
}
