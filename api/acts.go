package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/audit"
)

// isAct reports whether the request is an act of a person: it changes something, and is for
// administrators only, or came through the console or a job. A change that a service makes with another
// scope is no act: the order, the payment or the transfer records it.
func (r route) isAct(c *call) bool { return r.mutates && (r.isAdmin() || c.via() != sourceAPI) }

// isAdmin reports whether every request to the operation is an act.
func (r route) isAdmin() bool { return r.mutates && r.scope == auth.Admin }

// beginAct writes the row of an act before it is done, and returns a function that adds the result.
// It returns a problem if the row cannot be written: the act must not be done then.
func (s *service) beginAct(ctx context.Context, r *http.Request, w http.ResponseWriter, to route, c *call) (end func(), p *problem) {
	if !to.isAct(c) {
		return func() {}, nil
	}

	act, err := s.cfg.Acts.Begin(ctx, audit.Entry{
		Who:     c.caller.ID,
		Via:     c.via(),
		From:    address(r),
		Tenant:  tenant(c.caller.Tenant).owner(),
		Act:     to.id,
		On:      strings.Join(to.idsOf(r), " "),
		Reason:  c.reason,
		Request: c.id,
	})
	if err != nil {
		s.cfg.Log.ErrorContext(ctx, "an act is refused, because it cannot be written down", "request", c.id, "operation", to.id, "error", err)
		return nil, newProblem(http.StatusServiceUnavailable, "audit_unavailable", "Nothing was done, because the act cannot be written down now.").retryAfter(1)
	}

	return func() { s.endAct(r, w, act, c) }, nil
}

// actTimeout bounds the write of a result.
const actTimeout = 5 * time.Second

// endAct adds the result to the row of an act, also if the client is gone.
func (s *service) endAct(r *http.Request, w http.ResponseWriter, act *audit.Act, c *call) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), actTimeout)
	defer cancel()

	status := 0
	if rec, ok := w.(*recorder); ok {
		status = rec.status
	}

	result, code := audit.Done, ""
	switch {
	// No answer was begun: the handler has panicked.
	case status == 0:
		result, code = audit.Failed, "panic"
	case status >= http.StatusInternalServerError:
		result, code = audit.Failed, c.code
	case status >= http.StatusBadRequest:
		result, code = audit.Refused, c.code
	}

	if err := act.End(ctx, result, code); err != nil {
		s.cfg.Log.ErrorContext(ctx, "the result of an act cannot be written down", "request", c.id, "result", result, "error", err)
	}
}

func (s *service) actRoutes(h huma.API) {
	register(s, h, route{
		id:          "list-acts",
		method:      http.MethodGet,
		path:        "/v1/audit",
		tag:         "service",
		scope:       auth.Admin,
		status:      http.StatusOK,
		summary:     "List the acts of people: who did what, on what, with which result",
		description: "Requests that change something and need the scope admin or came through the console or a job, and, for the default tenant, commands of the command line; oldest first. A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listActs)
}

type listActsInput struct {
	input.Page
	Since time.Time `query:"since" doc:"Only acts from this time on. Default: 7 days ago."`
	Who   string    `query:"who" minLength:"1" maxLength:"100" doc:"Only acts of this person or key." example:"key:k7"`
	Act   string    `query:"act" minLength:"1" maxLength:"64" doc:"Only this act: an operation, or a command." example:"disable-endpoint"`
	On    string    `query:"on" minLength:"1" maxLength:"160" doc:"Only acts on this id, or a part of one." example:"shop"`
}

// actShown is a row of the audit table.
type actShown struct {
	ID      string     `json:"id"`
	At      time.Time  `json:"at" doc:"When it began."`
	EndedAt *time.Time `json:"endedAt,omitempty" doc:"When its result was written. Absent without one."`
	Who     string     `json:"who" personal:"actor"`
	Via     string     `json:"via" doc:"The way by which it came: api, cli, console or job." example:"api"`
	From    string     `json:"from,omitempty" personal:"text" doc:"The address of the caller, or the machine of a command."`
	Act     string     `json:"act" doc:"The operation, or the command."`
	On      string     `json:"on,omitempty" doc:"The ids of what it was done to."`
	Reason  string     `json:"reason,omitempty" personal:"text"`
	Request string     `json:"request,omitempty" doc:"The id of the request."`
	Result  string     `json:"result" enum:"begun,done,refused,failed" doc:"begun: it runs, or the process died. refused changed nothing, failed may have changed something."`
	Code    string     `json:"code,omitempty" doc:"The code of the problem."`
}

type listActsOutput struct {
	Body struct {
		Acts []actShown `json:"acts"`
		Next string     `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

// actsSince is how far back the list goes by default.
const actsSince = 7 * 24 * time.Hour

func (s *service) listActs(ctx context.Context, c caller, in *listActsInput) (*listActsOutput, error) {
	// What the caller would see is no guess.
	if in.Who != "" && c.maskActor(in.Who) != in.Who {
		if p := c.maySearch("query", "who", in.Who); p != nil {
			return nil, p
		}
	}

	owner := c.tenant.owner()
	// A cursor is valid with the same filters only.
	binding := []string{"acts", string(c.tenant), strconv.FormatInt(in.Since.UnixNano(), 10), in.Who, in.Act, in.On}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	// A pointer to the owner: nil would select the acts of all tenants.
	f := audit.Filter{Since: in.Since, Who: in.Who, Act: in.Act, On: in.On, Tenant: &owner}
	if f.Since.IsZero() {
		f.Since = time.Now().Add(-actsSince)
	}

	found, next, err := s.cfg.Acts.List(ctx, f, position, in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listActsOutput{}
	out.Body.Acts = make([]actShown, len(found))
	out.Body.Next = s.cursors.seal(next, binding...)

	for i, e := range found {
		out.Body.Acts[i] = actShown{
			ID:      e.ID,
			At:      e.At,
			EndedAt: optionalTime(e.EndedAt),
			Who:     e.Who,
			Via:     e.Via,
			From:    e.From,
			Act:     e.Act,
			On:      e.On,
			Reason:  e.Reason,
			Request: e.Request,
			Result:  string(e.Result),
			Code:    e.Code,
		}
	}

	return out, nil
}
