package stepfunctions

import (
	"context"
	"time"

	"ratchet/embedded/internal/stepfunctions/execution"
)

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

// summarize returns the part of a description that lists have too.
func (s *Service) summarize(m *machine, st *execution.State) *executionDescription {
	return &executionDescription{
		ExecutionArn:    s.executionARN(m.Name, st.Name),
		StateMachineArn: s.arn("stateMachine", m.Name),
		Name:            st.Name,
		Status:          st.Status.String(),
		StartDate:       stamp(st.Started),
		StopDate:        optionalStamp(st.Stopped),
		RedriveCount:    st.Redrives,
		RedriveDate:     optionalStamp(st.Redriven),
	}
}

func (s *Service) describeExecution(_ context.Context, in *executionRequest) (any, error) {
	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	st, err := s.readExecution(key)
	if err != nil {
		return nil, err
	}

	d := s.summarize(m, st)
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

	st, err := s.readExecution(key)
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
