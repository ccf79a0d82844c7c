package stepfunctions

import (
	"context"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/requests"
)

type executionRequest struct {
	ExecutionArn string
	IncludedData string
}

type dataDetails struct {
	Included bool `json:"included"`
}

type executionDescription struct {
	ExecutionArn    string          `json:"executionArn"`
	StateMachineArn string          `json:"stateMachineArn"`
	VersionArn      string          `json:"stateMachineVersionArn,omitempty"`
	AliasArn        string          `json:"stateMachineAliasArn,omitempty"`
	MapRunArn       string          `json:"mapRunArn,omitempty"`
	ItemCount       int64           `json:"itemCount,omitempty"` // only in lists
	Name            string          `json:"name"`
	Status          string          `json:"status"`
	StartDate       requests.Stamp  `json:"startDate"`
	StopDate        *requests.Stamp `json:"stopDate,omitempty"`
	RedriveCount    int             `json:"redriveCount"`
	RedriveDate     *requests.Stamp `json:"redriveDate,omitempty"`
	Error           *string         `json:"error,omitempty"`
	Cause           *string         `json:"cause,omitempty"`
	// The rest is only in DescribeExecution.
	Input               *string      `json:"input,omitempty"`
	InputDetails        *dataDetails `json:"inputDetails,omitempty"`
	Output              *string      `json:"output,omitempty"`
	OutputDetails       *dataDetails `json:"outputDetails,omitempty"`
	RedriveStatus       string       `json:"redriveStatus,omitempty"`
	RedriveStatusReason string       `json:"redriveStatusReason,omitempty"`
}

// summarize returns the part of a description that lists have too.
func (s *Service) summarize(o mapruns.Origin, st *execution.State) *executionDescription {
	d := &executionDescription{
		ExecutionArn:    s.runs.ExecutionARN(o, st.Name),
		StateMachineArn: s.runs.MachineARN(o),
		VersionArn:      s.account.Version(o.Machine, st.Version),
		AliasArn:        s.account.Alias(o.Machine, st.Alias),
		Name:            st.Name,
		Status:          st.Status.String(),
		StartDate:       requests.Stamp(st.Started),
		StopDate:        requests.OptionalStamp(st.Stopped),
		RedriveCount:    st.Redrives,
		RedriveDate:     requests.OptionalStamp(st.Redriven),
	}
	if o.Run == nil {
		return d
	}

	if d.MapRunArn = s.runs.ARN(o.Run); o.Run.Express {
		// The service does not return the date for Express executions.
		d.RedriveDate = nil
	}

	return d
}

func (s *Service) describeExecution(_ context.Context, in *executionRequest) (any, error) {
	if err := requests.CheckIncluded(in.IncludedData); err != nil {
		return nil, err
	}

	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	st, err := s.readExecution(key)
	if err != nil {
		return nil, err
	}

	o, err := s.runs.Origin(m.Name, st)
	if err != nil {
		return nil, err
	}

	d := s.summarize(o, st)
	if st.Error != "" {
		d.Error = &st.Error
	}

	if st.Cause != "" {
		d.Cause = &st.Cause
	}

	// A child's own status stays FAILED, TIMED_OUT or ABORTED: only its
	// Map Run knows that it waits for a redrive.
	d.RedriveStatus, d.RedriveStatusReason = s.redriveStatus(st, o.Run)
	if o.Run.Waits(key, st) {
		d.Status = pendingRedrive
	}

	if in.IncludedData == requests.MetadataOnly {
		return d, nil
	}

	h := history{s, key}

	// ExecutionStarted is event 1 of the turn at event 1. It holds the input.
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

	rev, err := s.machines.Revision(m.ID, st.Revision)
	if err != nil {
		return nil, err
	}

	answer := s.machines.Describe(m, rev)
	answer["updateDate"] = requests.Stamp(rev.Updated)

	o, err := s.runs.Origin(m.Name, st)
	if err != nil || o.Run == nil {
		return answer, err
	}

	// The machine of a child is the item processor of the Map.
	answer["stateMachineArn"], answer["name"] = s.runs.MachineARN(o), arns.Labeled(m.Name, o.Run.Label())
	answer["definition"] = string(rev.Program.States[o.Run.Map].Distributed.Definition)
	answer["label"], answer["mapRunArn"] = o.Run.Label(), s.runs.ARN(o.Run)

	return answer, nil
}
