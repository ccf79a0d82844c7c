package processes

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"ratchet/internal/dynamo"
)

// State says what a reader has found out about a process.
type State string

// The states of processes.
const (
	// Live: the beat has changed, or the row's time is less than 35 s old.
	Live State = "live"
	// Missing: the beat has not changed for too long, and the process has not ended.
	Missing State = "missing"
	// Ended: the process was stopped.
	Ended State = "ended"
	// Failed: the process ended with an error.
	Failed State = "failed"
	// Unknown: a [Watcher] has not looked long enough to decide.
	Unknown State = "unknown"
)

// Report is a process's description of itself.
type Report struct {
	// Name is the name for people, such as "worker".
	Name string `json:"name"`
	// Parts are what runs in the process, such as "worker" and "api".
	Parts []string `json:"parts"`
	Ready bool     `json:"ready"`
	// Versions are the versions of the orders' definition that the process moves, its own first. Empty: the
	// process moves no orders, or does not say.
	Versions []int `json:"versions,omitempty"`
	// Reason says why the process is not ready, in up to 200 bytes.
	Reason string `json:"reason,omitempty"`
	// Counters count the work of the process since its start.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Polls are the seconds since the last good answer of each poller, at most 8 of them.
	Polls map[string]int64 `json:"polls,omitempty"`
	// Behind is the age in seconds of the oldest record of the orders' stream for which the process has begun nothing,
	// in the shards that it reads; 0 if it reads none.
	Behind int64 `json:"behind,omitempty"`
	// Figures says that the process writes the figures of CloudWatch's alarms.
	Figures bool `json:"figures,omitempty"`
	// Failure is the error with which the process ends, in up to 200 bytes.
	Failure string `json:"failure,omitempty"`
}

// Process is the row of a process. Times are by the clock of its host, and only to be shown.
type Process struct {
	// ID is random, a new one for each start.
	ID      string `json:"id"`
	Host    string `json:"host"`
	Version string `json:"version"`
	Report
	// Rates are the counters' increases per second over the last minute. Counters that did not
	// increase have none.
	Rates     map[string]float64 `json:"rates,omitempty"`
	StartedAt time.Time          `json:"startedAt"`
	// Beat is the number of the newest heartbeat, BeatAt when it was sent.
	Beat    int64     `json:"beat"`
	BeatAt  time.Time `json:"beatAt"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	// State is set by the reader.
	State State `json:"state"`
}

// Runs reports whether the part runs in the process.
func (p Process) Runs(part string) bool { return p.State == Live && slices.Contains(p.Parts, part) }

// Names returns a name for people for each process: its name, with its id if another process has
// the same name.
func Names(all []Process) []string {
	count := map[string]int{}
	for _, p := range all {
		count[p.Name]++
	}

	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
		if count[p.Name] > 1 {
			names[i] = strings.TrimSpace(p.Name + " " + p.ID)
		}
	}

	return names
}

// The attributes of the table. ExpiryAttribute is the attribute of the table's time to live.
const (
	kindKey         = "kind"
	idKey           = "id"
	beatAttribute   = "beat"
	bodyAttribute   = "body"
	ExpiryAttribute = "expiresAt"
)

const processKind = "process"

const (
	// maxBody bounds the JSON of a row, so that the row fits into one write unit of 1 KB.
	maxBody = 900
	// maxText bounds reason and failure, maxName the host, the name and the version, in bytes.
	maxText = 200
	maxName = 60
	// maxPolls is how many pollers a row shows.
	maxPolls = 8
	// maxParts is how many parts a row shows, with maxPart bytes of the name of each.
	maxParts = 8
	maxPart  = 20
)

// item returns the process as it is stored. It cuts texts and names that are too long. If the row
// is still too large, it drops the pollers, then the counters, then the rates, which readers miss
// most.
func (p Process) item() (dynamo.Item, error) {
	// The state is the reader's judgment, so the row has none.
	p.State = ""
	p.Name, p.Host, p.Version = cut(p.Name, maxName), cut(p.Host, maxName), cut(p.Version, maxName)
	p.Reason, p.Failure = cut(p.Reason, maxText), cut(p.Failure, maxText)
	p.Polls = firstOf(p.Polls, maxPolls)

	parts := make([]string, min(len(p.Parts), maxParts))
	for i := range parts {
		parts[i] = cut(p.Parts[i], maxPart)
	}
	p.Parts = parts

	// Rows over 1 KB would cost two write units per heartbeat. Most rows fit, so the first step
	// drops nothing.
	var body string

	for _, drop := range []func(){
		func() {},
		func() { p.Polls = nil },
		func() { p.Reason, p.Failure = cut(p.Reason, maxText/2), cut(p.Failure, maxText/2) },
		func() { p.Counters = nil },
		func() { p.Rates = nil },
		func() { p.Reason, p.Failure = cut(p.Reason, maxText/8), cut(p.Failure, maxText/8) },
	} {
		drop()

		var text strings.Builder

		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // it would make six bytes of one

		if err := encoder.Encode(p); err != nil {
			return nil, fmt.Errorf("processes: row of %s: %w", p.ID, err)
		}
		body = strings.TrimSpace(text.String())

		if len(body) <= maxBody {
			break
		}
	}

	return dynamo.Item{
		kindKey:         dynamo.S(processKind),
		idKey:           dynamo.S(p.ID),
		beatAttribute:   dynamo.N(p.Beat),
		bodyAttribute:   dynamo.S(body),
		ExpiryAttribute: dynamo.Seconds(p.BeatAt.Add(retention)),
	}, nil
}

// processOf decodes a row. JSON skips fields of a newer version.
func processOf(item dynamo.Item) (Process, error) {
	p := Process{}
	if err := json.Unmarshal([]byte(dynamo.Text(item, bodyAttribute)), &p); err != nil {
		return p, fmt.Errorf("processes: row of %q: %w", dynamo.Text(item, idKey), err)
	}
	p.ID, p.Beat = dynamo.Text(item, idKey), dynamo.Number(item, beatAttribute)

	return p, nil
}

// cut returns the text with at most n bytes, whole characters only, and on one line.
func cut(text string, n int) string {
	return dynamo.Cut(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text), n)
}

// firstOf returns up to n elements, by name.
func firstOf(all map[string]int64, n int) map[string]int64 {
	if len(all) <= n {
		return all
	}

	first := map[string]int64{}
	for _, name := range slices.Sorted(maps.Keys(all))[:n] {
		first[name] = all[name]
	}

	return first
}

// sample is the counters at a moment.
type sample struct {
	at       time.Time // with a monotonic reading
	counters map[string]int64
}

// rates returns the increases per second from one sample to another, in steps of 0.01.
func rates(from, to sample) map[string]float64 {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return nil
	}

	found := map[string]float64{}

	for name, count := range to.counters {
		// Lower rates would round to 0.00.
		if rate := float64(count-from.counters[name]) / seconds; rate >= 0.005 {
			found[name] = math.Round(rate*100) / 100
		}
	}

	return found
}
