package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/operate/audit"
)

// Kind is what a job does to each of its subjects.
type Kind string

// The kinds of jobs.
const (
	RedriveExecutions  Kind = "executions-redrive"
	RedriveDeadLetters Kind = "dead-letters-redrive"
	DiscardDeadLetters Kind = "dead-letters-discard"
	ResendDeliveries   Kind = "deliveries-resend"
	EraseOrders        Kind = "orders-erase"
	ReplayStream       Kind = "streams-replay"
	RefillStream       Kind = "streams-refill"
	RebuildLists       Kind = "lists-rebuild"
	MigrateOrders      Kind = "orders-migrate"
)

// rule says what a job of a kind needs.
type rule struct {
	// shared: the subjects are those of all tenants, so only the default tenant has such jobs.
	shared bool
	// always is a field of the filter that every job of the kind has. needs is one that a job without ids has, and takes
	// are those that it may have. one: it has at least one of takes.
	always, needs string
	takes         []string
	one           bool
	// named are the fields that a job with ids may have, beside always.
	named []string
	// whole: a job of the kind takes no ids.
	whole bool
	// migrates: it has a migration.
	migrates bool
}

var rules = map[Kind]rule{
	RedriveExecutions:  {takes: []string{"error", "since", "until"}},
	RedriveDeadLetters: {shared: true, always: "handler", takes: []string{"error", "since", "until"}},
	DiscardDeadLetters: {shared: true, always: "handler", takes: []string{"error", "since", "until"}},
	ResendDeliveries:   {needs: "endpoint", takes: []string{"since"}},
	EraseOrders:        {needs: "endedBefore"},
	ReplayStream:       {shared: true, takes: []string{"handler", "since"}, named: []string{"handler", "since"}, one: true},
	RefillStream:       {shared: true, takes: []string{"handler", "since"}, named: []string{"handler", "since"}},
	RebuildLists:       {shared: true, whole: true},
	MigrateOrders:      {shared: true, migrates: true},
}

// Shared reports whether the subjects are those of all tenants, like the handlers of the stream.
func (k Kind) Shared() bool { return rules[k].shared }

// OfOrders reports whether the ids of the subjects are those of orders.
func (k Kind) OfOrders() bool {
	return !slices.Contains([]Kind{RedriveDeadLetters, DiscardDeadLetters, ResendDeliveries, RebuildLists}, k)
}

// State is the state of a job.
type State string

// The states of jobs. Done, Failed and Stopped are final.
const (
	Waiting State = "waiting"
	Running State = "running"
	Paused  State = "paused"
	Done    State = "done"
	Failed  State = "failed"
	Stopped State = "stopped"
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Done || s == Failed || s == Stopped }

// The codes of problems with a job.
const (
	rowsExpired   = "rows_expired"
	tooMany       = "too_many"
	actsFail      = "acts_fail"
	selectionFail = "selection_fails"
)

// The codes of results that every kind has. The others are codes of the HTTP API.
const (
	// codeDone: the act was done.
	codeDone = "done"
	// codeSelected: a dry run would act on the subject.
	codeSelected = "selected"
	// codeGone: there is no such subject, or not any more.
	codeGone = "gone"
	// codeFailed: the act ended with an error, which is in the log of the worker.
	codeFailed = "failed"
)

// Filter selects subjects. Each kind has its own fields.
type Filter struct {
	// Handler is the handler of dead letters, or one that gets changes again; without it all do. Endpoint is the receiver of
	// missed deliveries.
	Handler  string `json:"handler,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Error is the error name of failed executions, or a part of the error of dead letters.
	Error string `json:"error,omitempty"`
	// Since and Until bound when executions and dead letters have failed, and from when on deliveries were
	// missed.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// EndedBefore selects orders to erase by their end. Jobs of this kind without ids need it.
	EndedBefore time.Time `json:"endedBefore,omitzero"`
}

// fields returns the names of the fields that are set.
func (f Filter) fields() (names []string) {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"handler", f.Handler != ""}, {"endpoint", f.Endpoint != ""}, {"error", f.Error != ""},
		{"since", !f.Since.IsZero()}, {"until", !f.Until.IsZero()}, {"endedBefore", !f.EndedBefore.IsZero()},
	} {
		if field.set {
			names = append(names, field.name)
		}
	}

	return names
}

// MostIDs is how many ids a job may name.
const MostIDs = 1000

// mostSubjects is how many subjects a job may have.
const mostSubjects = 1_000_000

// New is a job to create.
type New struct {
	// Tenant owns the job and its subjects; "" is the default one.
	Tenant string
	Kind   Kind
	Filter Filter
	// IDs are the stored ids of the subjects. With ids the filter has only the handler, if the kind needs it, and since where
	// changes of orders are delivered.
	IDs    []string
	DryRun bool
	// Again also repeats effects of replayed changes that have happened.
	Again bool
	// Migration says how orders are migrated.
	Migration *Migration
	// Rate is the number of acts per second, 1 to 1000. Default: 10.
	Rate int
	// By is who asks for it, as the audit log names people. Reason is why, in 1 to [audit.MaxText] bytes.
	By, Reason string
}

// ErrInvalid says that a job breaks a rule. The text names it.
var ErrInvalid = errors.New("jobs")

func (n *New) check() error {
	if n.Rate == 0 {
		n.Rate = 10
	}

	r, known := rules[n.Kind]
	fault := ""

	switch {
	case !known:
		fault = fmt.Sprintf("kind %q: unknown", n.Kind)
	case r.shared && n.Tenant != "":
		fault = fmt.Sprintf("kind %s: only for the default tenant", n.Kind)
	case len(n.IDs) > MostIDs:
		fault = fmt.Sprintf("ids: at most %d", MostIDs)
	case r.whole && len(n.IDs) > 0:
		fault = fmt.Sprintf("ids: not for the kind %s", n.Kind)
	case r.migrates != (n.Migration != nil):
		fault = "migration: required to migrate orders, and not allowed for other kinds"
	case n.Migration != nil && n.Migration.fault() != "":
		fault = "migration: " + n.Migration.fault()
	case n.Again && n.Kind != ReplayStream:
		fault = "again: only to replay the stream"
	case r.selection(n) != "":
		fault = r.selection(n)
	case n.Rate < 1 || n.Rate > 1000:
		fault = fmt.Sprintf("rate %d: 1 to 1000", n.Rate)
	case n.Reason == "" || len(n.Reason) > audit.MaxText:
		fault = fmt.Sprintf("reason: 1 to %d bytes", audit.MaxText)
	}

	if fault != "" {
		return fmt.Errorf("%w: %s", ErrInvalid, fault)
	}

	return nil
}

// selection returns what is wrong with the filter of a job, "" if nothing is.
func (r rule) selection(n *New) string {
	set := n.Filter.fields()
	if r.always != "" && !slices.Contains(set, r.always) {
		return r.always + ": required for the kind " + string(n.Kind)
	}

	may := append([]string{r.always}, r.named...)

	if len(n.IDs) == 0 {
		may = append(append(may, r.takes...), r.needs)

		if r.needs != "" && !slices.Contains(set, r.needs) {
			return r.needs + ": required for the kind " + string(n.Kind) + " without ids"
		}

		if r.one && len(set) == 0 {
			return "a selection is required: ids, " + strings.Join(r.takes, " or ")
		}
	}

	for _, name := range set {
		if !slices.Contains(may, name) {
			return name + ": not for the kind " + string(n.Kind) + ", or not with ids"
		}
	}

	if f := n.Filter; !f.Since.IsZero() && !f.Until.IsZero() && !f.Until.After(f.Since) {
		return "until: must be after since"
	}

	return ""
}

// Shown is one subject of a job, with the code of its result.
type Shown struct {
	ID   string `json:"id"`
	Code string `json:"code"`
}

// Job is a stored job.
type Job struct {
	// ID names the job. Ids sort by the time of their creation.
	ID     string `json:"id"`
	Tenant string `json:"tenant,omitempty"`
	Kind   Kind   `json:"kind"`
	Filter Filter `json:"filter"`
	// IDs is how many ids the job was created with, 0 for a filter.
	IDs    int    `json:"ids,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
	Again  bool   `json:"again,omitempty"`
	Rate   int    `json:"rate"`
	By     string `json:"by"`
	Reason string `json:"reason"`

	State State `json:"state"`
	// Wanted is the state that a person has asked for and the owner has not come to yet.
	Wanted State `json:"wanted,omitempty"`
	// Problem is a code that says why the job has failed or is paused by itself.
	Problem string `json:"problem,omitempty"`
	// Selected says that all subjects are selected. Total is their number, Counts the number of results by
	// code.
	Selected bool           `json:"selected"`
	Total    int            `json:"total"`
	Counts   map[string]int `json:"counts"`
	// Sample are the first subjects of a dry run, and the first ones of another job whose act was not done.
	Sample []Shown `json:"sample,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// Owner is the process that runs the job until LeaseUntil. Epoch counts its owners.
	Owner      string    `json:"owner,omitempty"`
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	Epoch      int64     `json:"epoch"`

	Migration *Migration `json:"migration,omitempty"`

	place string // of the last row with a result
}

// Results is the number of subjects that have a result.
func (j Job) Results() int {
	sum := 0
	for _, n := range j.Counts {
		sum += n
	}

	return sum
}

// ActID names the act of the job on the subject. Every owner makes the same one.
func (j Job) ActID(subject string) string {
	digest := sha256.Sum256([]byte(j.ID + "\n" + subject))

	return j.ID + "-" + hex.EncodeToString(digest[:8])
}

// owned reports whether an owner holds the job at the time.
func (j Job) owned(now time.Time) bool { return j.Owner != "" && now.Before(j.LeaseUntil) }

// document is the part of a job that never changes, as JSON in one attribute.
type document struct {
	Kind      Kind
	Filter    Filter
	IDs       int
	DryRun    bool
	Again     bool       `json:",omitempty"`
	Migration *Migration `json:",omitempty"`
	Rate      int
	By        string
	Reason    string
	CreatedAt time.Time
}

// progress is the part of a job that its owner writes, as JSON in one attribute.
type progress struct {
	Selected bool           `json:",omitempty"`
	Total    int            `json:",omitempty"`
	Counts   map[string]int `json:",omitempty"`
	Sample   []Shown        `json:",omitempty"`
	Place    string         `json:",omitempty"`
}

func (j Job) progress() progress { return progress{j.Selected, j.Total, j.Counts, j.Sample, j.place} }

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types have no value that JSON cannot have
	}

	return string(b)
}

// The attributes of a job's item.
const (
	partitionKey = "partition"
	placeKey     = "place"
	docName      = "doc"
	progressName = "progress"
	stateName    = "state"
	wantedName   = "wanted"
	problemName  = "problem"
	epochName    = "epoch"
	ownerName    = "owner"
	leaseName    = "leaseUntil"
	endedName    = "endedAt"
	jobName      = "job"
	// ExpiryAttribute is the attribute of the table's time to live.
	ExpiryAttribute = "expiresAt"
)

const jobsOf = "jobs#"

func decode(item dynamo.Item) (Job, error) {
	var (
		d document
		p progress
	)
	if err := errors.Join(json.Unmarshal([]byte(dynamo.Text(item, docName)), &d), json.Unmarshal([]byte(dynamo.Text(item, progressName)), &p)); err != nil {
		return Job{}, fmt.Errorf("jobs: read job %s: %w", dynamo.Text(item, placeKey), err)
	}

	if p.Counts == nil {
		p.Counts = map[string]int{}
	}

	return Job{
		ID: dynamo.Text(item, placeKey), Tenant: strings.TrimPrefix(dynamo.Text(item, partitionKey), jobsOf),
		Kind: d.Kind, Filter: d.Filter, IDs: d.IDs, DryRun: d.DryRun, Again: d.Again, Migration: d.Migration, Rate: d.Rate, By: d.By, Reason: d.Reason, CreatedAt: d.CreatedAt,
		State: State(dynamo.Text(item, stateName)), Wanted: State(dynamo.Text(item, wantedName)), Problem: dynamo.Text(item, problemName),
		Selected: p.Selected, Total: p.Total, Counts: p.Counts, Sample: p.Sample, place: p.Place,
		EndedAt: dynamo.Time(item, endedName), Owner: dynamo.Text(item, ownerName), LeaseUntil: dynamo.Time(item, leaseName), Epoch: dynamo.Number(item, epochName),
	}, nil
}
