package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/payments"
)

func (s *service) callbackRoutes(h huma.API) {
	register(s, h, route{
		id:      "payment-callback",
		method:  http.MethodPost,
		path:    "/v1/callbacks/payments",
		tag:     "callbacks",
		open:    true,
		changes: true,
		raw:     true,
		status:  http.StatusOK,
		errors:  []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge},
		summary: "Take what the payment processor says",
		about: "Signed after Standard Webhooks, instead of a credential: the signature is checked over the raw bytes before anything parses them. " +
			"An event counts once. It is not believed: it makes us ask the processor. What does not fit is parked for a person; the answer is 200 all the same.",
	}, s.paymentCallback)
	op := h.OpenAPI().Paths["/v1/callbacks/payments"].Post
	op.RequestBody = &huma.RequestBody{
		Required: true,
		Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject,
			Description: "type, timestamp, and data with key (paymentId/stepId), amount and currency."}}},
	}
	register(s, h, route{
		id:      "list-parked-callbacks",
		method:  http.MethodGet,
		path:    "/v1/callbacks/payments/parked",
		tag:     "callbacks",
		scope:   auth.Admin,
		status:  http.StatusOK,
		summary: "List callbacks that a person must look at",
		about:   "A page may be short and still have a successor.",
	}, s.listParkedCallbacks)
}

type callbackInput struct {
	ID        string `header:"Webhook-Id" doc:"Names the event, over all repetitions."`
	Timestamp string `header:"Webhook-Timestamp" doc:"When it was sent, in epoch seconds."`
	Signature string `header:"Webhook-Signature" doc:"v1,BASE64: one or several, separated by spaces."`
}

type callbackOutput struct {
	Body struct {
		Effect string `json:"effect" enum:"ended,none,repeated,parked"`
	}
}

func (s *service) paymentCallback(ctx context.Context, _ caller, _ *callbackInput) (*callbackOutput, error) {
	c := callOf(ctx)

	r, err := s.cfg.Payments.Callback(ctx, c.header, c.raw)
	if err != nil {
		return nil, err
	}
	out := &callbackOutput{}
	out.Body.Effect = string(r.Effect)

	return out, nil
}

// parkedCallback is one that does not fit the payment.
type parkedCallback struct {
	EventID   string    `json:"eventId"`
	Type      string    `json:"type"`
	PaymentID string    `json:"paymentId"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
}

type parkedCallbacksOutput struct {
	Body struct {
		Callbacks []parkedCallback `json:"callbacks"`
		Next      string           `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listParkedCallbacks(ctx context.Context, c caller, in *input.Page) (*parkedCallbacksOutput, error) {
	out := &parkedCallbacksOutput{}
	var err error
	out.Body.Callbacks, out.Body.Next, err = fill(s, *in, []string{"callbacks", string(c.tenant)},
		func(after string, n int) ([]payments.Received, string, error) {
			return s.cfg.Payments.Parked(ctx, after, n)
		},
		func(r payments.Received) (parkedCallback, bool, error) {
			id, own := c.tenant.own(r.PaymentID)
			return parkedCallback{r.EventID, r.Type, id, r.Reason, r.At}, own && r.Effect == payments.EffectParked, nil
		})

	return out, err
}
