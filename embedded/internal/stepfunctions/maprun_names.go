package stepfunctions

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/wire"
)

// childNameKey returns the key of the name of an execution that a Map Run has started; the
// label is "" for other executions.
func childNameKey(machine uint64, label, name string) []byte {
	if label == "" {
		return keys.ExecutionName(machine, name)
	}

	return keys.ExecutionName(machine, label+"/"+name)
}

// labelOf returns the label of a Map. Without a label in the definition, it is computed from the names of
// the machine and the state.
func labelOf(machine string, state *asl.State) string {
	if label := state.Distributed.Label; label != "" {
		return label
	}

	// A hash and not a random number, so that all executions of the machine compute the same label.
	sum := sha256.Sum256([]byte(machine + "/" + state.Name))

	return arns.UUID(sum[:16])
}

// newRunName returns the number and the name of a new Map Run. The name ends with the number,
// which leads from the ARN to the record.
func (s *Service) newRunName(machine string, state *asl.State) (uint64, string, error) {
	id, err := s.ids.Next()
	if err != nil {
		return 0, "", err
	}

	x := s.random.Uint64()

	return id, fmt.Sprintf("%s:%08x-%04x-4%03x-8%03x-%012x", labelOf(machine, state),
		x>>32, x>>16&0xffff, x&0xfff, s.random.Uint64()&0xfff, id), nil
}

func (s *Service) runARN(r *mapRun) string { return s.account.ARN("mapRun", r.Machine) + "/" + r.Name }

// runNamed returns the Map Run with an ARN. It fails with ResourceNotFound.
func (s *Service) runNamed(arn string) (keys.Run, *mapRun, error) {
	rest, ours, err := s.account.Name(arn, "mapRun")
	if err != nil {
		return keys.Run{}, nil, err
	}

	missing := &wire.Error{
		Type:    "ResourceNotFound",
		Message: fmt.Sprintf("Map Run Does Not Exist: '%s'", arn),
		Members: map[string]any{"resourceName": arn},
	}
	machine, name, _ := strings.Cut(rest, "/")

	m := s.machines.Lookup(machine)
	if m == nil || !ours || len(name) < 12 {
		return keys.Run{}, nil, missing
	}

	id, err := strconv.ParseUint(name[len(name)-12:], 16, 64)
	if err != nil {
		return keys.Run{}, nil, missing
	}

	k := keys.Run{Machine: m.ID, ID: id}

	r, err := s.loadRun(k)
	if err != nil {
		return k, nil, err
	}

	// The number alone does not make the ARN right: label and name must be the Map Run's, too.
	if r == nil || r.Name != name {
		return k, nil, missing
	}

	return k, r, nil
}

// origin is where an execution comes from: its machine and, for a child, its Map Run.
type origin struct {
	machine string // the name
	run     *mapRun
}

// originOf returns the origin of an execution of the machine with that name.
func (s *Service) originOf(machine string, st *execution.State) (origin, error) {
	o := origin{machine: machine}
	if st.Child == nil {
		return o, nil
	}

	var err error
	if o.run, err = s.loadRun(runOf(st.Child)); err == nil && o.run == nil {
		err = fmt.Errorf("the Map Run %d of an execution is missing", st.Child.Run)
	}

	return o, err
}

// machineARN returns the ARN of the execution's machine.
func (s *Service) machineARN(o origin) string {
	if o.run == nil {
		return s.account.ARN("stateMachine", o.machine)
	}

	return s.account.ARN("stateMachine", arns.Labeled(o.machine, o.run.label()))
}

// originARN returns the ARN of an execution.
func (s *Service) originARN(o origin, name string) string {
	if o.run == nil {
		return s.account.Execution(o.machine, name)
	}

	return s.account.Child(o.machine, o.run.label(), name, o.run.Express)
}

// parentARN returns the ARN of the execution that has started a Map Run.
func (s *Service) parentARN(r *mapRun) string {
	if r.ParentLabel == "" {
		return s.account.Execution(r.Machine, r.ParentName)
	}

	return s.account.Child(r.Machine, r.ParentLabel, r.ParentName, false)
}
