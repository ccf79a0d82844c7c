package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/once/actions"
)

func (s *service) actionRoutes(h huma.API) {
	register(s, h, route{
		// The payload may be any JSON value, also null, which other members must not be.
		id:          "create-action",
		method:      http.MethodPost,
		path:        "/v1/actions",
		tag:         "actions",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromAnswer,
		body:        true,
		anyJSON:     "/payload",
		status:      http.StatusCreated,
		errors:      []int{http.StatusConflict},
		summary:     "Create an action that can be used once",
		description: "The id is a secret: who has it can use the action.",
		links: map[string]*huma.Link{
			"get":     {OperationID: "get-action", Parameters: map[string]any{"action": "$response.body#/id"}},
			"consume": {OperationID: "consume-action", Parameters: map[string]any{"action": "$response.body#/id"}},
			"cancel":  {OperationID: "cancel-action", Parameters: map[string]any{"action": "$response.body#/id"}}},
	}, s.createAction)
	register(s, h, route{
		id:          "put-action",
		method:      http.MethodPut,
		path:        "/v1/actions/{action}",
		tag:         "actions",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromAnswer,
		body:        true,
		anyJSON:     "/payload",
		auditParams: []string{"action"},
		status:      http.StatusCreated,
		errors:      []int{http.StatusConflict},
		summary:     "Create an action under a code that people type, such as a coupon",
		description: "Letters, digits and hyphens; upper and lower case are the same. A short code is easy to guess. A code can never be reused.",
	}, s.putAction)
	register(s, h, route{
		id:          "get-action",
		method:      http.MethodGet,
		path:        "/v1/actions/{action}",
		tag:         "actions",
		scope:       auth.Read,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Read an action without using it",
		description: "The answer has no payload, and only the state of an action with a PIN, so it may be shown to anyone who has the id.",
	}, s.getAction)
	// The record of an action has the consumer, the holder and the end, so the first answer follows
	// from it.
	verb := func(id, path, summary, description string) route {
		return route{
			id:          id,
			method:      http.MethodPost,
			path:        "/v1/actions/{action}/" + path,
			tag:         "actions",
			scope:       auth.Act,
			mutates:     true,
			repeats:     fromRecord,
			body:        true,
			auditParams: []string{"action"},
			status:      http.StatusOK,
			summary:     summary,
			description: description,
			errors:      []int{http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusLocked},
		}
	}
	register(s, h, verb("consume-action", "consume", "Use an action",
		"Exactly one request gets 200, and its repeat with the same Idempotency-Key gets the same 200. The codes of the others: already_used (409, with consumedAt), "+
			"held, not_active (409), expired, canceled (410), invalid_pin (403), locked (423), action_not_found (404)."), s.consumeAction)
	register(s, h, verb("reserve-action", "reserve", "Hold an action for a while", "Until the hold ends, only its holder can use the action. The Idempotency-Key names the holder: its repeat gets the same hold."), s.reserveAction)
	register(s, h, verb("release-action", "release", "Release a hold", ""), s.releaseAction)
	register(s, h, route{
		id:                "make-actions",
		method:            http.MethodPut,
		path:              "/v1/action-batches/{batch}",
		tag:               "actions",
		scope:             auth.Act,
		mutates:           true,
		repeats:           firstStored,
		contentIsIdentity: true, // a batch has several parts
		body:              true,
		anyJSON:           "/payload",
		auditParams:       []string{"batch"},
		status:            http.StatusOK,
		errors:            []int{http.StatusConflict},
		summary:           "Create many actions with generated codes, a part of a batch at a time",
		description:       "The codes can be typed, but not guessed. They are derived from the batch's name and their index: a repeat returns the same codes and creates no action twice. The next part begins at next.",
	}, s.makeActions)
	cancel := verb("cancel-action", "cancel", "Cancel an action that was not used", "A repeat gets the same answer.")
	// The id is enough: only the owner cancels, without PIN and hold.
	cancel.body = false
	register(s, h, cancel, s.cancelAction)
}

// tenantActions returns the actions of the caller's tenant, which have keys and signatures of
// their own.
func (s *service) tenantActions(c caller) (*actions.Actions, error) {
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

// newAction is an action to create.
type newAction struct {
	Payload     json.RawMessage `json:"payload,omitempty" doc:"Any JSON. Who uses the action receives it."`
	PIN         string          `json:"pin,omitempty" minLength:"4" maxLength:"64" pattern:"^[!-~]+$" doc:"A PIN that is required to use the action."`
	MaxAttempts int64           `json:"maxAttempts,omitempty" minimum:"1" maximum:"10" doc:"How many times the PIN can be tried. Default 3."`
	ActiveAt    *time.Time      `json:"activeAt,omitempty" doc:"When the action can first be used. Default: now."`
	ExpiresAt   time.Time       `json:"expiresAt" doc:"When the action expires, at most 5 years from now."`
}

// action is the public part of an action.
type action struct {
	ID           string     `json:"id" doc:"A secret: who has it can use the action."`
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
	input.Repeat
	Status int
	Body   action
}

func showMade(a actions.Action) *madeOutput {
	out := &madeOutput{Status: http.StatusCreated, Body: showAction(a).Body}
	if a.Repeated {
		out.MarkReplayed()
	}

	return out
}

func showAction(a actions.Action) *actionOutput {
	return &actionOutput{action{
		ID:           string(a.ID),
		State:        string(a.State),
		PINRequired:  a.PINRequired,
		AttemptsLeft: a.AttemptsLeft,
		CreatedAt:    optionalTime(a.CreatedAt),
		ActiveAt:     optionalTime(a.ActiveAt),
		ExpiresAt:    optionalTime(a.ExpiresAt),
		HeldUntil:    optionalTime(a.HeldUntil),
		ConsumedAt:   optionalTime(a.ConsumedAt),
		CanceledAt:   optionalTime(a.CanceledAt),
	}}
}

// optionalTime returns nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (s *service) createAction(ctx context.Context, c caller, in *createActionInput) (*madeOutput, error) {
	all, err := s.tenantActions(c)
	if err != nil {
		return nil, err
	}
	spec := in.Body.spec()
	// The key names the creation, so that a repeat finds the action.
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
	all, err := s.tenantActions(c)
	if err != nil {
		return nil, err
	}
	spec := in.Body.spec()
	spec.Code = in.Action

	made, err := all.Create(ctx, spec)
	// domainErrors blames the Idempotency-Key for this error, but here it is the code.
	if errors.Is(err, actions.ErrConflict) {
		return nil, newProblem(http.StatusConflict, "conflict", "The code was used with other content.")
	}

	if err != nil {
		return nil, err
	}

	return showMade(made), nil
}

func (s *service) getAction(ctx context.Context, c caller, in *input.Action) (*actionOutput, error) {
	all, err := s.tenantActions(c)
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
		Holder string `json:"holder,omitempty" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"The Idempotency-Key of your hold, if you hold the action."`
		Fence  int64  `json:"fence,omitempty" minimum:"1" maximum:"9007199254740991" doc:"The fence of the hold."`
	}
}

type reserveActionInput struct {
	input.Action
	input.Keyed
	Body struct {
		PIN     string `json:"pin,omitempty" minLength:"1" maxLength:"64"`
		Seconds int64  `json:"seconds" minimum:"1" maximum:"86400" doc:"How long to hold it."`
	}
}

type releaseActionInput struct {
	input.Action
	Body struct {
		Holder string `json:"holder" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"The Idempotency-Key of the hold."`
		Fence  int64  `json:"fence" minimum:"1" maximum:"9007199254740991" doc:"The fence of the hold."`
	}
}

type usedOutput struct {
	input.Repeat
	Body used
}

// used is the answer to a use, hold, release or cancellation of an action.
type used struct {
	Outcome    string          `json:"outcome" enum:"consumed,reserved,released,canceled"`
	Payload    json.RawMessage `json:"payload,omitempty" personal:"text" doc:"The payload of the action."`
	ConsumedAt *time.Time      `json:"consumedAt,omitempty"`
	CanceledAt *time.Time      `json:"canceledAt,omitempty"`
	HeldUntil  *time.Time      `json:"heldUntil,omitempty"`
	Fence      int64           `json:"fence,omitempty" doc:"The fence of the hold, for its use and its release."`
}

func (s *service) consumeAction(ctx context.Context, c caller, in *consumeInput) (*usedOutput, error) {
	// The key names the consumption, so that a repeat gets the payload again.
	return s.runAction(c, actions.Consumed, func(all *actions.Actions) (actions.Result, error) {
		return all.Consume(ctx, actions.Request{
			ID:        actions.ID(in.Action.Action),
			PIN:       actions.PIN(in.Body.PIN),
			ConsumeID: in.Key,
			Holder:    holderOf(in.Body.Holder),
			Fence:     in.Body.Fence,
		})
	})
}

func (s *service) reserveAction(ctx context.Context, c caller, in *reserveActionInput) (*usedOutput, error) {
	// The key names the holder, so that a repeat gets the same hold.
	return s.runAction(c, actions.Reserved, func(all *actions.Actions) (actions.Result, error) {
		return all.Reserve(ctx, actions.Request{
			ID:     actions.ID(in.Action.Action),
			PIN:    actions.PIN(in.Body.PIN),
			Holder: in.Key,
		}, time.Duration(in.Body.Seconds)*time.Second)
	})
}

func (s *service) releaseAction(ctx context.Context, c caller, in *releaseActionInput) (*usedOutput, error) {
	// The holder is the key of the reservation, which the caller may have sent in quotes.
	return s.runAction(c, actions.Released, func(all *actions.Actions) (actions.Result, error) {
		return all.Release(ctx, actions.Request{
			ID:     actions.ID(in.Action.Action),
			Holder: holderOf(in.Body.Holder),
			Fence:  in.Body.Fence,
		})
	})
}

func (s *service) cancelAction(ctx context.Context, c caller, in *input.Action) (*usedOutput, error) {
	return s.runAction(c, actions.Canceled, func(all *actions.Actions) (actions.Result, error) { return all.Cancel(ctx, actions.ID(in.Action)) })
}

// holderOf returns the Idempotency-Key that a body names, without quotes.
func holderOf(text string) string {
	if key, ok := unquoteKey(text); ok {
		return key
	}

	return text
}

// runAction calls do and answers its outcome: success if it is the wanted one, a problem
// otherwise.
func (s *service) runAction(c caller, want actions.Outcome, do func(*actions.Actions) (actions.Result, error)) (*usedOutput, error) {
	all, err := s.tenantActions(c)
	if err != nil {
		return nil, err
	}

	r, err := do(all)
	if err != nil {
		return nil, err
	}

	if r.Outcome != want {
		return nil, outcomeProblem(r)
	}

	out := &usedOutput{Body: used{
		Outcome:    string(r.Outcome),
		Payload:    r.Payload,
		ConsumedAt: optionalTime(r.ConsumedAt),
		CanceledAt: optionalTime(r.CanceledAt),
		HeldUntil:  optionalTime(r.HeldUntil),
		Fence:      r.Fence,
	}}
	if r.Replayed {
		out.MarkReplayed()
	}

	return out, nil
}

// outcomeDetails are the outcomes that a caller did not want, in words.
var outcomeDetails = map[actions.Outcome]string{
	actions.NotFound:    "There is no such action.",
	actions.Consumed:    "The action was used.",
	actions.Reserved:    "The action is held.",
	actions.Released:    "The hold was released.",
	actions.Canceled:    "The action was canceled.",
	actions.AlreadyUsed: "The action was used before.",
	actions.Expired:     "The action has expired.",
	actions.NotActive:   "The action is not active yet.",
	actions.Held:        "Another caller holds the action.",
	actions.HoldLost:    "The hold has expired, or is not the caller's.",
	actions.Locked:      "The action is locked: the PIN was wrong too often.",
	actions.InvalidPIN:  "The PIN is wrong or missing.",
}

// outcomeProblem returns the problem of an outcome that the caller did not want.
func outcomeProblem(r actions.Result) *problem {
	p := newProblem(r.Outcome.HTTPStatus(), string(r.Outcome), outcomeDetails[r.Outcome])
	p.ConsumedAt = optionalTime(r.ConsumedAt)
	p.CanceledAt = optionalTime(r.CanceledAt)
	p.ActiveAt = optionalTime(r.ActiveAt)
	p.ExpiresAt = optionalTime(r.ExpiresAt)
	p.HeldUntil = optionalTime(r.HeldUntil)

	return p
}
