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
	verb := func(id, path, summary, about string) route {
		return route{
			id:      id,
			method:  http.MethodPost,
			path:    "/v1/claims/{key}" + path,
			tag:     "claims",
			scope:   auth.Act,
			changes: true,
			body:    true,
			target:  []string{"key"},
			status:  http.StatusOK,
			errors:  []int{http.StatusConflict},
			summary: summary,
			about:   about,
		}
	}
	take := verb("claim", "", "Take a key, or get what its work gave",
		"201 with a ticket: the key is yours until the lease ends; whoever has the ticket is the holder. 200 with the result: the work was done before. "+
			"409 in_progress: another one holds it, Retry-After says for how long at most. 422: it was taken for another payload. "+
			"With an Idempotency-Key, a repeat while the lease lasts gets the ticket again, with taken_over: its work may have begun. Without one, "+
			"an answer with a ticket that is lost costs the lease.")
	take.status, take.also, take.free = http.StatusCreated, []int{http.StatusOK}, "/payload"
	take.links = map[string]*huma.Link{"get": {
		OperationID: "get-claim",
		Parameters:  map[string]any{"key": "$response.body#/key"},
	}}
	register(s, h, take, s.claim)
	complete := verb("complete-claim", "/complete", "End a claim with its result", "Every later caller gets the result. A repeat succeeds.")
	complete.free = "/result"
	register(s, h, complete, s.completeClaim)
	register(s, h, verb("extend-claim", "/extend", "Begin the lease anew", ""), s.extendClaim)
	register(s, h, verb("release-claim", "/release", "Give the key back", "The work was not done, or was undone: the next caller may do it."), s.releaseClaim)
	register(s, h, verb("fail-claim", "/fail", "End a claim with a final failure", "Every later caller gets the failure."), s.failClaim)
	register(s, h, route{
		id:      "get-claim",
		method:  http.MethodGet,
		path:    "/v1/claims/{key}",
		tag:     "claims",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read what is known under a key",
	}, s.getClaim)
	lock := route{
		id:      "acquire-lock",
		method:  http.MethodPut,
		path:    "/v1/locks/{key}",
		tag:     "locks",
		scope:   auth.Act,
		changes: true,
		body:    true,
		target:  []string{"key"},
		status:  http.StatusCreated,
		also:    []int{http.StatusOK},
		errors:  []int{http.StatusConflict},
		summary: "Take a key for ever",
		about:   "201 for the first holder, 200 when the same holder asks again, 409 lock_held for everybody else, with the holder and since when.",
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
		summary: "Read who has a key",
	}, s.getLock)
}

// claimOperation marks the claims of this API: a key that anything else has used is a
// mismatch.
const claimOperation = "api/v1"

// longestLease is the largest leaseSeconds.
const longestLease = 24 * time.Hour

// claims are those of this API, with a lease.
func (s *service) claims(lease time.Duration) (*once.Claims, error) {
	return once.New(once.Config{
		DynamoDB:  s.cfg.Claims.DynamoDB,
		Table:     s.cfg.Claims.Table,
		Operation: claimOperation,
		Lease:     lease,
		Retention: 48 * time.Hour,
	})
}

// claimKey keeps the keys of callers apart from those of our own effects, which have a
// slash and no #.
func (t tenant) claimKey(key string) string { return "claim#" + t.stored(key) }

type claimInput struct {
	input.Key
	Request string `header:"Idempotency-Key" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"Names this request, so that its repeat gets the ticket again. Nobody else may guess it: a new random one for each claim." example:"8e03978e-40d5-43dd-bc93-6894a57f9324"`
	Body    struct {
		// Payload is what the work depends on.
		Payload      json.RawMessage `json:"payload,omitempty" doc:"What the work depends on, any JSON. Callers under one key must bring the same."`
		LeaseSeconds int64           `json:"leaseSeconds,omitempty" minimum:"1" maximum:"86400" doc:"For how long the key is yours. Default 300; extend it before."`
	}
}

type claimOutput struct {
	Status   int
	Replayed string `header:"Idempotent-Replayed" doc:"true when the work was done before."`
	Body     claimed
}

// claimed is the answer to a claim.
type claimed struct {
	Key     string          `json:"key"`
	Outcome string          `json:"outcome" enum:"acquired,taken_over,replayed,replayed_failure" doc:"taken_over: somebody, or an earlier sending of this request, may have begun the work and not ended it."`
	Fence   int64           `json:"fence,omitempty" doc:"Rises with every claim of the key: guard your writes with it."`
	Ticket  string          `json:"ticket,omitempty" doc:"A secret: whoever has it holds the claim."`
	Result  json.RawMessage `json:"result,omitempty" doc:"What the work gave, when replayed."`
	Failure *failure        `json:"failure,omitempty"`
}

// failure is a final one.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (s *service) claim(ctx context.Context, c caller, in *claimInput) (*claimOutput, error) {
	claims, err := s.claims(time.Duration(in.Body.LeaseSeconds) * time.Second)
	if err != nil {
		return nil, err
	}

	payload := in.Body.Payload
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}

	if canonical, err := once.Canonical(payload); err == nil { // else numbers beyond 2^53 are compared as they are written
		payload = canonical
	}

	out := &claimOutput{Status: http.StatusCreated, Body: claimed{Key: in.Key.Key}}
	var claim *once.Claim
	if key := c.tenant.claimKey(in.Key.Key); in.Request != "" {
		claim, err = claims.ClaimAs(ctx, c.ID+" "+in.Request, key, payload)
	} else {
		claim, err = claims.Claim(ctx, key, payload)
	}

	var failed *once.Failure
	switch until, held := once.RetryAt(err); {
	case errors.As(err, &failed):
		out.Status, out.Replayed, out.Body.Outcome = http.StatusOK, "true", "replayed_failure"
		out.Body.Failure = &failure{failed.Code, failed.Message}
		return out, nil
	case held:
		return nil, newProblem(http.StatusConflict, "in_progress", "Another caller is working under this key.").later(max(1, int(until.Sub(s.cfg.Now()).Seconds())))
	case err != nil:
		return nil, err
	case claim.Outcome == once.Replayed:
		out.Status, out.Replayed, out.Body.Outcome = http.StatusOK, "true", "replayed"
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

type completeInput struct {
	input.Key
	Body struct {
		Ticket string          `json:"ticket" minLength:"1" maxLength:"256" doc:"From the claim."`
		Result json.RawMessage `json:"result,omitempty" doc:"What the work gave, any JSON."`
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
	Body struct {
		Key     string `json:"key"`
		Outcome string `json:"outcome" enum:"completed,extended,released,failed"`
	}
}

// step does one verb under a ticket.
func (s *service) step(c caller, key, ticket, outcome string, do func(*once.Claim) error) (*stepOutput, error) {
	claims, err := s.claims(longestLease)
	if err != nil {
		return nil, err
	}

	claim, err := claims.Resume(c.tenant.claimKey(key), once.Ticket(ticket))
	if err != nil {
		return nil, once.ErrStaleOwner // a ticket that was never one is as good as a lost one
	}

	if err := do(claim); err != nil {
		return nil, err
	}
	out := &stepOutput{}
	out.Body.Key, out.Body.Outcome = key, outcome

	return out, nil
}

func (s *service) completeClaim(ctx context.Context, c caller, in *completeInput) (*stepOutput, error) {
	return s.step(c, in.Key.Key, in.Body.Ticket, "completed", func(claim *once.Claim) error { return claim.Complete(ctx, in.Body.Result) })
}

func (s *service) extendClaim(ctx context.Context, c caller, in *ticketInput) (*stepOutput, error) {
	return s.step(c, in.Key.Key, in.Body.Ticket, "extended", func(claim *once.Claim) error { return claim.Extend(ctx) })
}

func (s *service) releaseClaim(ctx context.Context, c caller, in *ticketInput) (*stepOutput, error) {
	return s.step(c, in.Key.Key, in.Body.Ticket, "released", func(claim *once.Claim) error { return claim.Release(ctx) })
}

func (s *service) failClaim(ctx context.Context, c caller, in *failInput) (*stepOutput, error) {
	return s.step(c, in.Key.Key, in.Body.Ticket, "failed", func(claim *once.Claim) error {
		return claim.Fail(ctx, &once.Failure{Code: in.Body.Code, Message: in.Body.Message})
	})
}

type recordOutput struct{ Body record }

// record is what is known under a key. Its result is got by claiming.
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
	claims, err := s.claims(0)
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

	return &recordOutput{record{in.Key, string(r.Status), r.Fence, r.ClaimedAt, r.LeaseUntil, r.UpdatedAt, r.ResultBytes, r.FailureCode}}, nil
}

type lockInput struct {
	input.Key
	Body struct {
		Holder string `json:"holder" minLength:"1" maxLength:"128" pattern:"^[!-~]+$" doc:"Names one request: the same holder gets the lock again."`
	}
}

type lockOutput struct {
	Status   int
	Replayed string `header:"Idempotent-Replayed" doc:"true for the repeat of a request."`
	Body     lock
}

// lock is who has a key, since when.
type lock struct {
	Key    string    `json:"key"`
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
}

func (s *service) acquireLock(ctx context.Context, c caller, in *lockInput) (*lockOutput, error) {
	got, err := s.cfg.Locks.Acquire(ctx, c.tenant.claimKey(in.Key.Key), in.Body.Holder)
	if err != nil {
		return nil, err
	}

	if !got.Acquired {
		p := newProblem(http.StatusConflict, "lock_held", "Somebody has this key, for ever.")
		p.Holder, p.Since = got.Holder, &got.Since
		return nil, p
	}

	out := &lockOutput{Status: http.StatusCreated, Body: lock{in.Key.Key, got.Holder, got.Since}}
	if !got.First {
		out.Status, out.Replayed = http.StatusOK, "true"
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
