package inspect

import (
	"context"
	"math"
	"sync"
	"time"

	"ratchet/internal/plural"
	"ratchet/notify"
	"ratchet/operate/processes"
	"ratchet/streams/status"
	"ratchet/workflow/plan"
)

// StatusSources are the functions and limits of [Status]. All functions must be set.
type StatusSources struct {
	Processes func(context.Context) ([]processes.Process, error)
	Survey    func(context.Context) (survey processes.Survey, known bool, err error)
	Stream    func(context.Context) (status.Status, error)
	// OffHandlers are the handlers of the stream that the settings turn off, each with the setting
	// that turns it on.
	OffHandlers map[string]string
	Endpoints   func(context.Context) ([]notify.Endpoint, error)
	// Queued returns up to limit deliveries of an endpoint that are under way or missed, and
	// whether there are more.
	Queued func(ctx context.Context, endpoint string, status notify.Status, limit int) (count int, more bool, err error)
	// Reports returns how many reports of the carrier wait, and how many need a person. Nil: there are
	// none.
	Reports func(context.Context) (waiting, attention int, err error)
	// Acts reads the table of acts. Without it, acts are refused.
	Acts func(context.Context) error
	// Quotas are the quotas of the account, by the names of package plan; nil if there are none.
	Quotas plan.Quotas
	// OrderReads and OrderWrites are the names of the counters that are compared with the quotas of
	// one table. A counter of calls has the name of its quota.
	OrderReads, OrderWrites string
	// MaxLag is how old the oldest unhandled record of the stream may be.
	MaxLag time.Duration
}

// SystemStatus says which processes run where, how much they do, and what needs a person.
type SystemStatus struct {
	At time.Time `json:"at"`
	// OK says that nothing needs a person: there are no problems.
	OK bool `json:"ok"`
	// Problems are the things that need a person, each with an action.
	Problems  []SystemProblem     `json:"problems"`
	Processes []processes.Process `json:"processes"`
	// Rates are the sums per second over the live processes, by counter.
	Rates  map[string]float64 `json:"rates"`
	Quotas []QuotaUse         `json:"quotas"`
	Stream StreamSummary      `json:"stream"`
	// Handlers are the handlers of the stream.
	Handlers  []HandlerSummary  `json:"handlers"`
	Endpoints []EndpointSummary `json:"endpoints"`
	// Reports counts the reports of the carrier that wait, ReportsAttention those that need a person.
	Reports          int `json:"reportsWaiting"`
	ReportsAttention int `json:"reportsAttention"`
	// Stuck is the newest count of orders that need a person, nil if there is none.
	Stuck *processes.Survey `json:"stuck,omitempty"`
}

// SystemProblem is one thing that needs a person.
type SystemProblem struct {
	// Area is "processes", "stream", "dead letters", "notifications", "shipping", "orders", "audit" or
	// "quotas".
	Area  string    `json:"area"`
	Text  string    `json:"text"`
	Since time.Time `json:"since,omitzero"`
	// Action says what to do, with the command.
	Action string `json:"action"`
}

// QuotaUse is how much of a quota of the account the live processes use. Other programs of the
// account are not counted.
type QuotaUse struct {
	Name string `json:"name"`
	// Of is the owner of the quota: "account" (in its Region) or "orders" (the table).
	Of string `json:"of"`
	// Used and Quota are per second.
	Used    float64 `json:"used"`
	Quota   float64 `json:"quota"`
	Percent float64 `json:"percent"`
	// Source is the page that has the default quota.
	Source string `json:"source"`
}

// StreamSummary is how far the orders' stream is handled.
type StreamSummary struct {
	State   string   `json:"state"`
	Seconds float64  `json:"behindSeconds"`
	Records int      `json:"records"`
	More    bool     `json:"more,omitempty"`
	Workers []string `json:"workers"`
}

// HandlerSummary counts the records that a handler of the stream has not handled.
type HandlerSummary struct {
	Name    string `json:"handler"`
	Waiting int    `json:"waiting"`
	// Error is the last error of the record that has failed for longest, since Since. NextTry is when the
	// next record is due.
	Error       string    `json:"error,omitempty"`
	Since       time.Time `json:"since,omitzero"`
	NextTry     time.Time `json:"nextTry,omitzero"`
	DeadLetters int       `json:"deadLetters"`
	PausedAt    time.Time `json:"pausedAt,omitzero"`
}

// EndpointSummary counts the deliveries that wait for one endpoint. Counts end at 100; More says
// that a count has ended there.
type EndpointSummary struct {
	ID      string `json:"endpoint"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Pending int    `json:"pending"`
	Missed  int    `json:"missed"`
	More    bool   `json:"more,omitempty"`
}

const (
	// mostQueued is how many deliveries of an endpoint are counted, mostEndpoints for how many
	// endpoints deliveries are counted.
	mostQueued    = 100
	mostEndpoints = 50
)

// Status reads the sources at the same time. A source that cannot be read is a problem of the
// result. Status takes as long as a look at the stream and at the processes: a moment, and up to 12
// s if a process or worker gives no sign of life.
func Status(ctx context.Context, s StatusSources) (SystemStatus, error) {
	look := &statusLook{sources: s, status: SystemStatus{
		// Empty slices, not nil: JSON shows them as [], so programs need no case for null.
		At:        time.Now().UTC().Truncate(time.Millisecond),
		Problems:  []SystemProblem{},
		Processes: []processes.Process{},
		Rates:     map[string]float64{},
		Quotas:    []QuotaUse{},
		Stream:    StreamSummary{Workers: []string{}},
		Handlers:  []HandlerSummary{},
		Endpoints: []EndpointSummary{},
	}}

	parts := []func(context.Context) []SystemProblem{look.processes, look.stream, look.endpoints, look.reports, look.orders, look.acts}
	problems := make([][]SystemProblem, len(parts))

	var group sync.WaitGroup
	// Each part has its own slot and its own fields, so the goroutines need no lock, and the order
	// of the problems does not depend on which part ends first.
	for i, part := range parts {
		group.Go(func() { problems[i] = part(ctx) })
	}
	group.Wait()

	if err := ctx.Err(); err != nil {
		return SystemStatus{}, err
	}

	for _, found := range problems {
		look.status.Problems = append(look.status.Problems, found...)
	}
	look.status.OK = len(look.status.Problems) == 0

	return look.status, nil
}

// statusLook is one call of Status. Each of its methods fills its own fields of the status.
type statusLook struct {
	sources StatusSources
	status  SystemStatus
}

func (l *statusLook) processes(ctx context.Context) []SystemProblem {
	found, err := l.sources.Processes(ctx)
	if err != nil {
		return unreadable("processes", err)
	}

	l.status.Processes = append(l.status.Processes, found...)

	for _, p := range found {
		// The last rates of a process that has ended would count work that has stopped.
		if p.State != processes.Live {
			continue
		}

		for name, rate := range p.Rates {
			l.status.Rates[name] = math.Round(100*(l.status.Rates[name]+rate)) / 100
		}
	}
	l.status.Quotas = quotaUse(l.sources, l.status.Rates)

	return append(processProblems(found), quotaProblems(l.status.Quotas, l.status.Rates)...)
}

// MeteredCalls returns the calls whose use is compared with their quotas.
func MeteredCalls() []string {
	return []string{
		plan.StartExecution, plan.RedriveExecution, plan.DescribeExecution,
		plan.GetActivityTask, plan.SendTaskSuccess, plan.SendTaskFailure, plan.SendTaskHeartbeat,
		plan.DescribeStream,
	}
}

// quotaUse compares the rates with the quotas.
func quotaUse(s StatusSources, rates map[string]float64) []QuotaUse {
	uses := []QuotaUse{}

	add := func(name, of, counter string) {
		// Quotas of an endpoint that is not AWS are not known, so there is nothing to compare.
		if quota := s.Quotas[name]; quota > 0 {
			used := rates[counter]
			uses = append(uses, QuotaUse{Name: name, Of: of, Used: used, Quota: quota, Percent: math.Round(1000*used/quota) / 10, Source: plan.Source(name)})
		}
	}

	for _, name := range MeteredCalls() {
		add(name, "account", name)
	}
	add(plan.TableReads, "orders", s.OrderReads)
	add(plan.TableWrites, "orders", s.OrderWrites)

	return uses
}

func (l *statusLook) stream(ctx context.Context) []SystemProblem {
	found, err := l.sources.Stream(ctx)
	if err != nil {
		return unreadable("stream", err)
	}

	now := time.Now()
	lag := found.Lag(l.sources.MaxLag, now)
	l.status.Stream = StreamSummary{State: string(found.State), Seconds: lag.Seconds, Records: lag.Records, More: lag.More, Workers: found.Workers}

	for _, h := range found.Handlers {
		l.status.Handlers = append(l.status.Handlers, HandlerSummary{
			Name: h.Name, Waiting: h.Records, Error: h.Error, Since: h.Since, NextTry: h.NextTry, DeadLetters: h.DeadLetters, PausedAt: h.PausedAt,
		})
	}

	// What waits for a handler is shown with its error.
	shards := found
	shards.Handlers = nil

	return streamProblems(found, shards.Lag(l.sources.MaxLag, now), l.sources.OffHandlers, now)
}

func (l *statusLook) endpoints(ctx context.Context) []SystemProblem {
	found, err := l.sources.Endpoints(ctx)
	if err != nil {
		return unreadable("notifications", err)
	}

	var problems []SystemProblem

	for i, e := range found {
		summary := EndpointSummary{ID: e.ID, Status: string(e.Status), Reason: e.Reason}

		// Each count is a query of up to a hundred rows, so only the first endpoints are counted.
		if i < mostEndpoints {
			var morePending, moreMissed bool

			summary.Pending, morePending, err = l.sources.Queued(ctx, e.ID, notify.Pending, mostQueued)
			if err == nil {
				summary.Missed, moreMissed, err = l.sources.Queued(ctx, e.ID, notify.Missed, mostQueued)
			}

			if err != nil {
				return append(problems, unreadable("notifications", err)...)
			}
			summary.More = morePending || moreMissed
		}

		l.status.Endpoints = append(l.status.Endpoints, summary)
		problems = append(problems, endpointProblems(e, summary)...)
	}

	return problems
}

func (l *statusLook) reports(ctx context.Context) (problems []SystemProblem) {
	if l.sources.Reports == nil {
		return nil
	}

	var err error
	if l.status.Reports, l.status.ReportsAttention, err = l.sources.Reports(ctx); err != nil {
		return unreadable("shipping", err)
	}

	if n := l.status.ReportsAttention; n > 0 {
		problems = append(problems, SystemProblem{
			Area:   "shipping",
			Text:   plural.Of(n, "report") + " of the carrier needs a person",
			Action: "`ratchet shipments reports --effect attention` lists them with the command for each",
		})
	}

	return problems
}

func (l *statusLook) orders(ctx context.Context) []SystemProblem {
	survey, known, err := l.sources.Survey(ctx)
	if err != nil {
		return unreadable("orders", err)
	}

	// No survey has been made yet, or surveys are off. Neither is a problem.
	if !known {
		return nil
	}
	l.status.Stuck = &survey

	return orderProblems(survey)
}

func (l *statusLook) acts(ctx context.Context) []SystemProblem {
	if err := l.sources.Acts(ctx); err != nil {
		return unreadable("audit", err)
	}

	return nil
}
