package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"ratchet/workflow/diagram"
)

// rates is the answer of GET /v1/rates.
type rates struct {
	Since, ReadAt moment
	Minutes       []minute
	Decided       []struct {
		Event, Verdict string
		Count          int64
	}
	Others int64
}

type minute struct {
	At                                                                    moment
	Placed, Applied, Replayed, Refused, Records, DeadLetters              int64
	Deliveries, Requests, Throttled, ReadUnits, WriteUnits, BehindSeconds int64
}

// full returns the minutes that are over.
func (r rates) full() []minute {
	if n := len(r.Minutes); n > 0 {
		return r.Minutes[:n-1]
	}

	return nil
}

// values returns one number of each full minute.
func (r rates) values(of func(minute) int64) (all []int64) {
	for _, m := range r.full() {
		all = append(all, of(m))
	}

	return all
}

func (r rates) ends() (all []time.Time) {
	for _, m := range r.full() {
		all = append(all, m.At.Time)
	}

	return all
}

// plots are those of the overview.
func (r rates) plots() []plot {
	return []plot{
		{"Requests by verdict", "a minute", []series{
			{"applied", "good", r.values(func(m minute) int64 { return m.Applied })},
			{"refused", "bad", r.values(func(m minute) int64 { return m.Refused })},
			{"repeated", "soft", r.values(func(m minute) int64 { return m.Replayed })},
		}},
		{"Orders placed", "a minute", []series{{"placed", "", r.values(func(m minute) int64 { return m.Placed })}}},
		{"Behind the stream", "s", []series{{"behind", "warn", r.values(func(m minute) int64 { return m.BehindSeconds })}}},
		{"Deliveries", "a minute", []series{
			{"delivered", "good", r.values(func(m minute) int64 { return m.Deliveries })},
			{"dead letters", "bad", r.values(func(m minute) int64 { return m.DeadLetters })},
		}},
		{"Capacity units", "a minute", []series{
			{"read", "", r.values(func(m minute) int64 { return m.ReadUnits })},
			{"write", "warn", r.values(func(m minute) int64 { return m.WriteUnits })},
		}},
		{"Throttled calls", "a minute", []series{{"throttled", "bad", r.values(func(m minute) int64 { return m.Throttled })}}},
	}
}

// verdictColumns are the verdicts in the order of the page: those that refuse first.
var verdictColumns = []string{"WrongState", "Conflict", "Illegal", "NotFound", "Superseded", "Replayed", "Applied"}

// decidedRow is an event with its numbers by verdict.
type decidedRow struct {
	event   string
	refused int64
	counts  []int64 // as verdictColumns
}

// matrix has a row for each event, the most refused ones first.
func (r rates) matrix() (rows []decidedRow) {
	for _, d := range r.Decided {
		i := slices.IndexFunc(rows, func(row decidedRow) bool { return row.event == d.Event })
		if i < 0 {
			i = len(rows)
			rows = append(rows, decidedRow{event: d.Event, counts: make([]int64, len(verdictColumns))})
		}

		column := slices.Index(verdictColumns, d.Verdict)
		if column < 0 {
			continue
		}
		rows[i].counts[column] += d.Count

		if d.Verdict != "Applied" && d.Verdict != "Replayed" {
			rows[i].refused += d.Count
		}
	}
	slices.SortFunc(rows, func(a, b decidedRow) int {
		return cmp.Or(cmp.Compare(b.refused, a.refused), cmp.Compare(a.event, b.event))
	})

	return rows
}

func refusalsOf(ctx context.Context, v *visit) (content, error) {
	var r rates
	if err := v.get(ctx, "/v1/rates", &r); err != nil {
		return content{}, err
	}

	return content{"Refusals", refusalsPage(r)}, nil
}

// orderCounts is the answer of GET /v1/order-counts.
type orderCounts struct {
	Counts []struct {
		State   string
		Version int
		Orders  int64
	}
	Orders, Error   int64
	CountedAt, UpTo moment
}

// byState are the numbers of all versions.
func (c orderCounts) byState() map[string]int64 {
	all := map[string]int64{}
	for _, n := range c.Counts {
		all[n.State] += n.Orders
	}

	return all
}

// versions are the versions that have orders.
func (c orderCounts) versions() (all []int) {
	for _, n := range c.Counts {
		if !slices.Contains(all, n.Version) {
			all = append(all, n.Version)
		}
	}
	slices.Sort(all)

	return all
}

// paint writes the numbers into the states.
func (c orderCounts) paint() diagram.Paint {
	p := diagram.Paint{Nodes: map[string]string{}, Notes: map[string]string{}}

	for state, n := range c.byState() {
		p.Nodes[state] = "some"
		p.Notes[state] = thousands(n)
	}

	return p
}

// states are the states with orders, in the order of the definition, and then those that it lacks.
func (c orderCounts) states(d definition) (all []string) {
	by := c.byState()
	for _, s := range d.States {
		if by[s.State] > 0 {
			all = append(all, s.State)
		}
	}

	for _, n := range c.Counts {
		if !slices.Contains(all, n.State) {
			all = append(all, n.State)
		}
	}

	return all
}

// of returns the number of a state and version.
func (c orderCounts) of(state string, version int) (sum int64) {
	for _, n := range c.Counts {
		if n.State == state && n.Version == version {
			sum += n.Orders
		}
	}

	return sum
}

func versionName(version int) string {
	if version == 0 {
		return "no version"
	}

	return fmt.Sprint("version ", version)
}
