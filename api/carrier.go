package api

import (
	"context"
	"encoding/base64"
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
		description: "Each report is one transition request under its own id. A carrier that can be asked is asked first. A report that comes too early waits; one that needs a person is stored with the cause and a command; one that the order can never take is stored as refused. All get 200.",
	}, "type (shipment.MILESTONE), timestamp, and data with id, shipment, orderId, milestone, and parcel, lines, tracking and at if the carrier has them.", s.carrierCallback)

	register(s, h, route{
		id:          "list-carrier-reports",
		method:      http.MethodGet,
		path:        path + "/reports",
		tag:         "callbacks",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "List reports of the carrier that wait for their order, need a person, were dealt with by one or were refused",
		description: "A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listCarrierReports)

	register(s, h, route{
		// The first closing is stored with the report, and is the answer to every later request.
		id:          "end-carrier-report",
		method:      http.MethodPost,
		path:        path + "/reports/{ref}/done",
		tag:         "callbacks",
		scope:       auth.Admin,
		mutates:     true,
		repeats:     fromRecord,
		body:        true,
		auditParams: []string{"ref"},
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Say that a person has dealt with a report of the carrier",
		description: "The report needs a person. It leaves the list, is not tried again, and a repeat of the carrier changes nothing. Neither the order nor its payment changes. The first closing counts: every later request gets it.",
	}, s.endCarrierReport)
}

// reportReceiver returns the receiver of the carrier's reports. It fails with route_not_found if there is
// none.
func (s *service) reportReceiver() (*reports.Receiver, error) {
	if s.cfg.Reports == nil {
		return nil, reports.ErrNoCallbacks
	}

	return s.cfg.Reports, nil
}

type carrierOutput struct {
	input.Repeat
	Body struct {
		Effect string `json:"effect" enum:"applied,waiting,attention,done,refused"`
	}
}

func (s *service) carrierCallback(ctx context.Context, _ caller, _ *callbackInput) (*carrierOutput, error) {
	receiver, err := s.reportReceiver()
	if err != nil {
		return nil, err
	}
	c := callOf(ctx)

	effect, err := receiver.Callback(ctx, c.header, c.raw)
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
	Ref       string    `json:"ref" doc:"Names the report in paths."`
	OrderID   string    `json:"orderId"`
	Milestone string    `json:"milestone"`
	Parcel    string    `json:"parcel,omitempty"`
	Tracking  string    `json:"tracking,omitempty" personal:"text"`
	Effect    string    `json:"effect"`
	Reason    string    `json:"reason" personal:"text"`
	Command   string    `json:"command,omitempty" personal:"text" doc:"What a person may run about a report that needs one."`
	Since     time.Time `json:"since"`
	Tries     int64     `json:"tries,omitempty"`
	NextTry   time.Time `json:"nextTry,omitzero"`
	Done      *closing  `json:"done,omitempty" doc:"Who has dealt with it, and why."`
}

// closing is a person's statement that a report needs no more work.
type closing struct {
	Cause *cause    `json:"cause"`
	At    time.Time `json:"at"`
}

// showReport returns the report as the tenant sees it, false if it is about an order of another
// tenant.
func (t tenant) showReport(r reports.Stored) (carrierReport, bool) {
	id, own := t.ownID(r.OrderID)

	shown := carrierReport{
		ID: r.ID, Ref: base64.RawURLEncoding.EncodeToString([]byte(r.Name)),
		OrderID: id, Milestone: string(r.Milestone), Parcel: r.Parcel, Tracking: r.Tracking,
		Effect: string(r.Effect), Reason: r.Reason, Command: r.Command, Since: r.Since, Tries: r.Tries, NextTry: r.NextTry,
	}
	if r.Closing != nil {
		shown.Done = &closing{Cause: showCause(r.Closing.Cause), At: r.Closing.At}
	}

	return shown, own
}

type listReportsInput struct {
	Effect string `query:"effect" enum:"waiting,attention,done,refused" default:"waiting" doc:"Which reports to list."`
	input.Page
}

type listReportsOutput struct {
	Body struct {
		Reports []carrierReport `json:"reports"`
		Next    string          `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listCarrierReports(ctx context.Context, c caller, in *listReportsInput) (*listReportsOutput, error) {
	receiver, err := s.reportReceiver()
	if err != nil {
		return nil, err
	}

	out := &listReportsOutput{}
	out.Body.Reports, out.Body.Next, err = listPage(s, in.Page, []string{"carrier-reports", string(c.tenant), in.Effect},
		func(after string, n int) ([]reports.Stored, string, error) {
			return receiver.List(ctx, reports.Effect(in.Effect), after, n)
		},
		func(r reports.Stored) (carrierReport, bool, error) {
			shown, own := c.tenant.showReport(r)

			return shown, own, nil
		})

	return out, err
}

type endReportInput struct {
	Ref  string `path:"ref" minLength:"1" maxLength:"300" pattern:"^[A-Za-z0-9_-]+$"`
	Body struct {
		Cause newCause `json:"cause" doc:"Why: a code, a text or both."`
	}
}

type endReportOutput struct {
	input.Repeat
	Body carrierReport
}

// endCarrierReport marks a report of the caller's orders as done.
func (s *service) endCarrierReport(ctx context.Context, c caller, in *endReportInput) (*endReportOutput, error) {
	receiver, err := s.reportReceiver()
	if err != nil {
		return nil, err
	}

	name, err := base64.RawURLEncoding.DecodeString(in.Ref)
	if err != nil {
		return nil, reports.ErrUnknownReport
	}

	stored, err := receiver.Find(ctx, string(name))
	if err != nil {
		return nil, err
	}

	// A report about another tenant's order does not exist for the caller.
	if _, own := c.tenant.showReport(stored); !own {
		return nil, reports.ErrUnknownReport
	}

	out := &endReportOutput{}
	// The first closing stays, so this request repeats it.
	if stored.Effect == reports.Done {
		out.MarkReplayed()
	}

	if stored, err = receiver.MarkDone(ctx, stored, c.cause(ctx, &in.Body.Cause)); err != nil {
		return nil, err
	}
	out.Body, _ = c.tenant.showReport(stored)

	return out, nil
}
