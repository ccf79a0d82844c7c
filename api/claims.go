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
	"ratchet/once"
)

func (s *service) claimRoutes(h huma.API) {
	verb := func(id, path, summary, description string) route {
		return route{
			id:          id,
			method:      http.MethodPost,
			path:        "/v1/claims/{key}" + path,
			tag:         "claims",
			scope:       auth.Act,
			mutates:     true,
			repeats:     firstStored,
			body:        true,
			auditParams: []string{"key"},
			status:      http.StatusOK,

			contentIsIdentity: true, // it contains the ticket
			errors:            []int{http.StatusConflict},
			summary:           summary,
			description:       description,
		}
	}
	take := verb("claim", "", "Claim a key, or read the result of its work",
		"201 with a ticket: the key is yours until the lease ends. The ticket is a secret that proves it. 200 with the result: the work was done before. "+
			"409 in_progress: another caller holds the key, at most as long as Retry-After says. 422: the key was claimed with another payload. "+
			"With an Idempotency-Key, a repeat during the lease gets the ticket again, with taken_over: the work may have begun. Without one, "+
			"a lost answer blocks the key until the lease ends.")
	// The record of the claim returns the ticket to a repeat, so no secret has to be stored.
	take.status, take.alsoStatus, take.anyJSON, take.repeats = http.StatusCreated, []int{http.StatusOK}, "/payload", fromRecord
	take.links = map[string]*huma.Link{"get": {
		OperationID: "get-claim",
		Parameters:  map[string]any{"key": "$response.body#/key"},
	}}
	register(s, h, take, s.claim)
	complete := verb("complete-claim", "/complete", "Complete a claim with its result", "Every later caller gets the result.")
	complete.anyJSON = "/result"
	register(s, h, complete, s.completeClaim)
	extend := verb("extend-claim", "/extend", "Renew the lease", "From now on. Each request renews it, unless it repeats one with the same Idempotency-Key.")
	// An extension begins the lease again each time, so only a key makes a request a repeat.
	extend.repeats = ifKeyed
	register(s, h, extend, s.extendClaim)
	register(s, h, verb("release-claim", "/release", "Release the key", "For work that was not done, or was undone. The next caller may do it."), s.releaseClaim)
	register(s, h, verb("fail-claim", "/fail", "End a claim with a final failure", "Every later caller gets the failure."), s.failClaim)
	register(s, h, route{
		id:      "get-claim",
		method:  http.MethodGet,
		path:    "/v1/claims/{key}",
		tag:     "claims",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read the record of a key",
	}, s.getClaim)
	lock := route{
		id:          "acquire-lock",
		method:      http.MethodPut,
		path:        "/v1/locks/{key}",
		tag:         "locks",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromRecord,
		body:        true,
		auditParams: []string{"key"},
		status:      http.StatusCreated,
		errors:      []int{http.StatusConflict},
		summary:     "Lock a key permanently",
		description: "201 for the first holder and its repeats, 409 lock_held for every other, with the holder and the time.",
		links: map[string]*huma.Link{"get": {
			OperationID: "get-lock",
			Parameters:  map[string]any{"key": "$response.body#/key"},
		}},
	}
	register(s, h, lock, s.acquireLock)
	register(s, h, route{
		id:      "get-lock",
		method:  http.MethodGet,
		path:    "/v1/locks/{key}",
		tag:     "locks",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read the holder of a lock",
	}, s.getLock)
}

// claimOperation marks the claims of this API. A key of another operation is a mismatch.
const claimOperation = "api/v1"

// longestLease is the largest leaseSeconds.
const longestLease = 24 * time.Hour

// newClaims returns the claims of this API, with the default lease.
func newClaims(cfg Config) (*once.Claims, error) {
	return once.New(once.Config{
		DynamoDB:  cfg.Claims.DynamoDB,
		Table:     cfg.Claims.Table,
		Operation: claimOperation,
		Retention: 48 * time.Hour,
	})
}

// claimsWithLease returns the claims of this API with the lease, 0 for the default.
func (s *service) claimsWithLease(lease time.Duration) (*once.Claims, error) {
	claims, err := s.claims()
	if err != nil || lease == 0 {
		return claims, err
	}

	return claims.WithLease(lease)
}

// claimKey returns the stored key of a claim or lock. Its prefix separates it from the keys
// of this program's own effects, which contain a slash and no #.
func (t tenant) claimKey(key string) string { return "claim#" + t.storedID(key) }

type claimInput struct {
	input.Key
	Request string `header:"Idempotency-Key" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"Names this request, so that its repeat gets the ticket again. It must not be guessable: use a new random value for each claim." example:"8e03978e-40d5-43dd-bc93-6894a57f9324"`
	Body    struct {
		Payload      json.RawMessage `json:"payload,omitempty" doc:"What the work depends on, any JSON. All callers under one key must send the same payload."`
		LeaseSeconds int64           `json:"leaseSeconds,omitempty" minimum:"1" maximum:"86400" doc:"How long the key is yours, unless it is extended. Default 300."`
	}
}

type claimOutput struct {
	input.Repeat
	Status int
	Body   claimed
}

// claimed is the answer to a claim.
type claimed struct {
	Key     string          `json:"key"`
	Outcome string          `json:"outcome" enum:"acquired,taken_over,replayed,replayed_failure" doc:"taken_over: another caller, or an earlier attempt of this request, may have begun the work."`
	Fence   int64           `json:"fence,omitempty" doc:"A number that grows with every claim of the key. Use it as a condition of your writes."`
	Ticket  string          `json:"ticket,omitempty" doc:"A secret: who has it holds the claim."`
	Result  json.RawMessage `json:"result,omitempty" personal:"text" doc:"The result of the work, if replayed."`
	Failure *failure        `json:"failure,omitempty"`
}

// failure is a final failure of the work.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message" personal:"text"`
}

func (s *service) claim(ctx context.Context, c caller, in *claimInput) (*claimOutput, error) {
	claims, err := s.claimsWithLease(time.Duration(in.Body.LeaseSeconds) * time.Second)
	if err != nil {
		return nil, err
	}

	payload := in.Body.Payload
	// No payload and null are the same payload.
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}

	// Without a canonical form, because of numbers beyond 2^53, the text is compared.
	if canonical, err := once.Canonical(payload); err == nil {
		payload = canonical
	}

	out := &claimOutput{Status: http.StatusCreated, Body: claimed{Key: in.Key.Key}}
	var claim *once.Claim
	if key := c.tenant.claimKey(in.Key.Key); in.Request != "" {
		// With the caller's id, because two callers may use the same Idempotency-Key.
		claim, err = claims.ClaimAs(ctx, c.ID+" "+in.Request, key, payload)
	} else {
		claim, err = claims.Claim(ctx, key, payload)
	}

	var failed *once.Failure
	switch until, held := once.RetryAt(err); {
	case errors.As(err, &failed):
		out.MarkReplayed()
		out.Status = http.StatusOK
		out.Body.Outcome = "replayed_failure"
		out.Body.Failure = &failure{failed.Code, failed.Message}

		return out, nil
	case held:
		return nil, inProgress(time.Until(until), "Another caller holds this key.")
	case err != nil:
		return nil, err
	case claim.Outcome == once.Replayed:
		out.MarkReplayed()
		out.Status = http.StatusOK
		out.Body.Outcome = "replayed"
		out.Body.Result = claim.Result

		return out, nil
	}
	out.Body.Outcome, out.Body.Fence, out.Body.Ticket = string(claim.Outcome), claim.Fence(), string(claim.Ticket())

	return out, nil
}

type ticketInput struct {
	input.Key
	Body struct {
		Ticket string `json:"ticket" minLength:"1" maxLength:"256" doc:"From the claim."`
	}
}

type extendInput struct {
	input.Key
	input.MayBeKeyed
	Body struct {
		Ticket string `json:"ticket" minLength:"1" maxLength:"256" doc:"From the claim."`
	}
}

type completeInput struct {
	input.Key
	Body struct {
		Ticket string          `json:"ticket" minLength:"1" maxLength:"256" doc:"From the claim."`
		Result json.RawMessage `json:"result,omitempty" doc:"The result of the work, any JSON."`
	}
}

type failInput struct {
	input.Key
	Body struct {
		Ticket  string `json:"ticket" minLength:"1" maxLength:"256" doc:"From the claim."`
		Code    string `json:"code" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]+$"`
		Message string `json:"message,omitempty" maxLength:"1000"`
	}
}

type stepOutput struct {
	input.Repeat
	Body struct {
		Key     string `json:"key"`
		Outcome string `json:"outcome" enum:"completed,extended,released,failed"`
	}
}

// withTicket calls do with the claim that the ticket proves, and answers with the outcome.
func (s *service) withTicket(c caller, key, ticket, outcome string, do func(*once.Claim) error) (*stepOutput, error) {
	// The ticket names its lease. The longest lease only bounds a forged ticket.
	claims, err := s.claimsWithLease(longestLease)
	if err != nil {
		return nil, err
	}

	claim, err := claims.Resume(c.tenant.claimKey(key), once.Ticket(ticket))
	if err != nil {
		return nil, once.ErrStaleOwner // a malformed ticket is answered like an old one
	}

	if err := do(claim); err != nil {
		return nil, err
	}
	out := &stepOutput{}
	out.Body.Key, out.Body.Outcome = key, outcome

	return out, nil
}

func (s *service) completeClaim(ctx context.Context, c caller, in *completeInput) (*stepOutput, error) {
	return s.withTicket(c, in.Key.Key, in.Body.Ticket, "completed", func(claim *once.Claim) error { return claim.Complete(ctx, in.Body.Result) })
}

func (s *service) extendClaim(ctx context.Context, c caller, in *extendInput) (*stepOutput, error) {
	return s.withTicket(c, in.Key.Key, in.Body.Ticket, "extended", func(claim *once.Claim) error { return claim.Extend(ctx) })
}

func (s *service) releaseClaim(ctx context.Context, c caller, in *ticketInput) (*stepOutput, error) {
	return s.withTicket(c, in.Key.Key, in.Body.Ticket, "released", func(claim *once.Claim) error { return claim.Release(ctx) })
}

func (s *service) failClaim(ctx context.Context, c caller, in *failInput) (*stepOutput, error) {
	return s.withTicket(c, in.Key.Key, in.Body.Ticket, "failed", func(claim *once.Claim) error {
		return claim.Fail(ctx, &once.Failure{Code: in.Body.Code, Message: in.Body.Message})
	})
}

type recordOutput struct{ Body record }

// record is the stored state of a claim. Only a caller that claims the key gets its result.
type record struct {
	Key         string    `json:"key"`
	Status      string    `json:"status" enum:"IN_PROGRESS,COMPLETED,FAILED,UNKNOWN,RELEASED"`
	Fence       int64     `json:"fence"`
	ClaimedAt   time.Time `json:"claimedAt"`
	LeaseUntil  time.Time `json:"leaseUntil"`
	UpdatedAt   time.Time `json:"updatedAt"`
	ResultBytes int64     `json:"resultBytes"`
	FailureCode string    `json:"failureCode,omitempty"`
}

func (s *service) getClaim(ctx context.Context, c caller, in *input.Key) (*recordOutput, error) {
	claims, err := s.claimsWithLease(0)
	if err != nil {
		return nil, err
	}

	r, found, err := claims.Get(ctx, c.tenant.claimKey(in.Key))
	if err == nil && !found {
		err = notFound("claim")
	}

	if err != nil {
		return nil, err
	}

	return &recordOutput{record{
		Key:         in.Key,
		Status:      string(r.Status),
		Fence:       r.Fence,
		ClaimedAt:   r.ClaimedAt,
		LeaseUntil:  r.LeaseUntil,
		UpdatedAt:   r.UpdatedAt,
		ResultBytes: r.ResultBytes,
		FailureCode: r.FailureCode,
	}}, nil
}

type lockInput struct {
	input.Key
	Body struct {
		Holder string `json:"holder" minLength:"1" maxLength:"128" pattern:"^[!-~]+$" doc:"The name of the holder. The same holder acquires the lock again."`
	}
}

type lockOutput struct {
	input.Repeat
	Status int
	Body   lock
}

// lock is the holder of a key.
type lock struct {
	Key    string    `json:"key"`
	Holder string    `json:"holder" personal:"text"`
	Since  time.Time `json:"since"`
}

func (s *service) acquireLock(ctx context.Context, c caller, in *lockInput) (*lockOutput, error) {
	got, err := s.cfg.Locks.Acquire(ctx, c.tenant.claimKey(in.Key.Key), in.Body.Holder)
	if err != nil {
		return nil, err
	}

	if !got.Acquired {
		p := newProblem(http.StatusConflict, "lock_held", "Another holder has this lock, permanently.")
		p.Holder, p.Since = got.Holder, &got.Since
		return nil, p
	}

	out := &lockOutput{Status: http.StatusCreated, Body: lock{in.Key.Key, got.Holder, got.Since}}
	if !got.First {
		out.MarkReplayed()
	}

	return out, nil
}

func (s *service) getLock(ctx context.Context, c caller, in *input.Key) (*lockOutput, error) {
	got, found, err := s.cfg.Locks.Get(ctx, c.tenant.claimKey(in.Key))
	if err == nil && !found {
		err = notFound("lock")
	}

	if err != nil {
		return nil, err
	}

	return &lockOutput{Status: http.StatusOK, Body: lock{in.Key, got.Holder, got.Since}}, nil
}
