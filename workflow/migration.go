package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Migration maps the states of one version of a definition to the states of another.
type Migration struct {
	// From and To are versions of the same definition.
	From, To int
	// States maps states of From to states of To. A state that is not listed keeps
	// its name if To has it; if not, its orders have no mapping.
	States map[State]State
	// Position is the file and line that the mapping was read from, like
	// "migrations.yaml:2". It begins the errors of [NewMigrations]. It may be empty.
	Position string
}

// Migrations are the known versions of a definition and the mappings between them.
type Migrations struct {
	versions map[int]*Definition
	steps    map[int][]Migration // by From, sorted by To
}

// NewMigrations checks mappings against the versions. It refuses a duplicate version, a
// definition with another name, a mapping of a version to itself, from or to an unknown
// version or state, and two mappings between the same versions.
func NewMigrations(versions []*Definition, steps []Migration) (*Migrations, error) {
	m := &Migrations{
		versions: map[int]*Definition{},
		steps:    map[int][]Migration{},
	}

	for _, d := range versions {
		if m.versions[d.Version()] != nil {
			return nil, fmt.Errorf("migrations: version %d is there twice", d.Version())
		}

		if d.Name() != versions[0].Name() {
			return nil, fmt.Errorf("migrations: %s and %s are different workflows", versions[0].Name(), d.Name())
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
		return errors.New("a version needs no mapping to itself")
	case from == nil:
		return fmt.Errorf("version %d is not known", s.From)
	case to == nil:
		return fmt.Errorf("version %d is not known", s.To)
	}

	// Sorted, so that the same fault is always the first one.
	for _, old := range slices.Sorted(maps.Keys(s.States)) {
		if !from.HasState(old) {
			return fmt.Errorf("version %d has no state %s", s.From, old)
		}

		if !to.HasState(s.States[old]) {
			return fmt.Errorf("%s becomes %q, which version %d does not have", old, s.States[old], s.To)
		}
	}

	if slices.ContainsFunc(m.steps[s.From], func(known Migration) bool { return known.To == s.To }) {
		return errors.New("there are two")
	}

	s.States = maps.Clone(s.States)
	m.steps[s.From] = append(m.steps[s.From], s)
	// Sorted, so that the choice between two shortest ways is always the same.
	slices.SortFunc(m.steps[s.From], func(a, b Migration) int { return cmp.Compare(a.To, b.To) })

	return nil
}

// Map returns the state in version to for an order of version from in state s. It follows the way with the
// fewest mappings. The error names the first mapping that has no state for the order.
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

	steps := m.path(from, to)
	if steps == nil {
		return "", fmt.Errorf("no migration leads from version %d to %d", from, to)
	}

	for _, step := range steps {
		next, listed := step.States[s]
		// A state that is not listed keeps its name.
		if !listed {
			next = s
		}

		if !m.versions[step.To].HasState(next) {
			return "", fmt.Errorf("version %d has no state %s, and the migration from version %d does not say what becomes of it",
				step.To, s, step.From)
		}

		s = next
	}

	return s, nil
}

// path returns the fewest mappings from one version to another, nil if none lead there.
func (m *Migrations) path(from, to int) []Migration {
	type reached struct {
		version int
		steps   []Migration
	}

	seen := map[int]bool{from: true}
	for queue := []reached{{version: from}}; len(queue) > 0; queue = queue[1:] {
		for _, s := range m.steps[queue[0].version] {
			// A clone, because several ways go on from the same beginning.
			steps := append(slices.Clone(queue[0].steps), s)
			if s.To == to {
				return steps
			}

			if !seen[s.To] {
				seen[s.To] = true
				queue = append(queue, reached{version: s.To, steps: steps})
			}
		}
	}

	return nil
}
