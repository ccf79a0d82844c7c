package stepfunctions

import (
	"context"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// describeStateMachine describes a machine, without its definition if only metadata is asked for.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachine.html
func (s *Service) describeStateMachine(_ context.Context, in *struct{ StateMachineArn, IncludedData string }) (any, error) {
	if err := requests.CheckIncluded(in.IncludedData); err != nil {
		return nil, err
	}

	t, err := s.startTarget(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	// DescribeStateMachine takes a machine or a version, and no alias.
	if t.alias != "" {
		return nil, machineDoesNotExist(in.StateMachineArn)
	}

	m := t.machine

	rev, err := s.revision(m.ID, t.revision)
	if err != nil {
		return nil, err
	}

	answer := s.definitionAnswer(m, rev)
	// The API returns an empty definition, and not none.
	if in.IncludedData == requests.MetadataOnly {
		answer["definition"] = "{}"
	}

	answer["creationDate"] = requests.Stamp(m.Created)
	if v := m.versionNumbered(strconv.FormatUint(t.version, 10)); v != nil {
		answer["stateMachineArn"] = s.account.Version(m.Name, t.version)
		answer["creationDate"] = requests.Stamp(v.Created)
		if v.Description != "" {
			answer["description"] = v.Description
		}
	}

	answer["type"] = m.kind()
	answer["status"] = "ACTIVE"
	if m.Deleting {
		answer["status"] = "DELETING"
	}

	return answer, nil
}

// definitionAnswer returns what DescribeStateMachine and DescribeStateMachineForExecution
// have in common.
func (s *Service) definitionAnswer(m *machine, rev *revision) map[string]any {
	answer := map[string]any{
		"stateMachineArn":         s.account.ARN("stateMachine", m.Name),
		"name":                    m.Name,
		"definition":              rev.Definition,
		"roleArn":                 rev.RoleARN,
		"loggingConfiguration":    m.logging(),
		"tracingConfiguration":    m.Tracing.described(),
		"encryptionConfiguration": m.Encryption.described(),
	}
	// The service has no revision ID before the first update.
	if rev.ID != m.FirstRevision {
		answer["revisionId"] = revisionID(rev.ID)
	}

	if reads := variableReferences(rev.program); len(reads) > 0 {
		answer["variableReferences"] = reads
	}

	return answer
}

// variableReferences returns the variables that the states of a definition read, by state.
func variableReferences(program *asl.Machine) map[string][]string {
	reads := map[string][]string{}
	for _, state := range program.States {
		if len(state.Reads) > 0 {
			reads[state.Name] = state.Reads
		}
	}

	return reads
}

func (s *Service) listStateMachines(_ context.Context, in *pages.Request) (any, error) {
	s.mu.RLock()

	all := make([]*machine, 0, len(s.machines))
	for _, m := range s.machines {
		all = append(all, m)
	}
	s.mu.RUnlock()

	page, next, err := pages.Of(all, in, keys.Machine, func(m *machine) string { return m.Name })
	if err != nil {
		return nil, err
	}

	list := make([]any, len(page))
	for i, m := range page {
		list[i] = map[string]any{
			"stateMachineArn": s.account.ARN("stateMachine", m.Name),
			"name":            m.Name,
			"type":            m.kind(),
			"creationDate":    requests.Stamp(m.Created),
		}
	}

	return struct {
		StateMachines []any   `json:"stateMachines"`
		NextToken     *string `json:"nextToken,omitempty"`
	}{list, next}, nil
}
