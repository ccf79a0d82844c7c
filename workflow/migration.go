package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Migration says what becomes of the orders of one version under another.
type Migration struct {
	// From and To are versions of the same definition.
	From, To int
	// States maps states of From to states of To. A state that is not listed keeps
	// its name if To has it; if not, its orders have no mapping.
	States map[State]State
	// Position is the file and line that the mapping was read from, as in
	// "migrations.yaml:2". It begins the errors of [NewMigrations]. It may be empty.
	Position string
}

// Migrations are the known versions of a definition and the ways between them.
type Migrations struct {
	versions map[int]*Definition
	steps    map[int][]Migration // by From, nearest To last
}

// NewMigrations checks the mappings against the versions. It refuses a version twice,
// another definition's name, a mapping of a version to itself, from or to an unknown
// version or state, and the same pair twice.
func NewMigrations(versions []*Definition, steps []Migration) (*Migrations, error) {
	m := &Migrations{versions: map[int]*Definition{}, steps: map[int][]Migration{}}
	for _, d := range versions {
		if m.versions[d.Version()] != nil {
			return nil, fmt.Errorf("migrations: version %d is there twice", d.Version())
		}

		if d.Name() != versions[0].Name() {
			return nil, fmt.Errorf("migrations: workflows %s and %s have nothing to do with each other", versions[0].Name(), d.Name())
		}
		m.versions[d.Version()] = d
	}

	for _, s := range steps {
		if err := m.add(s); err != nil {
			err = fmt.Errorf("migration from version %d to %d: %w", s.From, s.To, err)
			if s.Position != "" {
				err = fmt.Errorf("%s: %w", s.Position, err)
			}

			return nil, err
		}
	}

	return m, nil
}

func (m *Migrations) add(s Migration) error {
	from, to := m.versions[s.From], m.versions[s.To]
	switch {
	case s.From == s.To:
		return fmt.Errorf("a version needs no way to itself")
	case from == nil:
		return fmt.Errorf("version %d is not known", s.From)
	case to == nil:
		return fmt.Errorf("version %d is not known", s.To)
	}

	for _, old := range slices.Sorted(maps.Keys(s.States)) {
		if !from.HasState(old) {
			return fmt.Errorf("version %d has no state %s", s.From, old)
		}

		if !to.HasState(s.States[old]) {
			return fmt.Errorf("%s becomes %q, which version %d does not have", old, s.States[old], s.To)
		}
	}

	if slices.ContainsFunc(m.steps[s.From], func(known Migration) bool { return known.To == s.To }) {
		return fmt.Errorf("there are two")
	}
	s.States = maps.Clone(s.States)
	m.steps[s.From] = append(m.steps[s.From], s)
	slices.SortFunc(m.steps[s.From], func(a, b Migration) int { return cmp.Compare(a.To, b.To) })

	return nil
}

// way finds the fewest steps from one version to another, nil when there is none.
func (m *Migrations) way(from, to int) []Migration {
	type reached struct {
		version int
		steps   []Migration
	}
	seen := map[int]bool{from: true}
	for queue := []reached{{from, nil}}; len(queue) > 0; queue = queue[1:] {
		for _, s := range m.steps[queue[0].version] {
			steps := append(slices.Clone(queue[0].steps), s)
			if s.To == to {
				return steps
			}

			if !seen[s.To] {
				seen[s.To] = true
				queue = append(queue, reached{s.To, steps})
			}
		}
	}

	return nil
}

// Map returns what the state of an order of version from is in version to. The error
// says which step has no answer.
func (m *Migrations) Map(from, to int, s State) (State, error) {
	old := m.versions[from]
	switch {
	case old == nil:
		return "", fmt.Errorf("version %d is not known", from)
	case m.versions[to] == nil:
		return "", fmt.Errorf("version %d is not known", to)
	case !old.HasState(s):
		return "", fmt.Errorf("version %d has no state %q", from, s)
	case from == to:
		return s, nil
	}

	steps := m.way(from, to)
	if steps == nil {
		return "", fmt.Errorf("no migration leads from version %d to %d", from, to)
	}

	for _, step := range steps {
		next, listed := step.States[s]
		if !listed {
			next = s
			if !m.versions[step.To].HasState(s) {
				return "", fmt.Errorf("version %d has no state %s, and the migration from version %d does not say what becomes of it", step.To, s, step.From)
			}
		}
		s = next
	}

	return s, nil
}

// MigrationRow is the orders of one version in one state.
type MigrationRow struct {
	Version int   `json:"version"`
	State   State `json:"state"`
	Orders  int   `json:"orders"`
	// To is the state that they get, "" when Problem says why there is none.
	To      State  `json:"to,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Reopens: the old state is an end and the new one is not. Ends: the other way round.
	Reopens bool `json:"reopens,omitempty"`
	Ends    bool `json:"ends,omitempty"`
}

// MigrationPlan is what [Migrations.Plan] finds.
type MigrationPlan struct {
	To int `json:"to"`
	// Rows are sorted: without a mapping first, then by version and state. States
	// without orders are left out.
	Rows []MigrationRow `json:"rows"`
	// Orders counts all, Outdated those of other versions that have a mapping, Unmapped
	// those without one.
	Orders   int `json:"orders"`
	Outdated int `json:"outdated"`
	Unmapped int `json:"unmapped"`
}

// Plan lists what would become of the orders, counted by version and state, under
// the version to. It changes nothing.
func (m *Migrations) Plan(to int, counts map[int]map[State]int) (MigrationPlan, error) {
	plan := MigrationPlan{To: to}
	target := m.versions[to]
	if target == nil {
		return plan, fmt.Errorf("migration plan: version %d is not known", to)
	}

	for version, states := range counts {
		for s, n := range states {
			if n == 0 {
				continue
			}
			row := MigrationRow{Version: version, State: s, Orders: n}

			from := version
			if from == 0 { // orders that others have created are taken for the target's
				from = to
			}

			next, err := m.Map(from, to, s)
			if err != nil {
				row.Problem = err.Error()
				plan.Unmapped += n
			} else {
				ended := m.versions[from].Terminal(s)
				row.To, row.Reopens, row.Ends = next, ended && !target.Terminal(next), !ended && target.Terminal(next)
			}

			if err == nil && from != to {
				plan.Outdated += n
			}
			plan.Orders += n
			plan.Rows = append(plan.Rows, row)
		}
	}
	slices.SortFunc(plan.Rows, func(a, b MigrationRow) int {
		mapped := func(r MigrationRow) int { return min(len(r.To), 1) }
		return cmp.Or(cmp.Compare(mapped(a), mapped(b)), cmp.Compare(a.Version, b.Version), cmp.Compare(a.State, b.State))
	})

	return plan, nil
}
