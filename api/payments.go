package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/payments"
	"ratchet/workflow"
)

func (s *service) paymentRoutes(h huma.API) {
	stepErrors := []int{http.StatusPaymentRequired, http.StatusNotFound, http.StatusConflict}

	const idempotent = "The id makes the request idempotent: a repeat continues where the first stopped. Other content is a conflict. " +
		"503 unresolved: the processor has not reported the outcome. Nothing is lost: send the same request again."

	links := map[string]*huma.Link{"get": {
		OperationID: "get-payment",
		Parameters:  map[string]any{"paymentId": "$response.body#/paymentId"},
	}}

	register(s, h, route{
		// A repeat continues a payment where the last request stopped. The first answer of the
		// finished step is stored.
		id:          "authorize-payment",
		method:      http.MethodPut,
		path:        "/v1/payments/{paymentId}",
		tag:         "payments",
		scope:       auth.Act,
		mutates:     true,
		repeats:     firstStored,
		body:        true,
		auditParams: []string{"paymentId"},
		status:      http.StatusOK,
		errors:      stepErrors,
		summary:     "Authorize a payment: hold its money, here and at the processor",
		description: idempotent,
		links:       links,
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
		id:          "list-payments",
		method:      http.MethodGet,
		path:        "/v1/payments",
		tag:         "payments",
		scope:       auth.Read,
		status:      http.StatusOK,
		summary:     "List payments, page by page",
		description: "The order of the list is not specified. A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listPayments)

	register(s, h, route{
		id:          "capture-payment",
		method:      http.MethodPut,
		path:        "/v1/payments/{paymentId}/captures/{stepId}",
		tag:         "payments",
		scope:       auth.Act,
		mutates:     true,
		repeats:     firstStored,
		body:        true,
		auditParams: []string{"paymentId", "stepId"},
		status:      http.StatusOK,
		errors:      stepErrors,
		summary:     "Capture an authorized payment, or a part of it",
		description: idempotent,
	}, s.capturePayment)

	register(s, h, route{
		id:          "refund-payment",
		method:      http.MethodPut,
		path:        "/v1/payments/{paymentId}/refunds/{stepId}",
		tag:         "payments",
		scope:       auth.Act,
		mutates:     true,
		repeats:     firstStored,
		body:        true,
		auditParams: []string{"paymentId", "stepId"},
		status:      http.StatusOK,
		errors:      stepErrors,
		summary:     "Refund a captured payment, or a part of it",
		description: idempotent,
	}, s.refundPayment)

	register(s, h, route{
		id:          "void-payment",
		method:      http.MethodPost,
		path:        "/v1/payments/{paymentId}/void",
		tag:         "payments",
		scope:       auth.Act,
		mutates:     true,
		repeats:     firstStored,
		auditParams: []string{"paymentId"},
		status:      http.StatusOK,
		errors:      stepErrors,
		summary:     "Void a payment: release what was not captured",
	}, s.voidPayment)

	s.callbackRoutes(h)
	s.carrierRoutes(h)
}

type authorizeInput struct {
	input.Payment
	Body struct {
		OrderID   string     `json:"orderId" minLength:"1" maxLength:"235" pattern:"^[^:\\x00-\\x1f\\x7f-\\x9f]*[^:.\\x00-\\x1f\\x7f-\\x9f][^:\\x00-\\x1f\\x7f-\\x9f]*$"`
		Payer     string     `json:"payer" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" doc:"The account that the money comes from."`
		Payee     string     `json:"payee" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" doc:"The account that captures go to."`
		Amount    int64      `json:"amount" minimum:"1" maximum:"1000000000000000" doc:"What may be captured, in minor units."`
		Currency  string     `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"EUR"`
		ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When the rest that was not captured is released."`
	}
}

// payment is a payment at the time it was read. Amounts are in minor units.
type payment struct {
	PaymentID  string        `json:"paymentId"`
	OrderID    string        `json:"orderId"`
	Payer      string        `json:"payer" doc:"An id with a colon is an account of the server's own, which has no path here."`
	Payee      string        `json:"payee" doc:"As payer."`
	Amount     int64         `json:"amount"`
	Currency   string        `json:"currency"`
	State      string        `json:"state"`
	Capturable int64         `json:"capturable" doc:"What can still be captured."`
	Captured   int64         `json:"captured"`
	Refunded   int64         `json:"refunded"`
	Pending    *paymentStep  `json:"pending,omitempty" doc:"The step in progress."`
	Steps      []paymentStep `json:"steps" doc:"The finished steps."`
	ExpiresAt  *time.Time    `json:"expiresAt,omitempty"`
	CreatedAt  time.Time     `json:"createdAt"`
	UpdatedAt  time.Time     `json:"updatedAt"`
}

// paymentStep is one request to the processor.
type paymentStep struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind" enum:"authorize,charge,capture,refund,void,expire,chargeback"`
	Amount  int64     `json:"amount"`
	Outcome string    `json:"outcome" enum:"pending,succeeded,failed"`
	At      time.Time `json:"at"`
}

type paymentOutput struct {
	input.Repeat
	Body payment
}

func (t tenant) showPayment(p payments.Payment) payment {
	step := func(s payments.Step) paymentStep {
		return paymentStep{s.ID, string(s.Kind), s.Amount, string(s.Outcome), s.At}
	}
	// Steps is not nil: a list is never null in JSON.
	out := payment{
		PaymentID:  t.publicID(p.ID),
		OrderID:    t.publicID(p.OrderID),
		Payer:      t.publicID(p.Payer),
		Payee:      t.publicID(p.Payee),
		Amount:     p.Amount,
		Currency:   p.Currency,
		State:      string(p.State),
		Capturable: p.Capturable,
		Captured:   p.Captured,
		Refunded:   p.Refunded,
		Steps:      []paymentStep{},
		ExpiresAt:  optionalTime(p.ExpiresAt),
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

// paymentOutput answers with the payment after a step.
func (s *service) paymentOutput(c caller, p payments.Payment, err error) (*paymentOutput, error) {
	if err != nil {
		return nil, err
	}
	return &paymentOutput{Body: c.tenant.showPayment(p)}, nil
}

func (s *service) authorizePayment(ctx context.Context, c caller, in *authorizeInput) (*paymentOutput, error) {
	n := payments.NewPayment{
		ID:       c.tenant.storedID(in.PaymentID),
		OrderID:  c.tenant.storedID(in.Body.OrderID),
		Payer:    c.tenant.storedID(in.Body.Payer),
		Payee:    c.tenant.storedID(in.Body.Payee),
		Amount:   in.Body.Amount,
		Currency: in.Body.Currency,
	}
	if in.Body.ExpiresAt != nil {
		n.ExpiresAt = *in.Body.ExpiresAt
	}
	p, err := s.cfg.Payments.Authorize(ctx, n)

	return s.paymentOutput(c, p, err)
}

func (s *service) getPayment(ctx context.Context, c caller, in *input.Payment) (*paymentOutput, error) {
	p, err := s.cfg.Payments.Get(ctx, c.tenant.storedID(in.PaymentID))
	return s.paymentOutput(c, p, err)
}

type captureInput struct {
	input.Payment
	input.Step
	Body struct {
		Amount int64 `json:"amount" minimum:"1" maximum:"1000000000000000" doc:"In minor units."`
		Final  bool  `json:"final,omitempty" doc:"Whether this is the last capture: the rest is released."`
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
	p, err := s.cfg.Payments.Capture(ctx, c.tenant.storedID(in.PaymentID), payments.StepRequest{
		ID:     in.StepID,
		Amount: in.Body.Amount,
		Final:  in.Body.Final,
	})

	return s.paymentOutput(c, p, err)
}

func (s *service) refundPayment(ctx context.Context, c caller, in *refundInput) (*paymentOutput, error) {
	p, err := s.cfg.Payments.Refund(ctx, c.tenant.storedID(in.PaymentID), payments.StepRequest{
		ID:     in.StepID,
		Amount: in.Body.Amount,
	})

	return s.paymentOutput(c, p, err)
}

func (s *service) voidPayment(ctx context.Context, c caller, in *input.Payment) (*paymentOutput, error) {
	p, err := s.cfg.Payments.Void(ctx, c.tenant.storedID(in.PaymentID))
	return s.paymentOutput(c, p, err)
}

type listPaymentsOutput struct {
	Body struct {
		Payments []payment `json:"payments"`
		Next     string    `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

type listPaymentsInput struct {
	State string `query:"state" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" doc:"Only payments in this state." example:"CAPTURED"`
	input.Page
}

func (s *service) listPayments(ctx context.Context, c caller, in *listPaymentsInput) (*listPaymentsOutput, error) {
	if in.State != "" && !workflow.Payment().HasState(workflow.State(in.State)) {
		return nil, newProblem(http.StatusUnprocessableEntity, "invalid_request", "A parameter breaks a rule.").
			withField("query", "state", "one of a payment's states")
	}

	out := &listPaymentsOutput{}
	var err error
	out.Body.Payments, out.Body.Next, err = listPage(s, in.Page, []string{"payments", string(c.tenant), in.State},
		func(after string, n int) ([]payments.Payment, string, error) {
			// Not with the state: List would look for a whole page of them, however many payments that takes.
			return s.cfg.Payments.List(ctx, "", after, n)
		},
		func(p payments.Payment) (payment, bool, error) {
			_, own := c.tenant.ownID(p.ID)
			return c.tenant.showPayment(p), own && (in.State == "" || in.State == string(p.State)), nil
		})

	return out, err
}
