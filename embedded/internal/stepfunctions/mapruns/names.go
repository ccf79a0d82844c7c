package mapruns

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

// NewName returns the number and the name of a new Map Run. The name ends with the number,
// which leads from the ARN to the record.
func (l *Book) NewName(machine string, state *asl.State) (uint64, string, error) {
	id, err := l.ids.Next()
	if err != nil {
		return 0, "", err
	}

	x := l.random.Uint64()

	return id, fmt.Sprintf("%s:%08x-%04x-4%03x-8%03x-%012x", labelOf(machine, state),
		x>>32, x>>16&0xffff, x&0xfff, l.random.Uint64()&0xfff, id), nil
}

func (l *Book) ARN(r *Run) string { return l.account.ARN("mapRun", r.Machine) + "/" + r.Name }

// Named returns the Map Run with an ARN. It fails with ResourceNotFound.
func (l *Book) Named(arn string) (keys.Run, *Run, error) {
	rest, ours, err := l.account.Name(arn, "mapRun")
	if err != nil {
		return keys.Run{}, nil, err
	}

	missing := &wire.Error{
		Type:    "ResourceNotFound",
		Message: fmt.Sprintf("Map Run Does Not Exist: '%s'", arn),
		Members: map[string]any{"resourceName": arn},
	}
	machine, name, _ := strings.Cut(rest, "/")

	m := l.machines.Lookup(machine)
	if m == nil || !ours || len(name) < 12 {
		return keys.Run{}, nil, missing
	}

	id, err := strconv.ParseUint(name[len(name)-12:], 16, 64)
	if err != nil {
		return keys.Run{}, nil, missing
	}

	k := keys.Run{Machine: m.ID, ID: id}

	r, err := l.Load(k)
	if err != nil {
		return k, nil, err
	}

	// The number alone does not make the ARN right: label and name must be the Map Run's, too.
	if r == nil || r.Name != name {
		return k, nil, missing
	}

	return k, r, nil
}

// Origin is where an execution comes from: its machine and, for a child, its Map Run.
type Origin struct {
	Machine string // the name
	Run     *Run
}

// Origin returns the origin of an execution of the machine with that name.
func (l *Book) Origin(machine string, st *execution.State) (Origin, error) {
	o := Origin{Machine: machine}
	if st.Child == nil {
		return o, nil
	}

	var err error
	if o.Run, err = l.Load(runOf(st.Child)); err == nil && o.Run == nil {
		err = fmt.Errorf("the Map Run %d of an execution is missing", st.Child.Run)
	}

	return o, err
}

// MachineARN returns the ARN of the execution's machine.
func (l *Book) MachineARN(o Origin) string {
	if o.Run == nil {
		return l.account.ARN("stateMachine", o.Machine)
	}

	return l.account.ARN("stateMachine", arns.Labeled(o.Machine, o.Run.Label()))
}

// ExecutionARN returns the ARN of an execution.
func (l *Book) ExecutionARN(o Origin, name string) string {
	if o.Run == nil {
		return l.account.Execution(o.Machine, name)
	}

	return l.account.Child(o.Machine, o.Run.Label(), name, o.Run.Express)
}

// ParentARN returns the ARN of the execution that has started a Map Run.
func (l *Book) ParentARN(r *Run) string {
	if r.ParentLabel == "" {
		return l.account.Execution(r.Machine, r.ParentName)
	}

	return l.account.Child(r.Machine, r.ParentLabel, r.ParentName, false)
}
