package workflow_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ratchet/workflow"
)

// TestWhatAShopAssumesIsCheckedAgainstTheDefinition: a name that is not among the states or events is an error, and
// so is shipping whose parts do not fit each other.
func TestWhatAShopAssumesIsCheckedAgainstTheDefinition(t *testing.T) {
	for _, row := range []struct {
		part, want string
		change     func(*workflow.Spec)
	}{
		{"editable", `editable: "OPEN" is not among the states`, func(s *workflow.Spec) { s.Editable = []workflow.State{"OPEN"} }},
		{"editable", "editable: state CANCELLED is terminal", func(s *workflow.Spec) { s.Editable = []workflow.State{workflow.Cancelled} }},
		{"settled", "settled: state DELIVERED is listed twice", func(s *workflow.Spec) { s.Settled = []workflow.State{workflow.Delivered, workflow.Delivered} }},
		{"settled", `settled: "DONE" is not among the states`, func(s *workflow.Spec) { s.Settled = []workflow.State{"DONE"} }},
		{"shipping", `shipping.awaits: "PAID" is not among the states`, func(s *workflow.Spec) { s.Shipping.Awaits = []workflow.State{"PAID"} }},
		{"shipping", `shipping.left: event "send" is not among the events`, func(s *workflow.Spec) { s.Shipping.Left = "send" }},
		{"shipping", `shipping.delivered: event "arrive" is not`, func(s *workflow.Spec) { s.Shipping.Delivered = "arrive" }},
		{"shipping", `shipping.returned[1]: event "back" is not`, func(s *workflow.Spec) { s.Shipping.Returned[1] = "back" }},
		{"shipping", `shipping.canceled: event "stop" is not`, func(s *workflow.Spec) { s.Shipping.Canceled = "stop" }},
		{"shipping", `shipping.stop: event "stop" is not`, func(s *workflow.Spec) { s.Shipping.Stop = "stop" }},
		{"shipping", "shipping.left: event pay leaves no state of shipping.awaits", func(s *workflow.Spec) { s.Shipping.Left = workflow.Pay }},
		{"shipping", "without shipping.left", func(s *workflow.Spec) { s.Shipping.Left = "" }},
		{"shipping", "the content has no items", func(s *workflow.Spec) { s.Content = []workflow.Part{workflow.PartTotal} }},
		{"shipping", "state PAID_ON_HOLD is in shipping.awaits, too", func(s *workflow.Spec) { s.Shipping.Awaits = append(s.Shipping.Awaits, workflow.PaidOnHold) }},
		{"shipping", "no event leads from ON_HOLD", func(s *workflow.Spec) { s.Shipping.Held = []workflow.State{workflow.OnHold} }},
		{"shipping", "event receive_return is not legal after event deliver", func(s *workflow.Spec) { s.Shipping.Returned[0] = workflow.Deliver }},
	} {
		spec := workflow.Order().Spec()
		row.change(&spec)

		_, err := workflow.New(spec)

		var wrong *workflow.SpecError
		if !errors.As(err, &wrong) || wrong.Part != row.part || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %q of part %s", err, row.want, row.part)
		}
	}
}

// TestADefinitionWithoutShippingHasNoneOfIt: not by the names of its events and states.
func TestADefinitionWithoutShippingHasNoneOfIt(t *testing.T) {
	spec := workflow.Order().Spec()
	spec.Editable, spec.Settled, spec.Shipping = nil, nil, workflow.Shipping{}

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	if d.AwaitsShipment(workflow.PaymentReceived) || d.HoldsShipment(workflow.PaidOnHold) || d.Settled(workflow.Delivered) ||
		len(d.Editable())+len(d.BookedBy())+len(d.Gone())+len(d.Back()) > 0 {
		t.Error("the definition has parts of the shop")
	}
}

func TestTheShopsShippingIsItsStatesAndEvents(t *testing.T) {
	d := workflow.Order()

	if got := d.BookedBy(); !slices.Equal(got, []workflow.Event{workflow.Pay}) {
		t.Errorf("booked by %v", got)
	}

	if got := d.ReleasedBy(workflow.PaidOnHold); got != workflow.Release {
		t.Errorf("released by %v", got)
	}

	if !slices.Equal(d.Gone(), []workflow.State{workflow.Shipped}) || !slices.Equal(d.Back(), []workflow.State{workflow.Returned}) {
		t.Errorf("gone %v, back %v", d.Gone(), d.Back())
	}
}
