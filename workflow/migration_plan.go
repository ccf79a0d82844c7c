package workflow

import (
	"cmp"
	"fmt"
	"slices"
)

// MigrationPlan says how orders change under another version.
type MigrationPlan struct {
	To int `json:"to"`
	// Rows are sorted: without a mapping first, then by version and state. States
	// without orders are left out.
	Rows []MigrationRow `json:"rows"`
	// Orders counts all orders, Outdated the orders of other versions that have a
	// mapping, and Unmapped the orders without one.
	Orders   int `json:"orders"`
	Outdated int `json:"outdated"`
	Unmapped int `json:"unmapped"`
}

// MigrationRow is the orders of one version in one state.
type MigrationRow struct {
	Version int   `json:"version"`
	State   State `json:"state"`
	Orders  int   `json:"orders"`
	// To is the state that they get. It is "" if there is none, and Problem says why.
	To      State  `json:"to,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Reopens says that the old state is terminal and the new one is not. Ends says the opposite.
	Reopens bool `json:"reopens,omitempty"`
	Ends    bool `json:"ends,omitempty"`
}

// Plan returns the changes of orders, counted by version and state, under the version to. Version 0 stands
// for orders without a version, which count as orders of version to. An unknown version to is an error.
func (m *Migrations) Plan(to int, counts map[int]map[State]int) (MigrationPlan, error) {
	plan := MigrationPlan{To: to}
	if m.versions[to] == nil {
		return plan, fmt.Errorf("migration plan: version %d is not known", to)
	}

	for version, states := range counts {
		for s, orders := range states {
			if orders == 0 {
				continue
			}

			row := m.planRow(version, to, s)
			row.Orders = orders
			plan.Rows = append(plan.Rows, row)

			plan.Orders += orders
			// Orders without a version count as orders of version to, so they are not outdated.
			switch {
			case row.Problem != "":
				plan.Unmapped += orders
			case version != 0 && version != to:
				plan.Outdated += orders
			}
		}
	}

	slices.SortFunc(plan.Rows, func(a, b MigrationRow) int {
		// Rows with a problem come first: they need a person.
		mapped := func(r MigrationRow) int { return min(len(r.To), 1) }

		return cmp.Or(
			cmp.Compare(mapped(a), mapped(b)),
			cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.State, b.State),
		)
	})

	return plan, nil
}

// planRow returns the change of the orders of a version in a state.
func (m *Migrations) planRow(version, to int, s State) MigrationRow {
	row := MigrationRow{Version: version, State: s}

	from := version
	if from == 0 {
		from = to
	}

	next, err := m.Map(from, to, s)
	if err != nil {
		row.Problem = err.Error()
		return row
	}

	ended, ends := m.versions[from].Terminal(s), m.versions[to].Terminal(next)
	row.To = next
	row.Reopens = ended && !ends
	row.Ends = !ended && ends

	return row
}
