package stepfunctions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/embedded/internal/stepfunctions/execution"
)

// listExecutions lists a machine's executions, newest first.
func (s *Service) listExecutions(_ context.Context, in *struct {
	StateMachineArn, StatusFilter, RedriveFilter, MapRunArn, NextToken string
	MaxResults                                                         int
}) (any, error) {
	if in.MapRunArn != "" || in.StateMachineArn == "" {
		return nil, validation("stateMachineArn is required: the embedded engine has no map runs")
	}

	m, err := s.machineNamed(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	size, err := pageSize(in.MaxResults)
	if err != nil {
		return nil, err
	}

	before := ^uint64(0)
	if in.NextToken != "" {
		if before, err = readPageToken(in.NextToken, keyRunning, m.ID); err != nil {
			return nil, err
		}
	}

	keep, err := redriveFilter(in.RedriveFilter)
	if err != nil {
		return nil, err
	}

	found, more, err := s.newestExecutions(m.ID, in.StatusFilter, before, size, keep)
	if err != nil {
		return nil, err
	}

	answer := struct {
		Executions []*executionDescription `json:"executions"`
		NextToken  *string                 `json:"nextToken,omitempty"`
	}{Executions: make([]*executionDescription, len(found))}
	for i, f := range found {
		answer.Executions[i] = s.summarize(m, f.state)
	}

	if more {
		answer.NextToken = pageToken(keyRunning, m.ID, found[len(found)-1].id)
	}

	return answer, s.db.Barrier()
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

	return nil, validation("redriveFilter must be one of REDRIVEN, NOT_REDRIVEN")
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

		return s.db.Scan(key(kind, machine), key(kind, machine, before), true, func(k, v []byte) (bool, error) {
			st, err := execution.ReadState(v)
			if err != nil {
				return false, fmt.Errorf("read execution %d: %w", number(k), err)
			}

			if keep(st) {
				found = append(found, listed{number(k), st})
				count++
			}

			return count <= size, nil
		})
	}

	want, known := execution.StatusNamed(status)
	switch {
	case status == "":
		if err = scan(keyRunning); err == nil {
			err = scan(keyEnded)
		}
	case status == "PENDING_REDRIVE": // only child executions of map runs have it
	case !known:
		return nil, false, validation("1 validation error detected: Value '%s' at 'statusFilter' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, ABORTED, FAILED, RUNNING]", status)
	case want == execution.Running:
		err = scan(keyRunning)
	default:
		found, err = s.newestWithStatus(machine, want, before, size, keep)
	}

	// An execution that ended between the two scans is found twice.
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
	lo := executionKey{machine, 0}.status(status)
	hi := executionKey{machine, before}.status(status)
	err = s.db.Scan(lo, hi, true, func(k, _ []byte) (bool, error) {
		_, st, err := s.loadExecution(executionKey{machine, number(k)})
		if errors.Is(err, errNoExecution) { // removed since, with its machine
			return true, nil
		}

		if err == nil && st.Status == status && keep(st) {
			found = append(found, listed{number(k), st})
		}

		return len(found) <= size, err
	})

	return found, err
}
