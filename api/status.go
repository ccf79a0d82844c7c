package api

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/operate/inspect"
)

func (s *service) statusRoutes(h huma.API) {
	register(s, h, route{
		id:          "get-status",
		method:      http.MethodGet,
		path:        "/v1/status",
		tag:         "service",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Show what runs where, how much it does, and what needs a person",
		description: "Processes with their heartbeats, rates of the last minute, use of quotas, lag, dead letters and stuck orders. The answer takes up to 12 seconds if a process gives no sign of life. The numbers are those of all tenants, so only administrators of the default tenant get them.",
	}, s.systemStatus)
}

type statusProcess struct {
	ID        string             `json:"id" doc:"Random, a new one for each start."`
	Name      string             `json:"name"`
	Host      string             `json:"host"`
	Version   string             `json:"version"`
	Parts     []string           `json:"parts" doc:"What runs in it: worker, or those of its parts that run (activities, stream, requests, notifications, sweeps), api, engine, sandbox-carrier."`
	State     string             `json:"state" enum:"live,missing,ended,failed,unknown" doc:"missing: it gives no sign of life and was not stopped."`
	Ready     bool               `json:"ready"`
	Reason    string             `json:"reason,omitempty" doc:"Why it is not ready."`
	StartedAt time.Time          `json:"startedAt"`
	BeatAt    time.Time          `json:"beatAt" doc:"Its newest heartbeat, by the clock of its machine."`
	Rates     map[string]float64 `json:"rates" doc:"Increases of its counters per second over the last minute, without those that are 0."`
}

type statusQuota struct {
	Name    string  `json:"name"`
	Of      string  `json:"of" enum:"account,orders" doc:"What the quota is of: the account in its Region, or the table of the orders."`
	Used    float64 `json:"used" doc:"Per second, by the live processes."`
	Quota   float64 `json:"quota" doc:"AWS's default for the Region, per second."`
	Percent float64 `json:"percent"`
	Source  string  `json:"source" doc:"The page of AWS that has the default quota."`
}

type statusProblem struct {
	Area   string     `json:"area" enum:"processes,stream,dead letters,notifications,shipping,orders,audit,quotas"`
	Text   string     `json:"text"`
	Since  *time.Time `json:"since,omitempty"`
	Action string     `json:"action" doc:"What to do about it."`
}

type statusHandler struct {
	Handler  string     `json:"handler"`
	Waiting  int        `json:"waiting" doc:"How many records wait."`
	Error    string     `json:"error,omitempty" personal:"text" doc:"The last error of the record that has failed for longest."`
	Since    *time.Time `json:"since,omitempty" doc:"Since when that record fails."`
	NextTry  *time.Time `json:"nextTry,omitempty" doc:"When the next record is due."`
	PausedAt *time.Time `json:"pausedAt,omitempty" doc:"Since when the handler is paused."`

	DeadLetters int `json:"deadLetters"`
}

type statusStream struct {
	State   string   `json:"state" enum:"on,off,gone,none"`
	Records int      `json:"records" doc:"How many records are not handled."`
	More    bool     `json:"more" doc:"Whether there may be more of them."`
	Workers []string `json:"workers" doc:"The workers that have given a sign of life."`
}

type statusEndpoint struct {
	ID      string `json:"endpoint"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty" personal:"text" doc:"Why it is disabled or failing."`
	Pending int    `json:"pending" doc:"Deliveries that wait, of the first 50 endpoints, up to 100 each."`
	Missed  int    `json:"missed" doc:"Deliveries that were missed, up to 100."`
	More    bool   `json:"more" doc:"Whether there may be more of them."`
}

type statusReports struct {
	Waiting   int `json:"waiting" doc:"Up to 1,000 of each of eight partitions are counted."`
	Attention int `json:"attention" doc:"How many of them need a person."`
}

type statusOutput struct {
	Body struct {
		At            time.Time          `json:"at"`
		OK            bool               `json:"ok" doc:"Whether nothing needs a person."`
		Problems      []statusProblem    `json:"problems"`
		Processes     []statusProcess    `json:"processes"`
		Rates         map[string]float64 `json:"rates" doc:"The sums over the live processes."`
		Quotas        []statusQuota      `json:"quotas" doc:"Empty unless the service runs on AWS."`
		BehindSeconds float64            `json:"behindSeconds" doc:"The age of the oldest change that is not handled."`
		DeadLetters   int                `json:"deadLetters"`
		Handlers      []statusHandler    `json:"handlers" doc:"The handlers of the stream."`
		Stream        statusStream       `json:"stream"`
		Endpoints     []statusEndpoint   `json:"endpoints"`
		Reports       statusReports      `json:"reports" doc:"The carrier's reports that are stored."`
		StuckOrders   map[string]int     `json:"stuckOrders" doc:"By the kind of the problem, as they were counted last. Empty before the first count."`
		CountedAt     *time.Time         `json:"countedAt,omitempty" doc:"When the stuck orders were counted."`
	}
}

func (s *service) systemStatus(ctx context.Context, c caller, _ *struct{}) (*statusOutput, error) {
	switch {
	case s.cfg.Status == nil:
		return nil, notFound("status")
	case c.tenant.owner() != "":
		return nil, newProblem(http.StatusForbidden, "forbidden", "Only administrators of the default tenant see the status of the whole system.")
	}

	status, err := s.cfg.Status(ctx)
	if err != nil {
		return nil, err
	}

	out := &statusOutput{}
	out.Body.At, out.Body.OK = status.At, status.OK
	out.Body.Rates = status.Rates
	out.Body.BehindSeconds = status.Stream.Seconds
	out.Body.Problems = make([]statusProblem, len(status.Problems))
	out.Body.Quotas = make([]statusQuota, len(status.Quotas))
	out.Body.StuckOrders = map[string]int{}
	out.Body.Handlers = []statusHandler{}
	out.Body.Reports = statusReports{status.Reports, status.ReportsAttention}

	for i, p := range status.Problems {
		out.Body.Problems[i] = statusProblem{p.Area, p.Text, optionalTime(p.Since), p.Action}
	}

	c.maskProblems(out.Body.Problems, status)

	for i, q := range status.Quotas {
		out.Body.Quotas[i] = statusQuota(q)
	}

	for _, h := range status.Handlers {
		out.Body.DeadLetters += h.DeadLetters
		out.Body.Handlers = append(out.Body.Handlers,
			statusHandler{h.Name, h.Waiting, h.Error, optionalTime(h.Since), optionalTime(h.NextTry), optionalTime(h.PausedAt), h.DeadLetters})
	}

	// Lists are never null in JSON.
	out.Body.Stream = statusStream{status.Stream.State, status.Stream.Records, status.Stream.More, append([]string{}, status.Stream.Workers...)}
	out.Body.Endpoints = make([]statusEndpoint, len(status.Endpoints))

	for i, e := range status.Endpoints {
		out.Body.Endpoints[i] = statusEndpoint(e)
	}

	// A skipped survey has counted nothing, which must not look like no stuck orders.
	if survey := status.Stuck; survey != nil && survey.Skipped == "" {
		out.Body.StuckOrders, out.Body.CountedAt = survey.Stuck, optionalTime(survey.At)
	}
	out.Body.Processes = showProcesses(status)

	return out, nil
}

func showProcesses(status inspect.SystemStatus) []statusProcess {
	shown := make([]statusProcess, len(status.Processes))

	for i, p := range status.Processes {
		// Parts is never nil: a list is never null in JSON.
		shown[i] = statusProcess{
			ID:        p.ID,
			Name:      p.Name,
			Host:      p.Host,
			Version:   p.Version,
			Parts:     append([]string{}, p.Parts...),
			State:     string(p.State),
			Ready:     p.Ready,
			Reason:    p.Reason,
			StartedAt: p.StartedAt,
			BeatAt:    p.BeatAt,
			Rates:     map[string]float64{},
		}
		maps.Copy(shown[i].Rates, p.Rates)
	}

	return shown
}
