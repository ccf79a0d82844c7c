package machines

import "ratchet/embedded/internal/stepfunctions/execution"

// Target is the machine and revision that an ARN starts: a machine's current revision, or a version. The
// ARN names the version itself or an alias that chooses it.
type Target struct {
	Machine  *Machine
	Revision uint64
	Version  uint64 // 0 without one
	Alias    string // "" without one
}

// Started reports whether an execution of the machine belongs to the target. A machine has all its
// executions, a version or an alias only those executions that it has started.
func (t Target) Started(st *execution.State) bool {
	switch {
	case t.Alias != "":
		return st.Alias == t.Alias
	case t.Version != 0:
		return st.Version == t.Version
	default:
		return true
	}
}

// Target returns the target of an ARN of a machine, version or alias.
func (c *Catalog) Target(arn string) (Target, error) {
	name, qualifier, ours, err := c.account.Qualified(arn)
	if err != nil {
		return Target{}, err
	}

	m := c.Lookup(name)
	if m == nil || !ours {
		return Target{}, doesNotExist(arn)
	}

	t := Target{Machine: m, Revision: m.Revision}
	if qualifier == "" {
		return t, nil
	}

	v := m.versionNumbered(qualifier)
	// Names of aliases are never numbers, so at most one of the two look-ups finds something.
	if a := m.aliasNamed(qualifier); a != nil {
		number := a.pick(c.random.IntN(100))
		t.Alias, v = a.Name, m.findVersion(func(v *version) bool { return v.Number == number })
	}

	if v == nil {
		return Target{}, doesNotExist(arn)
	}

	t.Version, t.Revision = v.Number, v.Revision

	return t, nil
}
