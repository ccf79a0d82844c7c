package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/actions"
	"ratchet/api/auth"
	"ratchet/api/internal/input"
)

func (s *service) actionRoutes(h huma.API) {
	register(s, h, route{
		id:      "create-action",
		method:  http.MethodPost,
		path:    "/v1/actions",
		tag:     "actions",
		scope:   auth.Act,
		changes: true,
		body:    true,
		free:    "/payload",
		status:  http.StatusCreated,
		also:    []int{http.StatusOK},
		errors:  []int{http.StatusConflict},
		summary: "Make something that can be used once",
		about:   "A repeat with the same key and content is answered with the action as it is now. The id is a secret of whoever may use it.",
		links: map[string]*huma.Link{
			"get":     {OperationID: "get-action", Parameters: map[string]any{"action": "$response.body#/id"}},
			"consume": {OperationID: "consume-action", Parameters: map[string]any{"action": "$response.body#/id"}},
			"cancel":  {OperationID: "cancel-action", Parameters: map[string]any{"action": "$response.body#/id"}}},
	}, s.createAction)
	register(s, h, route{
		id:      "put-action",
		method:  http.MethodPut,
		path:    "/v1/actions/{action}",
		tag:     "actions",
		scope:   auth.Act,
		changes: true,
		body:    true,
		free:    "/payload",
		target:  []string{"action"},
		status:  http.StatusCreated,
		also:    []int{http.StatusOK},
		errors:  []int{http.StatusConflict},
		summary: "Make an action under a code that people type, like a coupon's",
		about:   "Letters, digits and hyphens, in any case. Guessing it is as easy as it looks; a used code is never free again. A repeat is answered with the action as it is now.",
	}, s.putAction)
	register(s, h, route{
		id:      "get-action",
		method:  http.MethodGet,
		path:    "/v1/actions/{action}",
		tag:     "actions",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Look at an action, without using it",
		about:   "Without its payload, and of one with a PIN the state alone: this may be shown to whoever has the id. Looking uses nothing up.",
	}, s.getAction)
	verb := func(id, path, summary, about string) route {
		return route{
			id:      id,
			method:  http.MethodPost,
			path:    "/v1/actions/{action}/" + path,
			tag:     "actions",
			scope:   auth.Act,
			changes: true,
			body:    true,
			target:  []string{"action"},
			status:  http.StatusOK,
			summary: summary,
			about:   about,
			errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusLocked},
		}
	}
	register(s, h, verb("consume-action", "consume", "Use an action",
		"Of all requests one gets 200; its repeat with the same Idempotency-Key gets the same 200. The codes of the others: already_used (409, with consumedAt), "+
			"held, not_active (409), expired, canceled (410), invalid_pin (403), locked (423), action_not_found (404)."), s.consumeAction)
	register(s, h, verb("reserve-action", "reserve", "Hold an action for a while", "Until the hold ends nobody else can use it. The Idempotency-Key names the holder: its repeat gets the same hold."), s.reserveAction)
	register(s, h, verb("release-action", "release", "Give a hold back", ""), s.releaseAction)
	register(s, h, route{
		id:      "make-actions",
		method:  http.MethodPut,
		path:    "/v1/action-batches/{batch}",
		tag:     "actions",
		scope:   auth.Act,
		changes: true,
		body:    true,
		free:    "/payload",
		target:  []string{"batch"},
		status:  http.StatusOK,
		errors:  []int{http.StatusConflict},
		summary: "Make many actions with generated codes, a part of a batch at a time",
		about:   "Codes that people type and nobody guesses. The batch's name and the index make each code: a repeat makes the same ones and no action twice. The next part begins where this one ended (next).",
	}, s.makeActions)
	cancel := verb("cancel-action", "cancel", "End an action that nobody has used", "A repeat is answered alike.")
	cancel.body = false
	register(s, h, cancel, s.cancelAction)
}

// actionsOf are the caller's tenant's: their keys and signatures are its own.
func (s *service) actionsOf(c caller) (*actions.Actions, error) {
	if c.Tenant == auth.DefaultTenant {
		return s.cfg.Actions, nil
	}
	return s.cfg.Actions.For(string(c.Tenant))
}

type createActionInput struct {
	input.Keyed
	Body newAction
}

type putActionInput struct {
	Action string `path:"action" minLength:"3" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9]$" example:"SPRING-2026"`
	Body   newAction
}

// newAction is an action to be made.
type newAction struct {
	Payload     json.RawMessage `json:"payload,omitempty" doc:"Any JSON; who uses the action gets it."`
	PIN         string          `json:"pin,omitempty" minLength:"4" maxLength:"64" pattern:"^[!-~]+$" doc:"Must be given to use it."`
	MaxAttempts int64           `json:"maxAttempts,omitempty" minimum:"1" maximum:"10" doc:"How many tries of the PIN there are. Default 3."`
	ActiveAt    *time.Time      `json:"activeAt,omitempty" doc:"From when it may be used. Default: at once."`
	ExpiresAt   time.Time       `json:"expiresAt" doc:"From when it may no more be used; at most 5 years from now."`
}

// action is an action as it may be shown.
type action struct {
	ID           string     `json:"id" doc:"A secret of whoever may use it."`
	State        string     `json:"state" enum:"pending,active,held,locked,consumed,canceled,expired"`
	PINRequired  bool       `json:"pinRequired"`
	AttemptsLeft int        `json:"attemptsLeft,omitempty"`
	CreatedAt    *time.Time `json:"createdAt,omitempty"`
	ActiveAt     *time.Time `json:"activeAt,omitempty"`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty"`
	HeldUntil    *time.Time `json:"heldUntil,omitempty"`
	ConsumedAt   *time.Time `json:"consumedAt,omitempty"`
	CanceledAt   *time.Time `json:"canceledAt,omitempty"`
}

type actionOutput struct{ Body action }

type madeOutput struct {
	Status   int
	Replayed string `header:"Idempotent-Replayed" doc:"true for the repeat of a request."`
	Body     action
}

func showMade(a actions.Action) *madeOutput {
	if a.Repeated {
		return &madeOutput{http.StatusOK, "true", showAction(a).Body}
	}
	return &madeOutput{http.StatusCreated, "", showAction(a).Body}
}

func showAction(a actions.Action) *actionOutput {
	return &actionOutput{action{string(a.ID), string(a.State), a.PINRequired, a.AttemptsLeft, moment(a.CreatedAt), moment(a.ActiveAt), moment(a.ExpiresAt),
		moment(a.HeldUntil), moment(a.ConsumedAt), moment(a.CanceledAt)}}
}

// moment is a time, or nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (s *service) createAction(ctx context.Context, c caller, in *createActionInput) (*madeOutput, error) {
	all, err := s.actionsOf(c)
	if err != nil {
		return nil, err
	}
	spec := in.Body.spec()
	spec.RequestID = in.Key

	made, err := all.Create(ctx, spec)
	if err != nil {
		return nil, err
	}

	return showMade(made), nil
}

func (n newAction) spec() actions.Spec {
	spec := actions.Spec{
		Payload:     n.Payload,
		PIN:         actions.PIN(n.PIN),
		MaxAttempts: int(n.MaxAttempts),
		ExpiresAt:   n.ExpiresAt,
	}
	if n.ActiveAt != nil {
		spec.ActiveAt = *n.ActiveAt
	}

	return spec
}

func (s *service) putAction(ctx context.Context, c caller, in *putActionInput) (*madeOutput, error) {
	all, err := s.actionsOf(c)
	if err != nil {
		return nil, err
	}
	spec := in.Body.spec()
	spec.Code = in.Action

	made, err := all.Create(ctx, spec)
	if errors.Is(err, actions.ErrConflict) {
		return nil, newProblem(http.StatusConflict, "conflict", "The code was used for another content.")
	}

	if err != nil {
		return nil, err
	}

	return showMade(made), nil
}

func (s *service) getAction(ctx context.Context, c caller, in *input.Action) (*actionOutput, error) {
	all, err := s.actionsOf(c)
	if err != nil {
		return nil, err
	}

	a, found, err := all.Get(ctx, actions.ID(in.Action))
	if err == nil && !found {
		err = notFound("action")
	}

	if err != nil {
		return nil, err
	}

	return showAction(a.Public()), nil
}

type consumeInput struct {
	input.Action
	input.Keyed
	Body struct {
		PIN    string `json:"pin,omitempty" minLength:"1" maxLength:"64"`
		Holder string `json:"holder,omitempty" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"The Idempotency-Key of the hold, when it is held by you."`
		Fence  int64  `json:"fence,omitempty" minimum:"1" maximum:"9007199254740991" doc:"The hold's."`
	}
}

type reserveActionInput struct {
	input.Action
	input.Keyed
	Body struct {
		PIN     string `json:"pin,omitempty" minLength:"1" maxLength:"64"`
		Seconds int64  `json:"seconds" minimum:"1" maximum:"86400" doc:"For how long."`
	}
}

type releaseActionInput struct {
	input.Action
	Body struct {
		Holder string `json:"holder" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"The Idempotency-Key of the hold."`
		Fence  int64  `json:"fence" minimum:"1" maximum:"9007199254740991" doc:"The hold's."`
	}
}

type usedOutput struct {
	Replayed string `header:"Idempotent-Replayed" doc:"true for the repeat of a request."`
	Body     used
}

// used is what a request for an action got.
type used struct {
	Outcome    string          `json:"outcome" enum:"consumed,reserved,released,canceled"`
	Payload    json.RawMessage `json:"payload,omitempty" doc:"The action's."`
	ConsumedAt *time.Time      `json:"consumedAt,omitempty"`
	CanceledAt *time.Time      `json:"canceledAt,omitempty"`
	HeldUntil  *time.Time      `json:"heldUntil,omitempty"`
	Fence      int64           `json:"fence,omitempty" doc:"Of the hold: goes with its use and its release."`
}

func (s *service) consumeAction(ctx context.Context, c caller, in *consumeInput) (*usedOutput, error) {
	return s.use(c, actions.Consumed, func(all *actions.Actions) (actions.Result, error) {
		return all.Consume(ctx, actions.Request{
			ID:        actions.ID(in.Action.Action),
			PIN:       actions.PIN(in.Body.PIN),
			ConsumeID: in.Key,
			Holder:    in.Body.Holder,
			Fence:     in.Body.Fence,
		})
	})
}

func (s *service) reserveAction(ctx context.Context, c caller, in *reserveActionInput) (*usedOutput, error) {
	return s.use(c, actions.Reserved, func(all *actions.Actions) (actions.Result, error) {
		return all.Reserve(ctx, actions.Request{
			ID:     actions.ID(in.Action.Action),
			PIN:    actions.PIN(in.Body.PIN),
			Holder: in.Key,
		}, time.Duration(in.Body.Seconds)*time.Second)
	})
}

func (s *service) releaseAction(ctx context.Context, c caller, in *releaseActionInput) (*usedOutput, error) {
	return s.use(c, actions.Released, func(all *actions.Actions) (actions.Result, error) {
		return all.Release(ctx, actions.Request{
			ID:     actions.ID(in.Action.Action),
			Holder: in.Body.Holder,
			Fence:  in.Body.Fence,
		})
	})
}

func (s *service) cancelAction(ctx context.Context, c caller, in *input.Action) (*usedOutput, error) {
	return s.use(c, actions.Canceled, func(all *actions.Actions) (actions.Result, error) { return all.Cancel(ctx, actions.ID(in.Action)) })
}

// use answers an outcome: success for what the caller wanted, a problem for the rest.
func (s *service) use(c caller, want actions.Outcome, do func(*actions.Actions) (actions.Result, error)) (*usedOutput, error) {
	all, err := s.actionsOf(c)
	if err != nil {
		return nil, err
	}

	r, err := do(all)
	if err != nil {
		return nil, err
	}

	if r.Outcome != want {
		p := newProblem(r.Outcome.HTTPStatus(), string(r.Outcome), "The action is "+strings.ReplaceAll(string(r.Outcome), "_", " ")+".")
		if r.Outcome == actions.NotFound {
			p = notFound("action")
		}
		p.ConsumedAt, p.CanceledAt, p.ActiveAt = moment(r.ConsumedAt), moment(r.CanceledAt), moment(r.ActiveAt)
		p.ExpiresAt, p.HeldUntil = moment(r.ExpiresAt), moment(r.HeldUntil)

		return nil, p
	}

	out := &usedOutput{Body: used{string(r.Outcome), r.Payload, moment(r.ConsumedAt), moment(r.CanceledAt), moment(r.HeldUntil), r.Fence}}
	if r.Replayed {
		out.Replayed = "true"
	}

	return out, nil
}
