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

// laterLife is the life that follows the one whose shipments are reported.
const laterLife transitions.Incarnation = "0000000000002"

// livesAgain deletes the order, whose id another order gets.
func (o *office) livesAgain(id transitions.OrderID, events ...workflow.Event) {
	o.t.Helper()

	if _, err := o.db.DeleteItem(o.t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String("orders"), Key: dynamo.Item{"orderId": dynamo.S(string(id))},
	}); err != nil {
		o.t.Fatal(err)
	}

	if _, err := o.orders.Create(o.t.Context(), transitions.NewOrder{
		ID: id, Incarnation: laterLife,
		Items: []transitions.Item{{SKU: "mug", Quantity: 3, Price: 100}}, Total: transitions.Money{Amount: 300, Currency: "EUR"},
	}); err != nil {
		o.t.Fatal(err)
	}
	o.move(id, events...)
}

// ofLaterLife is the same report about the shipment of the later life.
func ofLaterLife(r shipping.Report) shipping.Report {
	r.ID += "/later"
	r.Shipment = r.OrderID + "/" + string(laterLife) + "/2/shipping"

	return r
}

// TestAReportOfAnotherLifeMovesNothing: the id of an order was used again while a parcel of the former
// life was under way. What the carrier says about that parcel is refused, and kept for a person.
func TestAReportOfAnotherLifeMovesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		events []workflow.Event // of the present life
		report shipping.Report
	}{
		"shipped":                {[]workflow.Event{workflow.Pay}, report("o-1", shipping.Shipped)},
		"delivered":              {[]workflow.Event{workflow.Pay, workflow.Ship}, report("o-1", shipping.Delivered)},
		"returned":               {[]workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver}, report("o-1", shipping.Returned)},
		"too early":              {nil, report("o-1", shipping.Shipped)},
		"a parcel has left":      {[]workflow.Event{workflow.Pay}, parcel("o-1", "a", shipping.Shipped, 1)},
		"a parcel was delivered": {[]workflow.Event{workflow.Pay}, parcel("o-1", "a", shipping.Delivered, 1)},
		"a parcel came back":     {[]workflow.Event{workflow.Pay}, parcel("o-1", "a", shipping.Returned, 1)},
		"a parcel was lost":      {[]workflow.Event{workflow.Pay, workflow.Ship}, report("o-1", shipping.Lost)},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, nil)
			o.order("o-1", workflow.Pay)
			o.livesAgain("o-1", c.events...)
			before := o.get("o-1")

			o.receive(c.report, reports.Refused)

			if answer, err := o.Take(t.Context(), c.report); answer != shipping.Rejected || err != nil {
				t.Errorf("answer %d, %v", answer, err)
			}

			after := o.get("o-1")
			if after.TransitionID != before.TransitionID || after.HasParcel("a") {
				t.Errorf("the order is %s after transition %d, before %d", after.State, after.TransitionID, before.TransitionID)
			}

			if _, found, err := o.Lost(t.Context(), after); found || err != nil {
				t.Errorf("a lost parcel is recorded: %t, %v", found, err)
			}
		})
	}
}

// TestParcelsOfAFormerLifeDoNotCount: both lives have parcels with the same names. The former life's
// deliveries do not deliver the present life.
func TestParcelsOfAFormerLifeDoNotCount(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(parcel("o-1", "a", shipping.Shipped, 1), reports.Applied)
	o.receive(parcel("o-1", "b", shipping.Shipped, 2), reports.Applied)
	o.receive(parcel("o-1", "a", shipping.Delivered, 1), reports.Applied)
	o.receive(parcel("o-1", "b", shipping.Lost, 2), reports.Applied)

	o.livesAgain("o-1", workflow.Pay)
	o.receive(ofLaterLife(parcel("o-1", "a", shipping.Shipped, 1)), reports.Applied)
	o.receive(ofLaterLife(parcel("o-1", "b", shipping.Shipped, 2)), reports.Applied)
	o.receive(ofLaterLife(parcel("o-1", "b", shipping.Delivered, 2)), reports.Applied)

	// Parcel a of this life is under way.
	if state := o.state("o-1"); state != workflow.Shipped {
		t.Errorf("the order is %s", state)
	}

	if _, found, err := o.Lost(t.Context(), o.get("o-1")); found || err != nil {
		t.Errorf("a lost parcel of the former life counts: %t, %v", found, err)
	}

	o.receive(ofLaterLife(parcel("o-1", "a", shipping.Delivered, 1)), reports.Applied)

	if state := o.state("o-1"); state != workflow.Delivered {
		t.Errorf("the order is %s", state)
	}
}

// TestAReportNamesALife: the shipment of a report is an effect key of a shipment.
func TestAReportNamesALife(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	for _, shipment := range []string{"o-1/2/shipping", "o-1/" + string(life) + "/2/parcels", "o-1/", "o-2/" + string(life) + "/2/shipping"} {
		r := report("o-1", shipping.Shipped)
		r.Shipment = shipment

		if effect, err := o.Receive(t.Context(), r); !errors.Is(err, shipping.ErrInvalidReport) {
			t.Errorf("%s: %s, %v", shipment, effect, err)
		}
	}
}

// TestAReportIsJudgedAgainAfterARenewal: the order is renewed between the judgment of a report and the write.
// The write refuses, and the carrier sends the report again.
func TestAReportIsJudgedAgainAfterARenewal(t *testing.T) {
	for name, r := range map[string]shipping.Report{"order": report("o-1", shipping.Shipped), "parcel": parcel("o-1", "a", shipping.Shipped, 1)} {
		o := newOffice(t, nil)
		o.order("o-1", workflow.Pay)
		before, renewed := o.get("o-1"), false

		o.wire.Before(func(c *embeddedtest.Call) error {
			if renewed || !c.Is("UpdateItem") {
				return nil
			}
			renewed = true

			done, err := o.orders.Renew(o.t.Context(), before)
			if err != nil || !done {
				t.Error(done, err)
			}

			return err
		})

		if answer, err := o.Take(t.Context(), r); err == nil {
			t.Errorf("%s: answer %d, although the order that was read has another life", name, answer)
		}

		if after := o.get("o-1"); after.TransitionID != before.TransitionID || after.HasParcel("a") {
			t.Errorf("%s: the order is %s", name, after.State)
		}

		// The transition that booked the shipment was made in the life before, which the order continues.
		if answer, err := o.Take(t.Context(), r); answer != shipping.Accepted || err != nil {
			t.Errorf("%s: sent again: answer %d, %v", name, answer, err)
		}
	}
}
