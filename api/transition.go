package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (s *service) transitionRoutes(h huma.API) {
	register(s, h, route{
		id:          "apply-transition",
		method:      http.MethodPost,
		path:        "/v1/orders/{orderId}/transitions",
		tag:         "transitions",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromRecord,
		body:        true,
		auditParams: []string{"orderId"},
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
		summary:     "Request one transition",
		description: "200 if the transition was applied, by this request or by an earlier one with the same key (Idempotent-Replayed: true). A repeat gets verdict and transition as the " +
			"first answer had them; order is the order as it is now. Otherwise the code says why not: " +
			"wrong_state (the order is in another state; a later repeat is decided again), superseded (a newer transition was applied; stop), idempotency_key_reused or conflict " +
			"(the key, or the id, was used with other content), effects_due (with refuseSkipped: the event would skip an effect that is due), illegal (the definition has no such transition), order_not_found.",
	}, s.applyTransition)

	register(s, h, route{
		// The parcel's id in the path identifies the request, so no Idempotency-Key is needed.
		id:          "ship-parcel",
		method:      http.MethodPut,
		path:        "/v1/orders/{orderId}/parcels/{parcelId}",
		tag:         "transitions",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromRecord,
		body:        true,
		auditParams: []string{"orderId", "parcelId"},
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Report a shipped parcel",
		description: "Counts its pieces as shipped and moves the order in the same write. The order is partially shipped until its last piece was shipped. The parcel's id makes the " +
			"request idempotent: a repeat gets verdict and transition again, other lines are a conflict.",
	}, s.shipParcel)

	register(s, h, route{
		id:          "list-transitions",
		method:      http.MethodGet,
		path:        "/v1/orders/{orderId}/transitions",
		tag:         "transitions",
		scope:       auth.Read,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "List the applied transitions of an order, oldest first",
		description: "Read from the journal, which may lag behind the order by moments.",
	}, s.listTransitions)
	register(s, h, route{
		id:          "explain-order",
		method:      http.MethodGet,
		path:        "/v1/orders/{orderId}/explanation",
		tag:         "transitions",
		scope:       auth.Read,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Explain the state of an order, which events are possible now, and what to do next",
		description: "Of an order that was never placed it explains the execution that is to place it.",
	}, s.explainOrder)
	describe(h, s.enumerateEvents)
}

// enumerateEvents adds the events and states of the definition to the request's schema in the document.
// Requests are not held against them: a repeat of a request with an event of an earlier definition is
// answered as a repeat.
func (s *service) enumerateEvents(doc *huma.OpenAPI) {
	var events, states []string
	for _, event := range s.definition().Events() {
		// Another route places orders.
		if event != s.definition().Place() {
			events = append(events, string(event))
		}
	}

	for _, state := range s.definition().States() {
		states = append(states, string(state.State))
	}

	for _, name := range []string{"NewTransition", "NewScheduled"} {
		body := doc.Components.Schemas.SchemaFromRef("#/components/schemas/" + name)
		onlyDocument(body.Properties["event"], "enum", events)
		onlyDocument(body.Properties["from"], "enum", states)
	}
}

// onlyDocument sets a keyword of the schema that the document has and that requests are not held against.
func onlyDocument(schema *huma.Schema, keyword string, value any) {
	if schema.Extensions == nil {
		schema.Extensions = map[string]any{}
	}
	schema.Extensions[keyword] = value
}

type newTransition struct {
	// The names of package workflow have the same pattern.
	Event        string      `json:"event" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" doc:"The event to apply."`
	From         string      `json:"from,omitempty" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" doc:"Apply the event only from this state."`
	TransitionID int64       `json:"transitionId,omitempty" minimum:"2" maximum:"9007199254740991" doc:"The id of the transition. Default: the order's next."`
	Values       guardValues `json:"values,omitempty"`
	Own          *newOwn     `json:"own,omitempty" doc:"Changes own attributes in the same write. It is a part of the request's content."`
	Cause        *newCause   `json:"cause,omitempty" doc:"Why. It is no part of the request's content: a repeat may have another one."`
	// RefuseSkipped is no part of the content: a repeat may have another value.
	RefuseSkipped bool `json:"refuseSkipped,omitempty" doc:"Refuse the event with effects_due if it would skip an effect that is due. It costs several reads."`
}

// guardValues are the values of a request that guards compare.
type guardValues map[string]any

// TransformSchema allows texts, integers and booleans.
func (guardValues) TransformSchema(_ huma.Registry, _ *huma.Schema) *huma.Schema {
	most, longest := 32, 256
	least, greatest := -float64(1<<53-1), float64(1<<53-1)

	return &huma.Schema{
		Type:          huma.TypeObject,
		MaxProperties: &most,
		Description:   "The values that the event's guards compare.",
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
	input.Repeat
	ETag string `header:"ETag"`
	Body applied
}

type applied struct {
	Verdict    string     `json:"verdict" enum:"Applied"`
	Transition transition `json:"transition"`
	Order      order      `json:"order" doc:"The order as it is now. It is not a part of the answer that a repeat gets again."`
}

func (s *service) applyTransition(ctx context.Context, c caller, in *applyInput) (*applyOutput, error) {
	own, refusal := c.ownChange(in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	r := transitions.Request{
		OrderID:      c.tenant.orderID(in.OrderID),
		Event:        workflow.Event(in.Body.Event),
		From:         workflow.State(in.Body.From),
		TransitionID: transitions.TransitionID(in.Body.TransitionID),
		RequestID:    transitions.RequestID(in.Key),
		Values:       in.Body.Values,
		Own:          own,
		Cause:        c.cause(ctx, in.Body.Cause),
	}
	if seen, conditional := in.Seen(); conditional {
		r.IfMatch, r.Incarnation = (*transitions.TransitionID)(&seen.TransitionID), transitions.Incarnation(seen.Incarnation)
	}

	if r.IfMatch != nil && r.TransitionID != 0 {
		return nil, newProblem(http.StatusUnprocessableEntity, "invalid_request", "The transitionId already names the version that the request depends on.").
			withField("header", ifMatch, "not together with transitionId")
	}

	if p := refuseReserved(r.RequestID); p != nil {
		return nil, p
	}

	if err := s.refuseSkipped(ctx, c, in.Body.RefuseSkipped, r.OrderID, r.Event, r.MadeBy); err != nil {
		return nil, err
	}

	result, err := s.cfg.Orders.Apply(ctx, r)
	if err != nil {
		return nil, err
	}

	if !result.Verdict.Done() {
		return nil, verdictProblem(r, result)
	}

	return s.appliedOutput(c, result), nil
}

// refuseReserved refuses the ids by which executions request transitions: they tell who has paid or canceled an order, so
// no other caller may use them.
func refuseReserved(id transitions.RequestID) *problem {
	if !id.IsReserved() {
		return nil
	}

	return newProblem(http.StatusUnprocessableEntity, "invalid_request", "The key is one of those that executions use.").
		withField("header", idempotencyKey, "must not be a key of executions, such as payment/paid")
}

// refuseSkipped refuses an event that skips an effect which is due, if the request asks for that. Without
// it nothing is read.
func (s *service) refuseSkipped(ctx context.Context, c caller, wanted bool, id transitions.OrderID, event workflow.Event, made func(*transitions.Order) bool) error {
	switch {
	case !wanted:
		return nil
	case s.cfg.DueBefore == nil:
		return newProblem(http.StatusUnprocessableEntity, "invalid_request", "This server cannot look at the effects of an order.")
	}

	due, err := s.cfg.DueBefore(ctx, id, event, made)
	if err != nil || len(due) == 0 {
		return err
	}

	return newProblem(http.StatusConflict, "effects_due", "The event would skip what is due: "+c.tenant.ownWords(due[0].What)+".")
}

// appliedOutput answers a transition that was applied, by this request or an earlier one.
func (s *service) appliedOutput(c caller, result transitions.Result) *applyOutput {
	// The order knows the whole cause of its newest transition only, so a repeat could not show it.
	shown := showTransition(result.Transition)
	shown.Cause = showCause(transitions.Cause{Code: result.Transition.Cause.Code})

	out := &applyOutput{
		ETag: etag(result.Order),
		Body: applied{transitions.Applied.String(), shown, c.tenant.showOrder(result.Order)},
	}
	if result.Verdict == transitions.Replayed {
		out.MarkReplayed()
	}

	return out
}

// verdictProblem returns the problem of a verdict that did not move the order.
func verdictProblem(r transitions.Request, result transitions.Result) *problem {
	switch result.Verdict {
	case transitions.NotFound:
		return notFound("order")
	case transitions.Superseded:
		if r.IfMatch != nil {
			return orderChanged(result.Order)
		}
		return newProblem(http.StatusConflict, "superseded", "A newer transition was applied. This request was not applied and never will be.").withOrder(result.Order)
	case transitions.WrongState:
		p := newProblem(http.StatusConflict, "wrong_state", "The event is not possible in the order's state. Nothing was recorded: a later repeat is decided again.").withOrder(result.Order)
		if result.Reason != "" {
			p.Detail = "Prevented by: " + result.Reason
		}
		p.Expected = toStrings(result.Expected)

		return p
	case transitions.Conflict:
		// One verdict stands for two conflicts. This one is about the ETag.
		if r.IfMatch != nil && result.Order.TransitionID < *r.IfMatch {
			return newProblem(http.StatusPreconditionFailed, "conflict", "The ETag names a transition that was not applied to the order.").withOrder(result.Order)
		}

		if r.TransitionID == 0 {
			return keyReused().withOrder(result.Order)
		}

		return newProblem(http.StatusConflict, "conflict", "The transitionId or the Idempotency-Key was used with other content.").withOrder(result.Order)
	}

	return newProblem(http.StatusUnprocessableEntity, "illegal", "The definition has no such transition.").withOrder(result.Order)
}

// toStrings converts the values to plain strings. It returns nil for an empty list.
func toStrings[T ~string](in []T) []string {
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
	binding := []string{"transitions", string(c.tenant), in.OrderID}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	// An unknown order is a 404. An order without rows has an empty list.
	if _, err := s.getOwnOrder(ctx, c, in.OrderID); err != nil {
		return nil, err
	}

	rows, err := s.cfg.Orders.History(ctx, c.tenant.orderID(in.OrderID), parseTransitionID(position), in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listTransitionsOutput{}
	out.Body.Transitions = make([]transition, len(rows))
	for i, row := range rows {
		out.Body.Transitions[i] = showTransition(row)
	}

	if len(rows) == in.Limit {
		out.Body.Next = s.cursors.seal(formatTransitionID(rows[len(rows)-1].ID), binding...)
	}

	return out, nil
}

type explainOutput struct {
	Body explanation
}

// explanation explains the state of an order.
type explanation struct {
	Order        *order    `json:"order,omitempty" doc:"Absent if the order was never placed."`
	Steps        []step    `json:"steps" doc:"The applied transitions, oldest first."`
	Missing      string    `json:"missing,omitempty" doc:"What is missing in the steps."`
	Options      []option  `json:"options" doc:"Every event, and its effect now."`
	Editable     bool      `json:"editable" doc:"Whether the content may be edited now."`
	OtherVersion int       `json:"otherVersion,omitempty" doc:"The version of the definition that moved the order last, if it is not the current one."`
	Note         string    `json:"note,omitempty" doc:"What the state does not do although it seems so."`
	Due          []due     `json:"due" doc:"The effects that the order still has to have, for administrators."`
	Timeline     []moment  `json:"timeline" doc:"Each recorded fact by time: transitions, edits, executions, reservations and refusals; for administrators also waiting tasks, payments, parcels, reports of the carrier, notifications, retries and dead letters. The log of refusals does not have all."`
	Incomplete   []string  `json:"incomplete,omitempty" doc:"What could not be read for the time line."`
	Unplaced     *unplaced `json:"unplaced,omitempty" doc:"The execution that is to place the order, if the order does not exist. All else is empty then."`
}

// due is an effect that the order still has to have.
type due struct {
	Handler  string     `json:"handler,omitempty" doc:"The handler of the stream. Absent for a report of the carrier, a payment and an event."`
	Report   string     `json:"report,omitempty" doc:"The report of the carrier that waits."`
	Payment  string     `json:"payment,omitempty" doc:"The payment whose newest step the bank has not answered."`
	Event    string     `json:"event,omitempty" doc:"The event that time makes; order.timers has more."`
	What     string     `json:"what" doc:"What it waits for, in words."`
	Error    string     `json:"error,omitempty" personal:"text" doc:"The last error."`
	Attempts int        `json:"attempts,omitempty"`
	Since    *time.Time `json:"since,omitempty" doc:"Since when it fails or waits."`
	NextTry  *time.Time `json:"nextTry,omitempty"`
	PausedAt *time.Time `json:"pausedAt,omitempty" doc:"Since when the handler is paused."`
	Next     string     `json:"next,omitempty" doc:"What a person may do. Absent if it only has to be waited for."`
}

type step struct {
	TransitionID int64     `json:"transitionId"`
	Event        string    `json:"event"`
	From         string    `json:"from,omitempty"`
	To           string    `json:"to"`
	At           time.Time `json:"at"`
	Cause        *cause    `json:"cause,omitempty"`
	Journal      bool      `json:"journal"`
	Ring         bool      `json:"ring"`
	Assigned     bool      `json:"assigned" doc:"The server assigned the id."`
	Named        bool      `json:"named" doc:"The request carried a key."`
	Skipped      int64     `json:"skipped,omitempty" doc:"How many ids before this one were never applied."`
}

type option struct {
	Event string   `json:"event"`
	Legal bool     `json:"legal"`
	To    string   `json:"to,omitempty"`
	If    string   `json:"if,omitempty" doc:"What a guard requires of the request."`
	Unmet string   `json:"unmet,omitempty" doc:"The guards that prevent it."`
	Needs []string `json:"needs,omitempty" doc:"States from which it would be legal."`
	Ahead bool     `json:"ahead" doc:"The order can still reach one of those states."`
}

func (s *service) explainOrder(ctx context.Context, c caller, in *input.Order) (*explainOutput, error) {
	e, err := inspect.Explain(ctx, s.cfg.Orders, c.tenant.orderID(in.OrderID))
	if errors.Is(err, transitions.ErrUnknownOrder) {
		return s.explainUnplaced(ctx, c, in.OrderID, err)
	}

	if err != nil {
		return nil, err
	}

	if err := e.NoteHold(ctx, s.cfg.Around); err != nil {
		return nil, err
	}

	shown := s.showRead(c.tenant, e.Order)
	// Steps and Options are not nil: a list is never null in JSON.
	out := explanation{
		Order:        &shown,
		Steps:        []step{},
		Missing:      e.Missing,
		Options:      []option{},
		Editable:     e.Editable,
		OtherVersion: e.OtherVersion,
		Note:         c.tenant.ownWords(e.Note),
	}
	for _, st := range e.Steps {
		out.Steps = append(out.Steps, step{
			TransitionID: int64(st.ID),
			Event:        string(st.Event),
			From:         string(st.From),
			To:           string(st.To),
			At:           st.At,
			Cause:        showCause(st.Cause),
			Journal:      st.Journal,
			Ring:         st.Ring,
			Assigned:     st.Assigned,
			Named:        st.Named,
			Skipped:      st.Skipped,
		})
	}

	for _, o := range e.Options {
		out.Options = append(out.Options, option{
			Event: string(o.Event),
			Legal: o.Legal,
			To:    string(o.To),
			If:    o.If,
			Unmet: o.Unmet,
			Needs: toStrings(o.Needs),
			Ahead: o.Ahead,
		})
	}

	out.Timeline, out.Due, out.Incomplete = s.timeline(ctx, c, e)

	return &explainOutput{out}, nil
}
