package api

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/internal/ids"
	"ratchet/operate/jobs"
)

func (s *service) jobRoutes(h huma.API) {
	register(s, h, adminVerb("jobs", "create-job", http.MethodPost, "/v1/jobs", "Do one act to many subjects: create a job",
		"A worker selects the subjects by the filter or takes the ids, and acts on one after the other. With dryRun it only counts them by reason, and shows a sample. "+
			"One job of a kind is open at a time: 409 has the id of the other one. Dead letters belong to all tenants, so their jobs are for administrators of the default tenant. "+
			"The orders of a job keep their sequence: what belongs to one of them is done in its order.").
		mayConflict().withBody(), s.createJob)

	register(s, h, route{
		id: "list-jobs", method: http.MethodGet, path: "/v1/jobs", tag: "jobs", scope: auth.Admin, status: http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "List the jobs, newest first",
	}, s.listJobs)
	register(s, h, route{
		id: "get-job", method: http.MethodGet, path: "/v1/jobs/{job}", tag: "jobs", scope: auth.Admin, status: http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read a job: its state, and its results by code",
	}, s.getJob)

	register(s, h, route{
		id: "list-job-results", method: http.MethodGet, path: "/v1/jobs/{job}/results", tag: "jobs", scope: auth.Admin, status: http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "List the subjects of a job with a result: those whose act was not done, or those with a code",
	}, s.listJobResults)

	verb := func(verb, summary, description string) route {
		return adminVerb("jobs", verb+"-job", http.MethodPost, "/v1/jobs/{job}/"+verb, summary, description, "job").mayConflict()
	}
	register(s, h, verb("pause", "Pause a job", "The act that runs ends as usual; wanted is paused until then."), s.pauseJob)
	register(s, h, verb("resume", "Let a paused job go on", ""), s.resumeJob)
	register(s, h, verb("stop", "Stop a job for good", "What it has done stays done. The act that runs ends as usual; wanted is stopped until then."), s.stopJob)
}

type jobFilter struct {
	Handler     string    `json:"handler,omitempty" maxLength:"64" pattern:"^[A-Za-z0-9_-]*$" doc:"The handler whose dead letters they are, required for these kinds; or the only one that gets changes again." example:"notify"`
	Endpoint    string    `json:"endpoint,omitempty" maxLength:"64" pattern:"^[A-Za-z0-9_-]*$" doc:"The endpoint that has missed the deliveries." example:"shop"`
	Error       string    `json:"error,omitempty" maxLength:"200" personal:"text" doc:"The error name of executions, or a text in the error of dead letters. The latter needs the grant for personal data."`
	Since       time.Time `json:"since,omitzero" doc:"Only what has failed, was missed or has changed at this time or later."`
	Until       time.Time `json:"until,omitzero" doc:"Only what has failed before this time."`
	EndedBefore time.Time `json:"endedBefore,omitzero" doc:"Only orders that have ended before this time. Required to erase orders without ids."`
}

type createJobInput struct {
	input.MayBeKeyed
	Body struct {
		Kind   string    `json:"kind" enum:"executions-redrive,dead-letters-redrive,dead-letters-discard,deliveries-resend,orders-erase,streams-replay,streams-refill,lists-rebuild,orders-migrate"`
		Filter jobFilter `json:"filter,omitempty"`
		IDs    []string  `json:"ids,omitempty" maxItems:"1000" doc:"Instead of a filter: ids of orders, dead letters or deliveries, as lists show them."`
		// Migration is how orders are migrated. The target is the version that the server runs.
		Migration *migrationTexts `json:"migration,omitempty" doc:"For orders-migrate, and required there: how orders come to the version of the definition that this server runs. Together at most 128 KiB."`
		DryRun    bool            `json:"dryRun,omitempty" doc:"Count only."`
		Again     bool            `json:"again,omitempty" doc:"For streams-replay: also repeat effects that have happened, like notifications."`
		Rate      int             `json:"rate,omitempty" minimum:"1" maximum:"1000" doc:"Acts per second. Default 10."`
	}
}

// jobSample is a subject of a job.
type jobSample struct {
	ID   string `json:"id"`
	Code string `json:"code"`
}

type jobShown struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind" enum:"executions-redrive,dead-letters-redrive,dead-letters-discard,deliveries-resend,orders-erase,streams-replay,streams-refill,lists-rebuild,orders-migrate"`
	Filter    jobFilter       `json:"filter"`
	IDs       int             `json:"ids,omitempty" doc:"How many ids it was created with. Absent with a filter."`
	DryRun    bool            `json:"dryRun"`
	Again     bool            `json:"again,omitempty" doc:"Whether a replay also repeats effects that have happened."`
	Rate      int             `json:"rate" doc:"Acts per second."`
	By        string          `json:"by" personal:"actor" doc:"Who has created it."`
	Reason    string          `json:"reason" personal:"text"`
	Migration *shownMigration `json:"migration,omitempty" doc:"Where orders are migrated to."`
	State     string          `json:"state" enum:"waiting,running,paused,done,failed,stopped" doc:"waiting: no worker has begun. The last three are final."`
	Wanted    string          `json:"wanted,omitempty" enum:"paused,stopped" doc:"What a person has asked for and the worker has not come to."`
	Problem   string          `json:"problem,omitempty" doc:"A code that says why it has failed, or is paused by itself."`
	Selected  bool            `json:"selected" doc:"Whether all subjects are selected."`
	Total     int             `json:"total" doc:"How many subjects are selected."`
	Results   int             `json:"results" doc:"How many of them have a result."`
	Counts    map[string]int  `json:"counts" doc:"The results by code: done, selected (dryRun), gone, failed, and the codes of refusals."`
	Sample    []jobSample     `json:"sample,omitempty" doc:"Some subjects of a dry run, or of another job those first ones whose act was not done."`
	CreatedAt time.Time       `json:"createdAt"`
	EndedAt   *time.Time      `json:"endedAt,omitempty"`
}

type shownMigration struct {
	Workflow string `json:"workflow"`
	To       int    `json:"to" doc:"The version. Workers with another one refuse the job."`
}

type jobOutput struct {
	input.Repeat
	Body jobShown
}

type jobInput struct {
	Job string `path:"job" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9.-]*[A-Za-z0-9-][A-Za-z0-9.-]*$"`
}

type keyedJobInput struct {
	input.MayBeKeyed
	Job string `path:"job" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9.-]*[A-Za-z0-9-][A-Za-z0-9.-]*$"`
}

type listJobsOutput struct {
	Body struct {
		Jobs []jobShown `json:"jobs"`
		Next string     `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

type jobResultsInput struct {
	input.Page
	Job  string `path:"job" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9.-]*[A-Za-z0-9-][A-Za-z0-9.-]*$"`
	Code string `query:"code" minLength:"1" maxLength:"64" pattern:"^[a-z_]+$" doc:"Only those with this code. Without it: all but done." example:"failed"`
}

type jobResultsOutput struct {
	Body struct {
		Results []jobSample `json:"results"`
		Next    string      `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end. A page of a large job may be empty and have a next one."`
	}
}

// jobs returns the store of the jobs.
func (s *service) jobs() (*jobs.Store, error) {
	if s.cfg.Jobs == nil {
		return nil, notFound("job")
	}

	return s.cfg.Jobs, nil
}

func (s *service) createJob(ctx context.Context, c caller, in *createJobInput) (*jobOutput, error) {
	store, err := s.jobs()
	if err != nil {
		return nil, err
	}

	n, err := s.newJob(ctx, c, in)
	if err != nil {
		return nil, err
	}

	j, err := store.Create(ctx, n)

	var open *jobs.OpenError
	if errors.As(err, &open) {
		return nil, newProblem(http.StatusConflict, "job_open", "Job "+open.ID+" of this kind has not ended, and a tenant has one open job of each kind.")
	}

	return showJob(c, j, err)
}

func (s *service) newJob(ctx context.Context, c caller, in *createJobInput) (n jobs.New, err error) {
	kind, f := jobs.Kind(in.Body.Kind), in.Body.Filter

	// The queues and dead letters of handlers, and the lists, belong to all tenants.
	if kind.Shared() {
		// Dead letters have a handler. For changes that come again it is optional, and the lists have none.
		if _, err := s.handler(f.Handler); err != nil && (f.Handler != "" || !kind.OfOrders() && kind != jobs.RebuildLists) {
			return n, err
		}

		if kind == jobs.RebuildLists && s.cfg.Lists == nil {
			return n, notFound("lists")
		}

		if c.tenant.owner() != "" {
			return n, newProblem(http.StatusForbidden, "forbidden", "Only administrators of the default tenant may create jobs about what belongs to all tenants.")
		}

		if p := c.maySearch("body", "/filter/error", f.Error); p != nil {
			return n, p
		}
	}

	n = jobs.New{
		Tenant: c.tenant.owner(), Kind: kind, DryRun: in.Body.DryRun, Again: in.Body.Again, Rate: in.Body.Rate, By: c.ID, Reason: callOf(ctx).reason,
		Filter: jobs.Filter{Handler: f.Handler, Error: f.Error, Since: f.Since, Until: f.Until, EndedBefore: f.EndedBefore},
	}
	if f.Endpoint != "" {
		n.Filter.Endpoint = c.tenant.storedID(f.Endpoint)
	}

	if m := in.Body.Migration; m != nil {
		own := s.cfg.Orders.Definition()
		n.Migration = &jobs.Migration{Workflow: own.Name(), To: own.Version(), Definitions: m.Definitions, Mapping: m.Mapping}

		// A worker could only pause the job.
		if _, err := waysOf(n.Migration, own, "/migration"); err != nil {
			return n, err
		}
	}

	for _, id := range in.Body.IDs {
		stored, known := c.storedSubject(kind, id)
		if !known {
			return n, newProblem(http.StatusUnprocessableEntity, "invalid_request", "An id does not have the form that lists show.").withField("body", "/ids", "ids as lists show them")
		}
		n.IDs = append(n.IDs, stored)
	}

	return n, nil
}

// mostKey is how many bytes a sort key has, and so an id that is one. Lists show it in up to 1,366 characters.
const mostKey = 1024

// storedSubject returns the stored id of a subject.
func (c caller) storedSubject(kind jobs.Kind, id string) (stored string, ok bool) {
	if kind.OfOrders() {
		// An id with a colon would be another tenant's.
		return string(c.tenant.orderID(id)), ids.Valid(id) && utf8.RuneCountInString(id) <= 235 && !strings.Contains(id, ":")
	}

	decoded, err := base64.RawURLEncoding.Strict().DecodeString(id)

	return string(decoded), err == nil && len(decoded) > 0 && len(decoded) <= mostKey
}

func (c caller) shownSubject(kind jobs.Kind, stored string) string {
	switch {
	// A part of the lists, or an order that may be another tenant's.
	case kind == jobs.RebuildLists, kind.Shared() && kind.OfOrders():
		return stored
	case kind.OfOrders():
		return c.tenant.publicID(stored)
	}

	return encodedID(stored)
}

func showJob(c caller, j jobs.Job, err error) (*jobOutput, error) {
	if err != nil {
		return nil, err
	}

	return &jobOutput{Body: c.showJob(j)}, nil
}

func (c caller) showJob(j jobs.Job) jobShown {
	f := j.Filter
	shown := jobShown{
		ID: j.ID, Kind: string(j.Kind), IDs: j.IDs, DryRun: j.DryRun, Again: j.Again, Rate: j.Rate, By: j.By, Reason: j.Reason,
		Filter: jobFilter{Handler: f.Handler, Error: f.Error, Since: f.Since, Until: f.Until, EndedBefore: f.EndedBefore},
		State:  string(j.State), Wanted: string(j.Wanted), Problem: j.Problem,
		Selected: j.Selected, Total: j.Total, Results: j.Results(), Counts: j.Counts,
		CreatedAt: j.CreatedAt, EndedAt: optionalTime(j.EndedAt),
	}
	if j.Migration != nil {
		shown.Migration = &shownMigration{j.Migration.Workflow, j.Migration.To}
	}

	if f.Endpoint != "" {
		shown.Filter.Endpoint = c.tenant.publicID(f.Endpoint)
	}

	for _, s := range j.Sample {
		shown.Sample = append(shown.Sample, jobSample{c.shownSubject(j.Kind, s.ID), s.Code})
	}

	return shown
}

func (s *service) listJobs(ctx context.Context, c caller, in *input.Page) (*listJobsOutput, error) {
	store, err := s.jobs()
	if err != nil {
		return nil, err
	}

	out := &listJobsOutput{}
	out.Body.Jobs, out.Body.Next, err = listPage(s, *in, []string{"jobs", string(c.tenant)},
		func(after string, n int) ([]jobs.Job, string, error) {
			return store.List(ctx, c.tenant.owner(), after, n)
		},
		func(j jobs.Job) (jobShown, bool, error) { return c.showJob(j), true, nil })

	return out, err
}

func (s *service) getJob(ctx context.Context, c caller, in *jobInput) (*jobOutput, error) {
	store, err := s.jobs()
	if err != nil {
		return nil, err
	}

	j, err := store.Get(ctx, c.tenant.owner(), in.Job)

	return showJob(c, j, err)
}

func (s *service) listJobResults(ctx context.Context, c caller, in *jobResultsInput) (*jobResultsOutput, error) {
	store, err := s.jobs()
	if err != nil {
		return nil, err
	}

	binding := []string{"job-results", string(c.tenant), in.Job, in.Code}

	after, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	j, err := store.Get(ctx, c.tenant.owner(), in.Job)
	if err != nil {
		return nil, err
	}

	found, next, err := store.Results(ctx, j, in.Code, after, in.Limit)
	if err != nil {
		return nil, err
	}

	out := &jobResultsOutput{}
	out.Body.Results, out.Body.Next = []jobSample{}, s.cursors.seal(next, binding...)

	for _, r := range found {
		out.Body.Results = append(out.Body.Results, jobSample{c.shownSubject(j.Kind, r.ID), r.Code})
	}

	return out, nil
}

func (s *service) pauseJob(ctx context.Context, c caller, in *keyedJobInput) (*jobOutput, error) {
	return s.changeJob(ctx, c, in, (*jobs.Store).Pause)
}

func (s *service) resumeJob(ctx context.Context, c caller, in *keyedJobInput) (*jobOutput, error) {
	return s.changeJob(ctx, c, in, (*jobs.Store).Resume)
}

func (s *service) stopJob(ctx context.Context, c caller, in *keyedJobInput) (*jobOutput, error) {
	return s.changeJob(ctx, c, in, (*jobs.Store).Stop)
}

func (s *service) changeJob(ctx context.Context, c caller, in *keyedJobInput, change func(*jobs.Store, context.Context, string, string) (jobs.Job, error)) (*jobOutput, error) {
	store, err := s.jobs()
	if err != nil {
		return nil, err
	}

	j, err := change(store, ctx, c.tenant.owner(), in.Job)

	return showJob(c, j, err)
}
