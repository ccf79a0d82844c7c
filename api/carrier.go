package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/shipping/reports"
)

func (s *service) carrierRoutes(h huma.API) {
	const path = "/v1/callbacks/carrier"

	registerCallback(s, h, route{
		id:          "carrier-callback",
		path:        path,
		summary:     "Receive a report of the carrier",
		description: "Each report is one transition request under its own id. A carrier that can be asked is asked first. A report that comes too early waits; one that the order can never take is stored as refused. Both get 200.",
	}, "type (shipment.MILESTONE), timestamp, and data with id, shipment, orderId, milestone, and parcel, lines, tracking and at if the carrier has them.", s.carrierCallback)

	register(s, h, route{
		id:          "list-carrier-reports",
		method:      http.MethodGet,
		path:        path + "/reports",
		tag:         "callbacks",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "List reports of the carrier that wait for their order, or were refused",
		description: "A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listCarrierReports)
}

// desk returns the desk. It fails with route_not_found if there is none.
func (s *service) desk() (*reports.Desk, error) {
	if s.cfg.Reports == nil {
		return nil, reports.ErrNoCallbacks
	}

	return s.cfg.Reports, nil
}

type carrierOutput struct {
	input.Repeat
	Body struct {
		Effect string `json:"effect" enum:"applied,waiting,refused"`
	}
}

func (s *service) carrierCallback(ctx context.Context, _ caller, _ *callbackInput) (*carrierOutput, error) {
	desk, err := s.desk()
	if err != nil {
		return nil, err
	}
	c := callOf(ctx)

	effect, err := desk.Callback(ctx, c.header, c.raw)
	if err != nil {
		return nil, err
	}
	out := &carrierOutput{}
	out.Body.Effect = string(effect)

	return out, nil
}

// carrierReport is a stored report.
type carrierReport struct {
	ID        string    `json:"id"`
	OrderID   string    `json:"orderId"`
	Milestone string    `json:"milestone"`
	Parcel    string    `json:"parcel,omitempty"`
	Tracking  string    `json:"tracking,omitempty"`
	Effect    string    `json:"effect"`
	Reason    string    `json:"reason"`
	Since     time.Time `json:"since"`
	Tries     int64     `json:"tries,omitempty"`
	NextTry   time.Time `json:"nextTry,omitzero"`
}

type listReportsInput struct {
	Effect string `query:"effect" enum:"waiting,refused" default:"waiting" doc:"Which reports to list."`
	input.Page
}

type listReportsOutput struct {
	Body struct {
		Reports []carrierReport `json:"reports"`
		Next    string          `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listCarrierReports(ctx context.Context, c caller, in *listReportsInput) (*listReportsOutput, error) {
	desk, err := s.desk()
	if err != nil {
		return nil, err
	}

	out := &listReportsOutput{}
	out.Body.Reports, out.Body.Next, err = listPage(s, in.Page, []string{"carrier-reports", string(c.tenant), in.Effect},
		func(after string, n int) ([]reports.Stored, string, error) {
			return desk.List(ctx, reports.Effect(in.Effect), after, n)
		},
		func(r reports.Stored) (carrierReport, bool, error) {
			id, own := c.tenant.ownID(r.OrderID)

			return carrierReport{
				ID: r.ID, OrderID: id, Milestone: string(r.Milestone), Parcel: r.Parcel, Tracking: r.Tracking,
				Effect: string(r.Effect), Reason: r.Reason, Since: r.Since, Tries: r.Tries, NextTry: r.NextTry,
			}, own, nil
		})

	return out, err
}
