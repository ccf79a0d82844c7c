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

func (s *service) paymentRoutes(h huma.API) {
	moves := []int{http.StatusPaymentRequired, http.StatusNotFound, http.StatusConflict}
	const once = "The id makes it happen once: a repeat goes on where the first stopped, or returns the payment as it is. " +
		"503 unresolved: the processor has not said what became of it; nothing is lost, send the same request again."
	links := map[string]*huma.Link{"get": {
		OperationID: "get-payment",
		Parameters:  map[string]any{"paymentId": "$response.body#/paymentId"},
	}}
	register(s, h, route{
		id:      "authorize-payment",
		method:  http.MethodPut,
		path:    "/v1/payments/{paymentId}",
		tag:     "payments",
		scope:   auth.Act,
		changes: true,
		body:    true,
		target:  []string{"paymentId"},
		status:  http.StatusOK,
		errors:  moves,
		summary: "Set the money of a payment aside, here and at the processor",
		about:   once,
		links:   links,
	}, s.authorizePayment)
	register(s, h, route{
		id:      "get-payment",
		method:  http.MethodGet,
		path:    "/v1/payments/{paymentId}",
		tag:     "payments",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read a payment",
	}, s.getPayment)
	register(s, h, route{
		id:      "list-payments",
		method:  http.MethodGet,
		path:    "/v1/payments",
		tag:     "payments",
		scope:   auth.Read,
		status:  http.StatusOK,
		summary: "List payments, page by page",
		about:   "In no useful order. A page may be short and still have a successor.",
	}, s.listPayments)
	register(s, h, route{
		id:      "capture-payment",
		method:  http.MethodPut,
		path:    "/v1/payments/{paymentId}/captures/{stepId}",
		tag:     "payments",
		scope:   auth.Act,
		changes: true,
		body:    true,
		target:  []string{"paymentId", "stepId"},
		status:  http.StatusOK,
		errors:  moves,
		summary: "Take what was set aside, or a part of it",
		about:   once,
	}, s.capturePayment)
	register(s, h, route{
		id:      "refund-payment",
		method:  http.MethodPut,
		path:    "/v1/payments/{paymentId}/refunds/{stepId}",
		tag:     "payments",
		scope:   auth.Act,
		changes: true,
		body:    true,
		target:  []string{"paymentId", "stepId"},
		status:  http.StatusOK,
		errors:  moves,
		summary: "Give back what was taken, or a part of it",
		about:   once,
	}, s.refundPayment)
	register(s, h, route{
		id:      "void-payment",
		method:  http.MethodPost,
		path:    "/v1/payments/{paymentId}/void",
		tag:     "payments",
		scope:   auth.Act,
		changes: true,
		target:  []string{"paymentId"},
		status:  http.StatusOK,
		errors:  moves,
		summary: "Give up what was set aside and not taken",
		about:   "A repeat succeeds.",
	}, s.voidPayment)
	s.callbackRoutes(h)
}

type authorizeInput struct {
	input.Payment
	Body struct {
		OrderID   string     `json:"orderId" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
		Payer     string     `json:"payer" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" doc:"The account that the money comes from."`
		Payee     string     `json:"payee" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" doc:"The account that captures go to."`
		Amount    int64      `json:"amount" minimum:"1" maximum:"1000000000000000" doc:"What may be captured, in minor units."`
		Currency  string     `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"EUR"`
		ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When what was not captured is given up."`
	}
}

// payment is a payment as it was when it was read. Amounts are in minor units.
type payment struct {
	PaymentID  string        `json:"paymentId"`
	OrderID    string        `json:"orderId"`
	Payer      string        `json:"payer"`
	Payee      string        `json:"payee"`
	Amount     int64         `json:"amount"`
	Currency   string        `json:"currency"`
	State      string        `json:"state"`
	Capturable int64         `json:"capturable" doc:"What is still set aside."`
	Captured   int64         `json:"captured"`
	Refunded   int64         `json:"refunded"`
	Pending    *paymentStep  `json:"pending,omitempty" doc:"The step under way."`
	Steps      []paymentStep `json:"steps" doc:"The finished ones."`
	ExpiresAt  *time.Time    `json:"expiresAt,omitempty"`
	CreatedAt  time.Time     `json:"createdAt"`
	UpdatedAt  time.Time     `json:"updatedAt"`
}

// paymentStep is one thing that was asked of the processor.
type paymentStep struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind" enum:"authorize,capture,refund,void,expire,chargeback"`
	Amount  int64     `json:"amount"`
	Outcome string    `json:"outcome" enum:"pending,succeeded,failed"`
	At      time.Time `json:"at"`
}

type paymentOutput struct{ Body payment }

func (t tenant) showPayment(p payments.Payment) payment {
	step := func(s payments.Step) paymentStep {
		return paymentStep{s.ID, string(s.Kind), s.Amount, string(s.Outcome), s.At}
	}
	out := payment{
		PaymentID:  t.shown(p.ID),
		OrderID:    t.shown(p.OrderID),
		Payer:      t.shown(p.Payer),
		Payee:      t.shown(p.Payee),
		Amount:     p.Amount,
		Currency:   p.Currency,
		State:      string(p.State),
		Capturable: p.Capturable,
		Captured:   p.Captured,
		Refunded:   p.Refunded,
		Steps:      []paymentStep{},
		ExpiresAt:  moment(p.ExpiresAt),
		CreatedAt:  p.CreatedAt,
		UpdatedAt:  p.UpdatedAt,
	}
	if p.Pending != nil {
		pending := step(*p.Pending)
		out.Pending = &pending
	}

	for _, s := range p.Steps {
		out.Steps = append(out.Steps, step(s))
	}

	return out
}

// paid answers with the payment after a step.
func (s *service) paid(c caller, p payments.Payment, err error) (*paymentOutput, error) {
	if err != nil {
		return nil, err
	}
	return &paymentOutput{c.tenant.showPayment(p)}, nil
}

func (s *service) authorizePayment(ctx context.Context, c caller, in *authorizeInput) (*paymentOutput, error) {
	n := payments.NewPayment{
		ID:       c.tenant.stored(in.PaymentID),
		OrderID:  c.tenant.stored(in.Body.OrderID),
		Payer:    c.tenant.stored(in.Body.Payer),
		Payee:    c.tenant.stored(in.Body.Payee),
		Amount:   in.Body.Amount,
		Currency: in.Body.Currency,
	}
	if in.Body.ExpiresAt != nil {
		n.ExpiresAt = *in.Body.ExpiresAt
	}
	p, err := s.cfg.Payments.Authorize(ctx, n)

	return s.paid(c, p, err)
}

func (s *service) getPayment(ctx context.Context, c caller, in *input.Payment) (*paymentOutput, error) {
	p, err := s.cfg.Payments.Get(ctx, c.tenant.stored(in.PaymentID))
	return s.paid(c, p, err)
}

type captureInput struct {
	input.Payment
	input.Step
	Body struct {
		Amount int64 `json:"amount" minimum:"1" maximum:"1000000000000000" doc:"In minor units."`
		Final  bool  `json:"final,omitempty" doc:"It is the last: the rest is given up."`
	}
}

type refundInput struct {
	input.Payment
	input.Step
	Body struct {
		Amount int64 `json:"amount" minimum:"1" maximum:"1000000000000000" doc:"In minor units."`
	}
}

func (s *service) capturePayment(ctx context.Context, c caller, in *captureInput) (*paymentOutput, error) {
	p, err := s.cfg.Payments.Capture(ctx, c.tenant.stored(in.PaymentID), payments.StepRequest{
		ID:     in.StepID,
		Amount: in.Body.Amount,
		Final:  in.Body.Final,
	})
	return s.paid(c, p, err)
}

func (s *service) refundPayment(ctx context.Context, c caller, in *refundInput) (*paymentOutput, error) {
	p, err := s.cfg.Payments.Refund(ctx, c.tenant.stored(in.PaymentID), payments.StepRequest{
		ID:     in.StepID,
		Amount: in.Body.Amount,
	})
	return s.paid(c, p, err)
}

func (s *service) voidPayment(ctx context.Context, c caller, in *input.Payment) (*paymentOutput, error) {
	p, err := s.cfg.Payments.Void(ctx, c.tenant.stored(in.PaymentID))
	return s.paid(c, p, err)
}

type listPaymentsOutput struct {
	Body struct {
		Payments []payment `json:"payments"`
		Next     string    `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listPayments(ctx context.Context, c caller, in *input.Page) (*listPaymentsOutput, error) {
	out := &listPaymentsOutput{}
	var err error
	out.Body.Payments, out.Body.Next, err = fill(s, *in, []string{"payments", string(c.tenant)},
		func(after string, n int) ([]payments.Payment, string, error) {
			return s.cfg.Payments.List(ctx, "", after, n)
		},
		func(p payments.Payment) (payment, bool, error) {
			_, own := c.tenant.own(p.ID)
			return c.tenant.showPayment(p), own, nil
		})

	return out, err
}
