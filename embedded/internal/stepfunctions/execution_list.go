package stepfunctions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// listExecutions lists a machine's executions, newest first.
func (s *Service) listExecutions(_ context.Context, in *struct {
	StateMachineArn, StatusFilter, RedriveFilter, MapRunArn, NextToken string
	MaxResults                                                         int
}) (any, error) {
	// The API model comes first, then the ARN.
	size, err := pages.Size(in.MaxResults)
	if err != nil {
		return nil, err
	}

	keep, err := redriveFilter(in.RedriveFilter)
	if err != nil {
		return nil, err
	}

	// Source: LocalStack's recordings of AWS (test_state_machine_status_filter)
	err = wire.OneOf(in.StatusFilter, "statusFilter", "SUCCEEDED", "TIMED_OUT", pendingRedrive, "ABORTED", "FAILED", "RUNNING")
	if err != nil {
		return nil, err
	}

	from, err := s.listSource(in.StateMachineArn, in.MapRunArn)
	if err != nil {
		return nil, err
	}

	before := ^uint64(0)
	if in.NextToken != "" {
		if before, err = pages.Read(in.NextToken, keys.Running, from.number); err != nil {
			return nil, err
		}
	}

	of := func(st *execution.State) bool { return keep(st) && from.keep(st) }

	var found []listed
	var more bool

	if in.StatusFilter == pendingRedrive {
		found, more, err = s.waitingChildren(from.Run, before, size, of)
	} else {
		found, more, err = s.newestExecutions(from.number, in.StatusFilter, before, size, of)
	}

	if err != nil {
		return nil, err
	}

	answer := struct {
		Executions []*executionDescription `json:"executions"`
		NextToken  *string                 `json:"nextToken,omitempty"`
	}{Executions: make([]*executionDescription, len(found))}
	for i, f := range found {
		d := s.summarize(from.Origin, f.state)
		if from.Run != nil {
			d.ItemCount = f.state.Child.Items
		}

		if from.Run.Waits(keys.Execution{Machine: from.number, ID: f.id}, f.state) {
			d.Status = pendingRedrive
		}

		answer.Executions[i] = d
	}

	// The numbers of executions grow, so an execution that starts meanwhile moves no page.
	if more {
		answer.NextToken = pages.Token(keys.Running, from.number, found[len(found)-1].id)
	}

	// The list shows turns that may not be on disk yet.
	return answer, s.db.Barrier()
}

// listSource is the source of a list of executions: a machine or a Map Run.
type listSource struct {
	mapruns.Origin
	number uint64 // of the machine or of the Map Run
	keep   func(*execution.State) bool
}

func (s *Service) listSource(machineARN, runARN string) (l listSource, err error) {
	switch {
	case machineARN == "" && runARN == "":
		return l, requests.Invalid("Must provide a StateMachine ARN or MapRun ARN")
	case machineARN != "" && runARN != "":
		return l, requests.Invalid("Only one of stateMachineArn and mapRunArn can be specified")
	case runARN != "":
		k, r, err := s.runs.Named(runARN)
		if err != nil {
			return l, err
		}

		// The children have the Map Run's number in their keys, so the list needs no filter.
		return listSource{mapruns.Origin{Machine: r.Machine, Run: r}, k.ID, func(*execution.State) bool { return true }}, nil
	}

	t, err := s.machines.Target(machineARN)
	if err != nil {
		return l, err
	}

	if t.Machine.Express {
		return l, machines.WrongType()
	}

	return listSource{mapruns.Origin{Machine: t.Machine.Name}, t.Machine.ID, t.Started}, nil
}

// pendingRedrive is the status of a child that waits for a redrive.
const pendingRedrive = "PENDING_REDRIVE"

// waitingChildren is newestExecutions for the children that wait for a redrive.
func (s *Service) waitingChildren(
	r *mapruns.Run, before uint64, size int, keep func(*execution.State) bool,
) (found []listed, more bool, err error) {
	if r == nil {
		return nil, false, requests.Invalid("PENDING_REDRIVE needs a mapRunArn")
	}

	if r.RedriveAt == 0 {
		return nil, false, nil
	}

	found, more, err = s.newestExecutions(r.ID, "", before, size, func(st *execution.State) bool {
		return keep(st) && st.Status != execution.Running && st.Status != execution.Succeeded
	})

	// found is in descending order: from the first child below RedriveAt on, all have had their redrive.
	for i, f := range found {
		if f.id < r.RedriveAt {
			return found[:i], false, err
		}
	}

	return found, more, err
}

func redriveFilter(filter string) (func(*execution.State) bool, error) {
	switch filter {
	case "":
		return func(*execution.State) bool { return true }, nil
	case "REDRIVEN":
		return func(st *execution.State) bool { return st.Redrives > 0 }, nil
	case "NOT_REDRIVEN":
		return func(st *execution.State) bool { return st.Redrives == 0 }, nil
	}

	return nil, wire.OneOf(filter, "redriveFilter", "REDRIVEN", "NOT_REDRIVEN")
}

// listed is an execution in a list.
type listed struct {
	id    uint64
	state *execution.State
}

// newestExecutions returns up to size executions with numbers below before, the newest
// first, and whether there are more.
func (s *Service) newestExecutions(
	machine uint64, status string, before uint64, size int, keep func(*execution.State) bool,
) (found []listed, more bool, err error) {
	scan := func(kind byte) error {
		count := 0

		return s.db.Scan(keys.Of(kind, machine), keys.Of(kind, machine, before), true, func(k, v []byte) (bool, error) {
			st, err := execution.ReadState(v)
			if err != nil {
				return false, fmt.Errorf("read execution %d: %w", keys.Number(k), err)
			}

			if keep(st) {
				found = append(found, listed{keys.Number(k), st})
				count++
			}

			// One more than size shows that there is another page.
			return count <= size, nil
		})
	}

	want, _ := execution.StatusNamed(status)
	switch {
	case status == "":
		// Running executions first: an execution that ends between the scans is found twice instead of
		// never.
		if err = scan(keys.Running); err == nil {
			err = scan(keys.Ended)
		}
	case want == execution.Running:
		err = scan(keys.Running)
	default:
		found, err = s.newestWithStatus(machine, want, before, size, keep)
	}

	// Duplicates are executions that ended between the two scans.
	slices.SortFunc(found, func(a, b listed) int { return cmp.Compare(b.id, a.id) })

	found = slices.CompactFunc(found, func(a, b listed) bool { return a.id == b.id })
	if len(found) > size {
		found, more = found[:size], true
	}

	return found, more, err
}

// newestWithStatus is newestExecutions for ended executions with one status. It returns up
// to one more than size.
func (s *Service) newestWithStatus(
	machine uint64, status execution.Status, before uint64, size int, keep func(*execution.State) bool,
) (found []listed, err error) {
	lo := keys.Execution{Machine: machine, ID: 0}.Status(status)
	hi := keys.Execution{Machine: machine, ID: before}.Status(status)
	err = s.db.Scan(lo, hi, true, func(k, _ []byte) (bool, error) {
		_, st, err := s.loadExecution(keys.Execution{Machine: machine, ID: keys.Number(k)})
		// Removed since the scan, with its machine.
		if errors.Is(err, requests.ErrNoExecution) {
			return true, nil
		}

		// The scan holds no lock, so a redrive may have changed the status since.
		if err == nil && st.Status == status && keep(st) {
			found = append(found, listed{keys.Number(k), st})
		}

		return len(found) <= size, err
	})

	return found, err
}
