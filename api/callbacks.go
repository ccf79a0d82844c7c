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

// registerCallback registers a route for callbacks that have a signature of Standard Webhooks
// instead of a credential. content describes their body.
func registerCallback[I, O any](s *service, h huma.API, r route, content string, handle handleFunc[I, O]) {
	r.method, r.tag, r.status = http.MethodPost, "callbacks", http.StatusOK
	r.public, r.mutates, r.rawBody = true, true, true
	// A sender has no Idempotency-Key. The event's id and the bytes identify a callback.
	r.repeats, r.contentIsIdentity = firstStored, true
	r.errors = append(r.errors, http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge)
	r.description = "A signature after Standard Webhooks replaces the credential. It is checked over the raw bytes before they are parsed. " + r.description
	register(s, h, r, handle)

	// The input has no body, because the handler reads the raw bytes, so huma documents none.
	describe(h, func(doc *huma.OpenAPI) {
		doc.Paths[r.path].Post.RequestBody = &huma.RequestBody{
			Required: true,
			Content:  map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, Description: content}}},
		}
	})
}

func (s *service) callbackRoutes(h huma.API) {
	registerCallback(s, h, route{
		id:          "payment-callback",
		path:        "/v1/callbacks/payments",
		errors:      []int{http.StatusConflict},
		summary:     "Receive a callback of the payment processor",
		description: "Each event is handled once. Its content is not trusted: the server asks the processor for the outcome. A callback that does not match its payment is parked for a person and also gets 200.",
	}, "type, timestamp, and data with key (paymentId/stepId), amount and currency.", s.paymentCallback)

	register(s, h, route{
		id:          "list-parked-callbacks",
		method:      http.MethodGet,
		path:        "/v1/callbacks/payments/parked",
		tag:         "callbacks",
		scope:       auth.Admin,
		status:      http.StatusOK,
		summary:     "List callbacks that a person must examine",
		description: "A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listParkedCallbacks)
}

type callbackInput struct {
	ID        string `header:"Webhook-Id" doc:"The id of the event, the same in every delivery."`
	Timestamp string `header:"Webhook-Timestamp" doc:"When the callback was sent, in epoch seconds."`
	Signature string `header:"Webhook-Signature" doc:"One or several signatures v1,BASE64, separated by spaces."`
}

type callbackOutput struct {
	input.Repeat
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

// parkedCallback is a callback that does not match its payment.
type parkedCallback struct {
	EventID   string    `json:"eventId"`
	Type      string    `json:"type"`
	PaymentID string    `json:"paymentId"`
	Reason    string    `json:"reason" personal:"text"`
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
	out.Body.Callbacks, out.Body.Next, err = listPage(s, *in, []string{"callbacks", string(c.tenant)},
		func(after string, n int) ([]payments.Received, string, error) {
			return s.cfg.Payments.Parked(ctx, after, n)
		},
		func(r payments.Received) (parkedCallback, bool, error) {
			id, own := c.tenant.ownID(r.PaymentID)
			return parkedCallback{r.EventID, r.Type, id, r.Reason, r.At}, own && r.Effect == payments.EffectParked, nil
		})

	return out, err
}
