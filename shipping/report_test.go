package shipping_test

import (
	"errors"
	"strings"
	"testing"

	"ratchet/shipping"
)

func TestAReportNamesTheFieldThatBreaksARule(t *testing.T) {
	good := shipping.Report{ID: "r-1", Shipment: "o-1/2/shipping", OrderID: "o-1", Milestone: shipping.Delivered}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}

	longest := shipping.Report{
		ID: strings.Repeat("x", 200), Shipment: strings.Repeat("s", 200), OrderID: strings.Repeat("o", 200),
		Milestone: shipping.Shipped, Parcel: "p", Lines: []shipping.Line{{SKU: "mug", Quantity: 1}}, Tracking: strings.Repeat("t", 200),
	}
	whole, delivered := longest, longest
	whole.Parcel, whole.Lines = "", nil
	delivered.Milestone, delivered.Lines = shipping.Delivered, nil

	for _, r := range []shipping.Report{longest, whole, delivered} {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}

	for field, change := range map[string]func(*shipping.Report){
		"id:":                           func(r *shipping.Report) { r.ID = strings.Repeat("x", 257) },
		"shipment:":                     func(r *shipping.Report) { r.Shipment = "" },
		"orderId:":                      func(r *shipping.Report) { r.OrderID = "" },
		"milestone ":                    func(r *shipping.Report) { r.Milestone = "sunk" },
		"tracking:":                     func(r *shipping.Report) { r.Tracking = strings.Repeat("x", 201) },
		"parcel:":                       func(r *shipping.Report) { r.Parcel = "a b" },
		"parcel: only a whole shipment": func(r *shipping.Report) { r.Parcel, r.Milestone = "p-1", shipping.Canceled },
		"lines: only with a parcel": func(r *shipping.Report) {
			r.Lines = []shipping.Line{{SKU: "mug", Quantity: 1}}
		},
		"lines: what the parcel holds": func(r *shipping.Report) { r.Parcel, r.Milestone = "p-1", shipping.Shipped },
	} {
		bad := good
		change(&bad)

		if err := bad.Validate(); !errors.Is(err, shipping.ErrInvalidReport) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestAnAnswerConfirmsWhatItHasReached goes through every pair of milestones.
func TestAnAnswerConfirmsWhatItHasReached(t *testing.T) {
	confirmed := map[shipping.Milestone]string{
		shipping.Booked:    "booked shipped delivered lost returned",
		shipping.Shipped:   "shipped delivered lost returned",
		shipping.Delivered: "delivered returned",
		shipping.Lost:      "lost",
		shipping.Returned:  "returned",
		shipping.Canceled:  "canceled",
	}

	for reported, by := range confirmed {
		for _, reached := range []shipping.Milestone{"", shipping.Booked, shipping.Shipped, shipping.Delivered, shipping.Lost, shipping.Returned, shipping.Canceled} {
			want := reached != "" && strings.Contains(by, string(reached))
			whole := shipping.Shipment{Status: reached}
			parts := shipping.Shipment{Status: shipping.Returned, Parcels: map[string]shipping.Milestone{"p": reached}}

			if got := whole.Confirms(shipping.Report{Milestone: reported}); got != want {
				t.Errorf("%s confirms %s: %v", reached, reported, got)
			}

			if got := parts.Confirms(shipping.Report{Milestone: reported, Parcel: "p"}); got != want {
				t.Errorf("a parcel that is %s confirms %s: %v", reached, reported, got)
			}
		}
	}
}
