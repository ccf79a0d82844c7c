package reports_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAnErasedReportIsStillDone: the report loses the person and their texts, and a repeat of the
// carrier is still answered.
func TestAnErasedReportIsStillDone(t *testing.T) {
	o := newOffice(t, nil)
	r := comesBack(o)

	if err := o.CanErase(t.Context(), "o-1"); !errors.Is(err, reports.ErrReportsWait) {
		t.Errorf("a report needs a person: %v", err)
	}

	if err := o.CanErase(t.Context(), "o-2"); err != nil {
		t.Errorf("another order: %v", err)
	}

	if _, err := o.MarkDone(t.Context(), o.find(r), ada); err != nil {
		t.Fatal(err)
	}

	for i, want := range []int{1, 0} {
		if n, err := o.Erase(t.Context(), "o-1"); n != want || err != nil {
			t.Errorf("time %d: %d erased, want %d: %v", i, n, want, err)
		}
	}

	s := o.find(r)
	if cause := s.Closing.Cause; cause.Actor+cause.Text+s.Reason+s.Tracking != "" || cause.Source != ada.Source || s.Closing.At.IsZero() {
		t.Errorf("%+v, %+v", s, cause)
	}
	o.receive(r, reports.Done)

	if err := o.CanErase(t.Context(), "o-1"); err != nil {
		t.Error(err)
	}
}

// TestAnErasureTakesNoOtherOrdersReport: the carrier has used one id for reports of two orders.
func TestAnErasureTakesNoOtherOrdersReport(t *testing.T) {
	o := newOffice(t, nil)

	for _, order := range []string{"o-1", "o-2"} {
		refused := sameID(order, shipping.Shipped)
		refused.ID = "refused"
		o.receive(refused, reports.Refused)

		o.order(transitions.OrderID(order), workflow.Pay)
		o.sent(order)
		back := parcel(order, "a", shipping.Returned, 0)
		back.ID = "back"
		o.receive(back, reports.Attention)
	}

	for _, order := range []string{"o-1", "o-2"} {
		if _, err := o.MarkDone(t.Context(), o.named(order), ada); err != nil {
			t.Fatal(err)
		}
	}

	for i, want := range []int{2, 0} {
		if n, err := o.Erase(t.Context(), "o-2"); n != want || err != nil {
			t.Errorf("time %d: %d erased, want %d: %v", i, n, want, err)
		}
	}

	if all := o.stored(reports.Refused, "NotFound"); all[0].OrderID != "o-1" {
		t.Errorf("refused: %+v", all)
	}

	for _, s := range o.stored(reports.Done, "", "") {
		if erased := s.Closing.Cause.Actor == ""; erased != (s.OrderID == "o-2") {
			t.Errorf("erased %t: %+v", erased, s)
		}
	}
}

// TestALostParcelLosesItsTrackingNumber: that it is lost stays known, once.
func TestALostParcelLosesItsTrackingNumber(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(report("o-1", shipping.Lost), reports.Applied)

	for i, want := range []int{1, 0} {
		if n, err := o.Erase(t.Context(), "o-1"); n != want || err != nil {
			t.Errorf("time %d: %d erased, want %d: %v", i, n, want, err)
		}
	}

	if lost, found, err := o.Lost(t.Context(), o.get("o-1")); lost.Tracking != "" || lost.ID == "" || !found || err != nil {
		t.Errorf("%+v, %t, %v", lost, found, err)
	}
}

// TestAnErasureRestoresNoReport that its time to live deletes meanwhile.
func TestAnErasureRestoresNoReport(t *testing.T) {
	o := newOffice(t, nil)
	r := comesBack(o)

	if _, err := o.MarkDone(t.Context(), o.find(r), ada); err != nil {
		t.Fatal(err)
	}

	o.wire.Before(func(c *embeddedtest.Call) error {
		if c.Operation != "UpdateItem" {
			return nil
		}
		o.wire.Clear()
		_, err := o.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String("reports"), Key: dynamo.Item{"pk": dynamo.S("done"), "sk": dynamo.S("o-1/" + r.ID)},
		})

		return err
	})

	if n, err := o.Erase(t.Context(), "o-1"); n != 0 || err != nil {
		t.Errorf("%d erased, %v", n, err)
	}
	o.stored(reports.Done)
}
