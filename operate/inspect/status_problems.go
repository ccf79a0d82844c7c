package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ratchet/internal/plural"
	"ratchet/notify"
	"ratchet/operate/processes"
	"ratchet/streams/status"
)

const (
	// quotaWarning is the use of a quota in percent from which on it needs a person.
	quotaWarning = 80
	// throttleWarning is how many throttled calls a second need a person.
	throttleWarning = 0.5
)

func unreadable(area string, err error) []SystemProblem {
	return []SystemProblem{{
		Area:   area,
		Text:   "cannot be read: " + err.Error(),
		Action: "check endpoint, credentials and permissions; `ratchet init` creates missing tables",
	}}
}

func processProblems(found []processes.Process) (problems []SystemProblem) {
	worker, running := false, map[string]bool{}

	for i, name := range processes.Names(found) {
		p := found[i]

		for _, part := range p.Parts {
			// A part of a process that has ended, or is missing, does not run.
			running[part] = running[part] || p.Runs(part)
		}
		what := fmt.Sprintf("process %s on %s (%s)", orNone(name), orNone(p.Host), strings.Join(p.Parts, ", "))

		switch {
		case p.State == processes.Missing:
			problems = append(problems, SystemProblem{
				Area:   "processes",
				Text:   fmt.Sprintf("%s gives no sign of life since %s", what, clockTime(p.BeatAt)),
				Since:  p.BeatAt,
				Action: "look at its log and start it again; a process that is gone for good is listed for an hour",
			})
		case p.State == processes.Failed:
			problems = append(problems, SystemProblem{
				Area:   "processes",
				Text:   fmt.Sprintf("%s has failed at %s: %s", what, clockTime(p.EndedAt), p.Failure),
				Since:  p.EndedAt,
				Action: "end the cause and start it again; it is listed for an hour",
			})
		case p.State == processes.Live && !p.Ready:
			problems = append(problems, SystemProblem{
				Area:   "processes",
				Text:   fmt.Sprintf("%s is not ready: %s", what, orNone(p.Reason)),
				Action: "`ratchet health` on its machine says what to do",
			})
		}
	}

	// Any of these parts counts as a worker: `ratchet worker --only` starts them in processes of
	// their own.
	for _, part := range []string{"worker", "activities", "stream", "notifications", "sweeps"} {
		worker = worker || running[part]
	}

	if !worker {
		problems = append(problems, SystemProblem{
			Area:   "processes",
			Text:   "no worker of ratchet reports that it runs: orders wait, and records of the stream are lost 24 hours after they were written, unless other programs do its work",
			Action: "start `ratchet worker`, or `ratchet dev` on this machine's data directory",
		})
	}

	// Without a worker the problem above says everything, and a whole worker runs all parts.
	if !worker || running["worker"] {
		return problems
	}

	// The stream has a check of its own, which also sees a reader in Lambda. Requests may be read
	// by Lambda, too, and Lambda writes no row of a process.
	for _, part := range [][2]string{
		{"activities", "tasks of executions wait, unless other programs serve all activities"},
		{"notifications", "what was not delivered at once waits"},
		{"sweeps", "reservations, holds and payments that are due stay open"},
	} {
		if !running[part[0]] {
			problems = append(problems, SystemProblem{
				Area:   "processes",
				Text:   fmt.Sprintf("no worker of ratchet reports that it runs %s: %s", part[0], part[1]),
				Action: fmt.Sprintf("start `ratchet worker --only %s`", part[0]),
			})
		}
	}

	return problems
}

func orNone(text string) string {
	if text == "" {
		return "(unknown)"
	}

	return text
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func quotaProblems(uses []QuotaUse, rates map[string]float64) (problems []SystemProblem) {
	for _, use := range uses {
		if use.Percent >= quotaWarning {
			problems = append(problems, SystemProblem{
				Area:   "quotas",
				Text:   fmt.Sprintf("%s: %.0f of %.0f a second are used (%.0f %%)", use.Name, use.Used, use.Quota, use.Percent),
				Action: "ask AWS for a higher quota; `ratchet plan` computes what is needed",
			})
		}
	}

	if rate := rates["throttled"]; rate >= throttleWarning {
		problems = append(problems, SystemProblem{
			Area:   "quotas",
			Text:   fmt.Sprintf("AWS throttles %.1f calls a second", rate),
			Action: "lower `slots` or `calls-per-second`, or ask AWS for a higher quota; ratchet_aws_throttles_total names the operation",
		})
	}

	return problems
}

// failingFor is how long a handler fails before a person should look.
const failingFor = 20 * time.Second

// handlerProblems says that a handler is paused or fails.
func handlerProblems(h status.HandlerStatus, now time.Time) []SystemProblem {
	waiting := fmt.Sprintf("%s of %s waiting", plural.Of(h.Records, "record"), plural.Of(h.Items, "item"))

	switch {
	case !h.PausedAt.IsZero() && h.Records == 0: // it holds nothing up
		return nil
	case !h.PausedAt.IsZero():
		return []SystemProblem{{
			Area:   "stream",
			Text:   fmt.Sprintf("handler %s is paused, %s", h.Name, waiting),
			Since:  h.PausedAt,
			Action: fmt.Sprintf("`ratchet streams resume %s` when the cause of the pause is gone", h.Name),
		}}
	case h.Since.IsZero() || now.Sub(h.Since) < failingFor:
		return nil
	}

	return []SystemProblem{{
		Area:   "stream",
		Text:   fmt.Sprintf("handler %s fails since %s, %s; the next try is at %s: %s", h.Name, clockTime(h.Since), waiting, clockTime(h.NextTry), h.Error),
		Since:  h.Since,
		Action: "mend what the error names; nothing is lost while the records wait, for three days unless the handler says otherwise",
	}}
}

func streamProblems(s status.Status, lag status.StreamLag, off map[string]string, now time.Time) (problems []SystemProblem) {
	for _, reason := range lag.Reasons {
		problems = append(problems, SystemProblem{
			Area:   "stream",
			Text:   reason,
			Action: "`ratchet streams status` shows shards, retries and errors",
		})
	}

	for _, h := range s.Handlers {
		problems = append(problems, handlerProblems(h, now)...)

		if h.DeadLetters == 0 {
			continue
		}

		problem := SystemProblem{
			Area:   "dead letters",
			Text:   fmt.Sprintf("handler %s gave up on %s", h.Name, plural.Of(h.DeadLetters, "record")),
			Action: fmt.Sprintf("`ratchet deadletters list %s`; `ratchet deadletters redrive --all --handler %s` when the cause is gone", h.Name, h.Name),
		}
		// A redriven dead letter waits until a worker has the handler.
		if setting := off[h.Name]; setting != "" {
			problem.Text += ", and is off by these settings"
			problem.Action = fmt.Sprintf("`ratchet deadletters list %s --%s`; redrive them if workers have that setting, or discard them", h.Name, setting)
		}
		problems = append(problems, problem)
	}

	return problems
}

func endpointProblems(e notify.Endpoint, summary EndpointSummary) (problems []SystemProblem) {
	if e.Status == notify.Unreadable {
		problems = append(problems, SystemProblem{
			Area:   "notifications",
			Text:   fmt.Sprintf("endpoint %s gets nothing: %s", e.ID, e.Reason),
			Action: fmt.Sprintf("`ratchet endpoints delete %s`, and create it again; then resend what its orders did meanwhile", e.ID),
		})
	}

	if e.Status == notify.Disabled {
		problems = append(problems, SystemProblem{
			Area:   "notifications",
			Text:   fmt.Sprintf("endpoint %s is disabled: %s", e.ID, orNone(e.Reason)),
			Since:  e.DisabledAt,
			Action: fmt.Sprintf("`ratchet endpoints enable %s` when its receiver works again", e.ID),
		})
	}

	if summary.Missed > 0 {
		problems = append(problems, SystemProblem{
			Area:   "notifications",
			Text:   fmt.Sprintf("endpoint %s has missed %s", e.ID, plural.Of(summary.Missed, "notification")),
			Action: fmt.Sprintf("`ratchet deliveries resend --endpoint %s%s --since 720h` sends them again", e.ID, ofTenant(e)),
		})
	}

	return problems
}

// ofTenant is the flag that selects the orders of the endpoint's tenant. An endpoint of all tenants wants the command once for
// each of them.
func ofTenant(e notify.Endpoint) string {
	switch tenant := e.Filter.Tenant; tenant {
	case "":
		return ""
	case notify.AllTenants:
		return " --tenant TENANT"
	default:
		return " --tenant " + tenant
	}
}

func orderProblems(survey processes.Survey) []SystemProblem {
	total := survey.Total()
	if total == 0 {
		return nil
	}

	var kinds []string

	for _, kind := range slices.Sorted(maps.Keys(survey.Stuck)) {
		if count := survey.Stuck[kind]; count > 0 {
			kinds = append(kinds, fmt.Sprintf("%s: %d", strings.ReplaceAll(kind, "_", " "), count))
		}
	}

	return []SystemProblem{{
		Area:   "orders",
		Text:   fmt.Sprintf("%s stuck at %s (%s)", plural.Of(total, "order"), clockTime(survey.At), strings.Join(kinds, ", ")),
		Since:  survey.At,
		Action: "`ratchet executions repair` lists them with what brings each on; `ratchet status --count-stuck` counts them again",
	}}
}
