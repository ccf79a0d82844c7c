package stepfunctions

import "ratchet/embedded/internal/stepfunctions/execution"

// target is the machine and revision that an ARN starts: a machine's current revision, or a version. The
// ARN names the version itself or an alias that chooses it.
type target struct {
	machine  *machine
	revision uint64
	version  uint64 // 0 without one
	alias    string // "" without one
}

// started reports whether an execution of the machine belongs to the target. A machine has all its
// executions, a version or an alias only those executions that it has started.
func (t target) started(st *execution.State) bool {
	switch {
	case t.alias != "":
		return st.Alias == t.alias
	case t.version != 0:
		return st.Version == t.version
	default:
		return true
	}
}

// startTarget returns the target of an ARN of a machine, version or alias.
func (s *Service) startTarget(arn string) (target, error) {
	name, qualifier, ours, err := s.account.Qualified(arn)
	if err != nil {
		return target{}, err
	}

	m := s.lookup(name)
	if m == nil || !ours {
		return target{}, machineDoesNotExist(arn)
	}

	t := target{machine: m, revision: m.Revision}
	if qualifier == "" {
		return t, nil
	}

	v := m.versionNumbered(qualifier)
	// Names of aliases are never numbers, so at most one of the two look-ups finds something.
	if a := m.aliasNamed(qualifier); a != nil {
		number := a.pick(s.random.IntN(100))
		t.alias, v = a.Name, m.findVersion(func(v *version) bool { return v.Number == number })
	}

	if v == nil {
		return target{}, machineDoesNotExist(arn)
	}

	t.version, t.revision = v.Number, v.Revision

	return t, nil
}
