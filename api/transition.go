package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (s *service) transitionRoutes(h huma.API) {
	register(s, h, route{
		id:      "apply-transition",
		method:  http.MethodPost,
		path:    "/v1/orders/{orderId}/transitions",
		tag:     "transitions",
		scope:   auth.Act,
		changes: true,
		body:    true,
		target:  []string{"orderId"},
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
		summary: "Request one transition",
		about: "200 when it was applied, by this request or by an earlier one with the same key (Idempotent-Replayed: true). Else the code says why not: " +
			"wrong_state (the order is elsewhere; a later repeat is judged afresh), superseded (somebody was faster; stop), idempotency_key_reused or conflict " +
			"(the key, or the id, was used for another content), illegal (no order may do this), order_not_found.",
	}, s.applyTransition)
	register(s, h, route{
		id:      "ship-parcel",
		method:  http.MethodPut,
		path:    "/v1/orders/{orderId}/parcels/{parcelId}",
		tag:     "transitions",
		scope:   auth.Act,
		changes: true,
		body:    true,
		target:  []string{"orderId", "parcelId"},
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound, http.StatusConflict},
		summary: "Report a parcel that has left",
		about: "Counts its pieces as shipped and moves the order by the same write: it is partially shipped until its last piece has left. The parcel's id makes it " +
			"happen once: a repeat is answered as before (Idempotent-Replayed: true), with other lines it is a conflict.",
	}, s.shipParcel)
	register(s, h, route{
		id:      "list-transitions",
		method:  http.MethodGet,
		path:    "/v1/orders/{orderId}/transitions",
		tag:     "transitions",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "List what an order has been through, oldest first",
		about:   "From the journal, which follows the order by moments.",
	}, s.listTransitions)
	register(s, h, route{
		id:      "explain-order",
		method:  http.MethodGet,
		path:    "/v1/orders/{orderId}/explanation",
		tag:     "transitions",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Say why an order is where it is, and what it may do now",
	}, s.explainOrder)
	s.enumerateEvents(h.OpenAPI())
}

// enumerateEvents puts the definition's events and states into the request's schema.
func (s *service) enumerateEvents(doc *huma.OpenAPI) {
	body := doc.Components.Schemas.SchemaFromRef("#/components/schemas/NewTransition")
	for _, event := range s.definition().Events() {
		if event != s.definition().Place() {
			body.Properties["event"].Enum = append(body.Properties["event"].Enum, string(event))
		}
	}

	for _, state := range s.definition().States() {
		body.Properties["from"].Enum = append(body.Properties["from"].Enum, string(state.State))
	}
	body.Properties["event"].PrecomputeMessages()
	body.Properties["from"].PrecomputeMessages()
}

type newTransition struct {
	Event        string      `json:"event" doc:"What shall happen."`
	From         string      `json:"from,omitempty" doc:"Only from this state."`
	TransitionID int64       `json:"transitionId,omitempty" minimum:"2" maximum:"9007199254740991" doc:"The id under which it shall be applied. Left out, it is the order's next."`
	Values       guardValues `json:"values,omitempty"`
}

// guardValues are what guards ask of a request.
type guardValues map[string]any

// TransformSchema says which values there are.
func (guardValues) TransformSchema(_ huma.Registry, _ *huma.Schema) *huma.Schema {
	most, longest := 32, 256
	least, greatest := -float64(1<<53-1), float64(1<<53-1)

	return &huma.Schema{
		Type:          huma.TypeObject,
		MaxProperties: &most,
		Description:   "What the event's guards ask of the request.",
		AdditionalProperties: &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeString, MaxLength: &longest},
			{Type: huma.TypeInteger, Minimum: &least, Maximum: &greatest}, {Type: huma.TypeBoolean}}},
	}
}

type applyInput struct {
	input.Order
	input.Keyed
	input.Conditional
	Body newTransition
}

type applyOutput struct {
	ETag     string `header:"ETag"`
	Replayed string `header:"Idempotent-Replayed" doc:"true for the repeat of a request."`
	Body     applied
}

type applied struct {
	Verdict    string     `json:"verdict" enum:"Applied,Replayed"`
	Transition transition `json:"transition"`
	Order      order      `json:"order" doc:"The order as it is now."`
}

func (s *service) applyTransition(ctx context.Context, c caller, in *applyInput) (*applyOutput, error) {
	r := transitions.Request{
		OrderID:      c.tenant.order(in.OrderID),
		Event:        workflow.Event(in.Body.Event),
		From:         workflow.State(in.Body.From),
		TransitionID: transitions.TransitionID(in.Body.TransitionID),
		RequestID:    transitions.RequestID(in.Key),
		Values:       in.Body.Values,
	}
	if seen, _, conditional := in.Seen(); conditional {
		r.IfMatch = (*transitions.TransitionID)(&seen)
	}

	if r.IfMatch != nil && r.TransitionID != 0 {
		return nil, newProblem(http.StatusUnprocessableEntity, "invalid_request", "A request with a transitionId says itself what it follows.").field("header", ifMatch, "not together with transitionId")
	}

	result, err := s.cfg.Orders.Apply(ctx, r)
	if err != nil {
		return nil, err
	}

	if !result.Verdict.Done() {
		return nil, refused(r, result)
	}

	return s.moved(c, result), nil
}

// moved answers a transition that was made, now or before.
func (s *service) moved(c caller, result transitions.Result) *applyOutput {
	out := &applyOutput{
		ETag: etag(result.Order),
		Body: applied{result.Verdict.String(), showTransition(result.Transition), c.tenant.show(result.Order)},
	}
	if result.Verdict == transitions.Replayed {
		out.Replayed = "true"
	}

	return out
}

// refused is the problem of a verdict that moved nothing.
func refused(r transitions.Request, result transitions.Result) *problem {
	switch result.Verdict {
	case transitions.NotFound:
		return notFound("order")
	case transitions.Superseded:
		if r.IfMatch != nil {
			return overtaken(result.Order)
		}
		return newProblem(http.StatusConflict, "superseded", "A newer transition has been applied. This request never was and never will be.").at(result.Order)
	case transitions.WrongState:
		p := newProblem(http.StatusConflict, "wrong_state", "The order is in another state than this event needs. Nothing is recorded: a later repeat is judged afresh.").at(result.Order)
		if result.Reason != "" {
			p.Detail = "In the way: " + result.Reason
		}
		p.Expected = texts(result.Expected)

		return p
	case transitions.Conflict:
		if r.IfMatch != nil && result.Order.TransitionID < *r.IfMatch {
			return newProblem(http.StatusPreconditionFailed, "conflict", "The ETag names a transition that the order has not made.").at(result.Order)
		}

		if r.TransitionID == 0 {
			return keyReused().at(result.Order)
		}

		return newProblem(http.StatusConflict, "conflict", "The transitionId, or the Idempotency-Key, was used for another content.").at(result.Order)
	}

	return newProblem(http.StatusUnprocessableEntity, "illegal", "No order may do this from there.").at(result.Order)
}

func texts[T ~string](in []T) []string {
	var out []string
	for _, s := range in {
		out = append(out, string(s))
	}

	return out
}

type listTransitionsInput struct {
	input.Order
	input.Page
}

type listTransitionsOutput struct {
	Body struct {
		Transitions []transition `json:"transitions"`
		Next        string       `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listTransitions(ctx context.Context, c caller, in *listTransitionsInput) (*listTransitionsOutput, error) {
	bound := []string{"transitions", string(c.tenant), in.OrderID}

	place, p := s.cursors.open(in.Cursor, bound...)
	if p != nil {
		return nil, p
	}

	if _, err := s.find(ctx, c, in.OrderID); err != nil {
		return nil, err
	}

	rows, err := s.cfg.Orders.History(ctx, c.tenant.order(in.OrderID), number(place), in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listTransitionsOutput{}
	out.Body.Transitions = make([]transition, len(rows))
	for i, row := range rows {
		out.Body.Transitions[i] = showTransition(row)
	}

	if len(rows) == in.Limit {
		out.Body.Next = s.cursors.seal(text(rows[len(rows)-1].ID), bound...)
	}

	return out, nil
}

type explainOutput struct {
	Body explanation
}

// explanation says why an order is where it is.
type explanation struct {
	Order        order    `json:"order"`
	Steps        []step   `json:"steps" doc:"The order's way, oldest first."`
	Missing      string   `json:"missing,omitempty" doc:"What the steps lack."`
	Options      []option `json:"options" doc:"Every event, and what it would do now."`
	Editable     bool     `json:"editable" doc:"Whether the content may be edited now."`
	OtherVersion int      `json:"otherVersion,omitempty" doc:"The version of the definition that moved the order last, when it is not the present one."`
}

type step struct {
	TransitionID int64     `json:"transitionId"`
	Event        string    `json:"event"`
	From         string    `json:"from,omitempty"`
	To           string    `json:"to"`
	At           time.Time `json:"at"`
	Journal      bool      `json:"journal"`
	Ring         bool      `json:"ring"`
	Allotted     bool      `json:"allotted" doc:"The id was chosen by us."`
	Named        bool      `json:"named" doc:"The request carried a key."`
	Skipped      int64     `json:"skipped,omitempty" doc:"How many ids before this one were never applied."`
}

type option struct {
	Event string   `json:"event"`
	Legal bool     `json:"legal"`
	To    string   `json:"to,omitempty"`
	If    string   `json:"if,omitempty" doc:"What a guard asks of the request."`
	Unmet string   `json:"unmet,omitempty" doc:"The guards in the way."`
	Needs []string `json:"needs,omitempty" doc:"States from which it would be legal."`
	Ahead bool     `json:"ahead" doc:"The order can still come to one of those."`
}

func (s *service) explainOrder(ctx context.Context, c caller, in *input.Order) (*explainOutput, error) {
	e, err := inspect.Explain(ctx, s.cfg.Orders, c.tenant.order(in.OrderID))
	if err != nil {
		return nil, err
	}

	out := explanation{
		Order:        c.tenant.show(e.Order),
		Steps:        []step{},
		Missing:      e.Missing,
		Options:      []option{},
		Editable:     e.Editable,
		OtherVersion: e.OtherVersion,
	}
	for _, st := range e.Steps {
		out.Steps = append(out.Steps, step{int64(st.ID), string(st.Event), string(st.From), string(st.To), st.At, st.Journal, st.Ring, st.Assigned, st.Named, st.Skipped})
	}

	for _, o := range e.Options {
		out.Options = append(out.Options, option{string(o.Event), o.Legal, string(o.To), o.If, o.Unmet, texts(o.Needs), o.Ahead})
	}

	return &explainOutput{out}, nil
}
