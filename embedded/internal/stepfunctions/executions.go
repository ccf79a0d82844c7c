package stepfunctions

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/wire"
)

// executionNamed finds an execution and its machine by the execution's ARN.
func (s *Service) executionNamed(arn string) (executionKey, *machine, error) {
	rest, ours, err := s.resourceName(arn, "execution")
	if err != nil {
		return executionKey{}, nil, err
	}

	machineName, name, ok := strings.Cut(rest, ":")
	if !ok || name == "" {
		return executionKey{}, nil, invalidARN(arn, "Invalid ARN: the execution's name is missing")
	}
	missing := wire.Errorf("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)
	s.mu.RLock()
	m := s.machines[machineName]
	s.mu.RUnlock()

	if m == nil || !ours {
		return executionKey{}, nil, missing
	}

	id, found, err := s.db.Get(executionNameKey(m.ID, name))
	if err != nil {
		return executionKey{}, nil, fmt.Errorf("look up execution %s: %w", name, err)
	}

	if !found {
		return executionKey{}, nil, missing
	}

	return executionKey{m.ID, binary.BigEndian.Uint64(id)}, m, nil
}

// read returns an execution's state as of one moment.
func (s *Service) read(key executionKey) (*execution.State, error) {
	lock := s.lock(key)
	lock.Lock()
	_, st, err := s.load(key)
	lock.Unlock()

	if err != nil {
		return nil, err
	}

	return st, s.db.Barrier() // what is told is on disk
}

type executionRequest struct {
	ExecutionArn string
	IncludedData string
}

type dataDetails struct {
	Included bool `json:"included"`
}

type executionDescription struct {
	ExecutionArn    string  `json:"executionArn"`
	StateMachineArn string  `json:"stateMachineArn"`
	Name            string  `json:"name"`
	Status          string  `json:"status"`
	StartDate       stamp   `json:"startDate"`
	StopDate        *stamp  `json:"stopDate,omitempty"`
	RedriveCount    int     `json:"redriveCount"`
	RedriveDate     *stamp  `json:"redriveDate,omitempty"`
	Error           *string `json:"error,omitempty"`
	Cause           *string `json:"cause,omitempty"`
	// The rest is only in DescribeExecution.
	Input               *string      `json:"input,omitempty"`
	InputDetails        *dataDetails `json:"inputDetails,omitempty"`
	Output              *string      `json:"output,omitempty"`
	OutputDetails       *dataDetails `json:"outputDetails,omitempty"`
	RedriveStatus       string       `json:"redriveStatus,omitempty"`
	RedriveStatusReason string       `json:"redriveStatusReason,omitempty"`
}

// summary is what lists and descriptions of executions share.
func (s *Service) summary(m *machine, st *execution.State) *executionDescription {
	return &executionDescription{
		ExecutionArn: s.executionARN(m.Name, st.Name), StateMachineArn: s.arn("stateMachine", m.Name), Name: st.Name,
		Status: st.Status.String(), StartDate: stamp(st.Started), StopDate: optional(st.Stopped),
		RedriveCount: st.Redrives, RedriveDate: optional(st.Redriven),
	}
}

func (s *Service) describeExecution(_ context.Context, in *executionRequest) (any, error) {
	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	st, err := s.read(key)
	if err != nil {
		return nil, err
	}

	d := s.summary(m, st)
	if st.Error != "" {
		d.Error = &st.Error
	}

	if st.Cause != "" {
		d.Cause = &st.Cause
	}

	d.RedriveStatus = "REDRIVABLE"
	if reason := st.NotRedrivable(time.Now()); reason != "" {
		d.RedriveStatus, d.RedriveStatusReason = "NOT_REDRIVABLE", reason
	}

	if in.IncludedData == "METADATA_ONLY" {
		return d, nil
	}
	h := history{s, key}

	input, err := h.Document(execution.Ref{Chunk: 1, ID: 1})
	if err != nil {
		return nil, err
	}

	text := string(input)
	d.Input, d.InputDetails = &text, &dataDetails{true}
	if st.Status == execution.Succeeded {
		output, err := h.Document(st.Output)
		if err != nil {
			return nil, err
		}
		text := string(output)
		d.Output, d.OutputDetails = &text, &dataDetails{true}
	}

	return d, nil
}

func (s *Service) describeForExecution(_ context.Context, in *executionRequest) (any, error) {
	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	st, err := s.read(key)
	if err != nil {
		return nil, err
	}

	rev, err := s.revision(key.machine, st.Revision)
	if err != nil {
		return nil, err
	}
	answer := s.definitionAnswer(m, rev)
	answer["updateDate"] = stamp(rev.Updated)

	return answer, nil
}

func (s *Service) stopExecution(_ context.Context, in *struct{ ExecutionArn, Error, Cause string }) (any, error) {
	if err := checkError(in.Error, in.Cause); err != nil {
		return nil, err
	}

	key, _, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}
	var stopped int64

	batch, err := s.stimulate(key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		turn, err := env.Stop(st, in.Error, in.Cause)
		stopped = st.Stopped
		return turn, err
	})
	if syncErr := settle(batch); syncErr != nil {
		return nil, errors.Join(err, syncErr)
	}

	if errors.Is(err, execution.ErrNotRunning) { // stopping what has ended changes nothing
		return map[string]any{"stopDate": stamp(stopped)}, s.db.Barrier()
	}

	return map[string]any{"stopDate": stamp(stopped)}, err
}

func (s *Service) redriveExecution(_ context.Context, in *struct{ ExecutionArn string }) (any, error) {
	key, _, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}
	var redriven int64

	batch, err := s.stimulate(key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		turn, err := env.Redrive(st)
		redriven = st.Redriven
		return turn, err
	})
	if syncErr := settle(batch); syncErr != nil {
		return nil, errors.Join(err, syncErr)
	}

	var refused *execution.NotRedrivableError
	if errors.As(err, &refused) {
		return nil, wire.Errorf("ExecutionNotRedrivable", "%s", refused.Reason)
	}

	return map[string]any{"redriveDate": stamp(redriven)}, err
}

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

	found, more, err := s.newest(m.ID, in.StatusFilter, before, size, keep)
	if err != nil {
		return nil, err
	}

	answer := struct {
		Executions []*executionDescription `json:"executions"`
		NextToken  *string                 `json:"nextToken,omitempty"`
	}{Executions: make([]*executionDescription, len(found))}
	for i, f := range found {
		answer.Executions[i] = s.summary(m, f.state)
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

type listed struct {
	id    uint64
	state *execution.State
}

// newest finds up to size executions with a number under before, newest first,
// and says whether there are more.
func (s *Service) newest(machine uint64, status string, before uint64, size int, keep func(*execution.State) bool) (found []listed, more bool, err error) {
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
	case status == "PENDING_REDRIVE": // only map runs know it
	case !known:
		return nil, false, validation("statusFilter must be one of RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE")
	case want == execution.Running:
		err = scan(keyRunning)
	default:
		found, err = s.newestEnded(machine, want, before, size, keep)
	}
	slices.SortFunc(found, func(a, b listed) int {
		if a.id > b.id {
			return -1
		}
		return 1
	})
	// An execution that ended between the two scans is found twice.
	found = slices.CompactFunc(found, func(a, b listed) bool { return a.id == b.id })
	if len(found) > size {
		found, more = found[:size], true
	}

	return found, more, err
}

func (s *Service) newestEnded(machine uint64, status execution.Status, before uint64, size int, keep func(*execution.State) bool) (found []listed, err error) {
	lo := executionKey{machine, 0}.status(status)
	hi := executionKey{machine, before}.status(status)
	err = s.db.Scan(lo, hi, true, func(k, _ []byte) (bool, error) {
		_, st, err := s.load(executionKey{machine, number(k)})
		if errors.Is(err, errNoExecution) {
			return true, nil
		}

		if err == nil && st.Status == status && keep(st) {
			found = append(found, listed{number(k), st})
		}

		return len(found) <= size, err
	})

	return found, err
}
