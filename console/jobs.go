package console

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"ratchet/api/auth"
)

// jobKind is a kind of jobs as it is started here.
type jobKind struct {
	kind  string // in the API, and the name of the act
	title string
	does  string
	// filter are the fields that select subjects.
	filter []field
	grave  bool
	// encoded says that its ids are encoded in the API, and not on the command line.
	encoded bool
	stream  bool // see act
	// whole says that it takes no ids.
	whole bool
	// migrates says that it takes the files of a migration.
	migrates bool
	// command is the command line, if it is not that of every kind.
	command string
}

// The fields of filters.
var (
	handlerField = field{name: "handler", label: "Handler", kind: "text", needed: true, flag: "--handler"}
	// Without it, every handler gets them.
	optionalHandler = field{name: "handler", label: "Only this handler", kind: "text", flag: "--handler"}
	endpointField   = field{name: "endpoint", label: "Endpoint", kind: "text", flag: "--endpoint", hint: "Needed without ids."}
	errorField      = field{name: "error", label: "Only with this error", kind: "text", flag: "--error"}
	sinceField      = field{name: "since", label: "Since (UTC)", kind: "datetime-local", flag: "--since"}
	untilField      = field{name: "until", label: "Until (UTC)", kind: "datetime-local", flag: "--until"}
	endedField      = field{name: "endedBefore", label: "That ended before (UTC)", kind: "datetime-local", flag: "--ended-before", hint: "Needed without ids."}
)

const idsValue = "ids"

// The fields of a migration. On the command line each is a file.
const (
	definitionValue = "definition"
	mappingValue    = "mapping"
)

var migrationFields = []field{
	{name: mappingValue, label: "Mapping", kind: "area", flag: "--mapping", file: "mapping.yaml", hint: "What the states become, in YAML or JSON, like migrations: [{from: 1, to: 2, states: {ON_HOLD: HELD}}]. Other states keep their names."},
	{name: definitionValue, label: "Other versions of the definition", kind: "area", flag: "--definition", file: "definition.yaml", hint: "In YAML or JSON, with a line of --- between two of them. The orders come to the version that the server runs."},
}

// jobFields are those of every kind, behind its filter.
var jobFields = []field{
	{name: idsValue, label: "Or only these, an id a line", kind: "area", hint: "At most 1,000, and then no filter."},
	{name: "rate", label: "Acts per second", kind: "number", flag: "--rate", preset: "10"},
	{name: dryValue, label: "Dry run: only count what it would act on", kind: "check", flag: "--dry-run", preset: "yes"},
}

var jobKinds = []jobKind{
	{kind: "executions-redrive", title: "Redrive executions", does: "Step Functions runs the failed states again.", filter: []field{errorField, sinceField, untilField}},
	{
		kind: "dead-letters-redrive", title: "Redrive dead letters", does: "Gives the changes to their handler once more.",
		filter: []field{handlerField, errorField, sinceField, untilField}, encoded: true, stream: true,
	},
	{
		kind: "dead-letters-discard", title: "Discard dead letters", does: "Deletes the dead letters. Their handler never sees the changes, and later changes of the orders go on.",
		filter: []field{handlerField, errorField, sinceField, untilField}, encoded: true, stream: true, grave: true,
	},
	{
		kind: "deliveries-resend", title: "Resend deliveries", does: "Sends what an endpoint has missed once more.",
		filter: []field{endpointField, sinceField}, encoded: true,
	},
	{
		kind: "orders-erase", title: "Erase persons of orders", does: "Removes the person from orders that have ended, and from all that is stored about them. Nothing brings it back.",
		filter: []field{endedField}, grave: true,
	},
	{
		kind: "streams-replay", title: "Replay changes", does: "Gives changes of orders to handlers once more, from the orders' journals. Effects that have happened are not repeated.",
		filter: []field{optionalHandler, sinceField}, stream: true,
	},
	{
		kind: "streams-refill", title: "Fill a gap", does: "Gives handlers those changes of orders that they have not got.",
		filter: []field{optionalHandler, sinceField}, stream: true,
	},
	{
		kind: "lists-rebuild", title: "Rebuild the lists", does: "Makes the lists of orders show every order as it is.", stream: true, whole: true,
	},
	{
		kind: "orders-migrate", title: "Migrate orders", does: "Brings orders of other versions of the definition to the version that the server runs.",
		stream: true, whole: true, migrates: true, command: "ratchet workflow migrate --reason-text {reason}",
	},
}

// jobActs are the acts that start and change jobs.
func jobActs() (all []act) {
	for _, k := range jobKinds {
		fields := jobFields
		if k.whole {
			fields = jobFields[1:]
		}

		if k.migrates {
			fields = slices.Concat(migrationFields, fields)
		}

		all = append(all, act{
			name: k.kind, title: k.title, does: k.does + " A worker does it as a job, one after the other.", scope: auth.Admin,
			method: http.MethodPost, path: "/v1/jobs", fields: slices.Concat(k.filter, fields), body: k.body, grave: k.grave, stream: k.stream,
			page: Path + "/jobs", made: Path + "/jobs/%s",
			command: cmp.Or(k.command, "ratchet jobs start "+k.kind+" --reason {reason}"), arguments: k.arguments,
		})
	}

	for _, change := range []struct {
		name, title, does string
		grave             bool
	}{
		{"pause", "Pause", "The act that runs ends as usual; then the job waits until it is resumed.", false},
		{"resume", "Resume", "The job goes on behind its last result.", false},
		{"stop", "Stop", "The act that runs ends as usual; then the job has ended for good. What it has done stays done.", true},
	} {
		all = append(all, act{
			name: change.name + "-job", title: change.title, does: change.does, scope: auth.Admin, grave: change.grave,
			method: http.MethodPost, path: "/v1/jobs/{job}/" + change.name, page: Path + "/jobs/{job}",
			command: "ratchet jobs " + change.name + " {job}",
		})
	}

	return all
}

// body is the request that creates a job of the kind.
func (k jobKind) body(v values) (any, error) {
	filter := map[string]any{}
	for _, f := range k.filter {
		value := strings.TrimSpace(v[f.name])

		switch {
		case value == "":
		case f.kind == "datetime-local":
			at, err := utc(value)
			if err != nil {
				return nil, fault(f.label + ": a date, or a date and a time")
			}
			filter[f.name] = at
		default:
			filter[f.name] = value
		}
	}

	body := map[string]any{"kind": k.kind, "filter": filter, "dryRun": v[dryValue] != ""}

	if ids := strings.Fields(v[idsValue]); len(ids) > 0 {
		body["ids"] = ids
	}

	if k.migrates {
		body["migration"] = map[string]any{"definitions": documents(v[definitionValue]), "mapping": v[mappingValue]}
	}

	if v["rate"] != "" {
		rate, err := v.number("rate")
		if err != nil {
			return nil, err
		}
		body["rate"] = rate
	}

	return body, nil
}

// documents are the files in a text, between lines of ---.
func documents(text string) []string {
	files := []string{}
	for _, file := range strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n---") {
		if strings.TrimSpace(file) != "" {
			files = append(files, strings.TrimSpace(file)+"\n")
		}
	}

	return files
}

// utc reads a time as a field of a form has it.
func utc(text string) (string, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format(time.RFC3339), nil
		}
	}
	at, err := time.Parse(time.RFC3339, text)

	return at.UTC().Format(time.RFC3339), err
}

// arguments are the ids as the command line has them.
func (k jobKind) arguments(tenant string, v values) (arguments []string) {
	for _, id := range strings.Fields(v[idsValue]) {
		stored, err := base64.RawURLEncoding.DecodeString(id)

		switch {
		case !k.encoded:
			id = storedID(tenant, id)
		case err == nil:
			id = string(stored)
		}
		arguments = append(arguments, id)
	}

	return arguments
}

// jobShown is the part of a job that is shown.
type jobShown struct {
	ID, Kind, By, Reason, State, Wanted, Problem string
	Filter                                       struct {
		Handler, Endpoint, Error  string
		Since, Until, EndedBefore moment
	}
	IDs, Rate, Total, Results int
	DryRun, Selected          bool
	Counts                    map[string]int
	Sample                    []jobResult
	CreatedAt, EndedAt        moment
}

type jobResult struct{ ID, Code string }

// jobList is a page of jobs.
type jobList struct {
	Jobs []jobShown
	Next string
}

// kindOf says how the state of a job is colored.
func (j jobShown) kindOf() string {
	switch j.State {
	case "done":
		return "good"
	case "paused", "stopped":
		return "warn"
	case "failed":
		return "bad"
	}

	return ""
}

// what is the kind in words.
func (j jobShown) what() string {
	what := j.Kind
	if a, found := actNamed(j.Kind); found {
		what = a.title
	}

	if j.DryRun {
		what += " (dry run)"
	}

	return what
}

// progress is how far the job is.
func (j jobShown) progress() string {
	if !j.Selected {
		return thousands(int64(j.Total)) + " selected so far"
	}

	return thousands(int64(j.Results)) + " of " + thousands(int64(j.Total))
}

// selection is what the job acts on.
func (j jobShown) selection() (all []fact) {
	f := j.Filter
	for _, part := range []fact{
		{"handler", f.Handler}, {"endpoint", f.Endpoint}, {"error", f.Error},
		{"since", f.Since.form()}, {"until", f.Until.form()}, {"endedBefore", f.EndedBefore.form()},
	} {
		if part.value != "" {
			all = append(all, part)
		}
	}

	return all
}

// form writes a time for the field of a form, "" for none.
func (m moment) form() string {
	if m.IsZero() {
		return ""
	}

	return m.UTC().Format("2006-01-02T15:04:05")
}

// codes are the codes of the results.
func (j jobShown) codes() []string { return slices.Sorted(maps.Keys(j.Counts)) }

// meanings say what the codes of results mean.
var meanings = map[string]string{
	"selected":           "The job would act on it.",
	"done":               "It was done.",
	"gone":               "The subject does not exist any more.",
	"failed":             "The act has failed: the log of the worker has the error.",
	"unmapped":           "Nothing says how the order comes from its version to that of the server: give the definition of its version, and a migration from that version in the mapping.",
	"order_busy":         "The order moved during every attempt.",
	"unreadable":         "It cannot be read.",
	"execution_healthy":  "The execution runs, or has brought its order to an end.",
	"not_redrivable":     "Step Functions refuses a redrive: repair the order.",
	"waiting":            "It was queued before.",
	"changed":            "The handler has failed with it again since.",
	"delivery_pending":   "It is being sent.",
	"endpoint_disabled":  "The endpoint is disabled: enable it first.",
	"not_erasable":       "The order has not ended.",
	"nothing_to_deliver": "The handlers have got every change.",
	"changes_lost":       "Earlier changes are lost.",
	"lists_incomplete":   "The part of the lists is not complete.",
}

// nothing is what a job without results says.
func (j jobShown) nothing() string {
	if j.ended() && j.Total == 0 {
		return "The selection was empty: nothing was found to act on."
	}

	return "No result yet."
}

// ended reports whether the job has come to its end.
func (j jobShown) ended() bool {
	return j.State == "done" || j.State == "failed" || j.State == "stopped"
}

// page is the page of a subject, "" if it has none of its own.
func (r jobResult) page(kind string) string {
	if kind == "executions-redrive" || strings.HasPrefix(kind, "orders-") || strings.HasPrefix(kind, "streams-") {
		return pathTo(Path+"/orders/%s", r.ID)
	}

	return ""
}

// jobButtons are the acts on a job: what its state allows, and for a dry run that has counted a selection, the job itself.
func (v *visit) jobButtons(j jobShown) []button {
	switch {
	// The files of a migration are not shown again: the form of its dry run has them.
	case j.DryRun && j.State == "done" && j.IDs == 0 && j.Kind != "orders-migrate":
		parameters := []string{"rate", fmt.Sprint(j.Rate)}
		for _, f := range j.selection() {
			parameters = append(parameters, f.name, f.value)
		}

		buttons := v.button(j.Kind, parameters...)
		for i := range buttons {
			// An empty value is a choice here: it is no dry run.
			buttons[i].title, buttons[i].address = "Do it: "+buttons[i].title, buttons[i].address+"&"+dryValue+"="
		}

		return buttons
	case j.ended():
		return nil
	case j.State == "paused" || j.Wanted == "paused":
		return slices.Concat(v.button("resume-job", "job", j.ID), v.button("stop-job", "job", j.ID))
	}

	return slices.Concat(v.button("pause-job", "job", j.ID), v.button("stop-job", "job", j.ID))
}

// startButtons lead to the forms of all kinds.
func (v *visit) startButtons() (buttons []button) {
	for _, k := range jobKinds {
		buttons = append(buttons, v.button(k.kind)...)
	}

	return buttons
}

func jobs(ctx context.Context, v *visit) (content, error) {
	var list jobList
	if err := v.get(ctx, with("/v1/jobs", "limit", "50", "cursor", v.query("cursor")), &list); err != nil {
		return content{}, err
	}

	return content{"Jobs", jobsPage(v, list)}, nil
}

func job(ctx context.Context, v *visit) (content, error) {
	id := v.request.PathValue("job")

	var j jobShown
	if err := v.get(ctx, pathTo("/v1/jobs/%s", id), &j); err != nil {
		return content{}, err
	}

	var rest struct {
		Results []jobResult
		Next    string
	}

	// A dry run has no rows. Its sample is all there is.
	if !j.DryRun {
		path := with(pathTo("/v1/jobs/%s/results", id), "limit", "50", "code", v.query("code"), "cursor", v.query("cursor"))
		if err := v.get(ctx, path, &rest); err != nil {
			return content{}, err
		}
	}

	return content{j.what(), jobPage(v, j, rest.Results, rest.Next)}, nil
}

// executionList is a page of executions.
type executionList struct {
	Executions []struct {
		Name, OrderID, Status, Error, Cause, NotRedrivable string
		Redrives                                           int
		StartedAt, StoppedAt                               moment
	}
	Next string
}

func executions(ctx context.Context, v *visit) (content, error) {
	status := v.query("status")
	if !v.request.URL.Query().Has("status") {
		status = "FAILED"
	}

	var list executionList
	if err := v.get(ctx, with("/v1/executions", "limit", "20", "status", status, "cursor", v.query("cursor")), &list); err != nil {
		return content{}, err
	}

	return content{"Executions", executionsPage(v, status, list)}, nil
}

func executionKind(status string) string {
	switch status {
	case "SUCCEEDED":
		return "good"
	case "RUNNING":
		return ""
	}

	return "bad"
}

// isAdmin reports whether the session may start jobs.
func (v *visit) isAdmin() bool { return v.by.May(auth.Admin) }

// isSystem reports whether the session sees what belongs to all tenants.
func (v *visit) isSystem() bool { return v.isAdmin() && v.by.Tenant == auth.DefaultTenant }

// chosen are the acts on the rows of a list that a person selects, and further values of their forms.
type chosen struct {
	acts []act
	more []fact
}

// choose returns the jobs of the kinds that the session may start, about rows of a list.
func (v *visit) choose(kinds []string, more ...fact) (c chosen) {
	for _, kind := range kinds {
		if a, found := actNamed(kind); found && v.may(a) {
			c.acts = append(c.acts, a)
		}
	}
	c.more = more

	return c
}
