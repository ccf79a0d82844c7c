package machines

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// describe describes a machine, without its definition if only metadata is asked for.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachine.html
func (c *Catalog) describe(_ context.Context, in *struct{ StateMachineArn, IncludedData string }) (any, error) {
	if err := requests.CheckIncluded(in.IncludedData); err != nil {
		return nil, err
	}

	t, err := c.Target(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	// DescribeStateMachine takes a machine or a version, and no alias.
	if t.Alias != "" {
		return nil, doesNotExist(in.StateMachineArn)
	}

	m := t.Machine

	rev, err := c.Revision(m.ID, t.Revision)
	if err != nil {
		return nil, err
	}

	answer := c.Describe(m, rev)
	// The API returns an empty definition, and not none.
	if in.IncludedData == requests.MetadataOnly {
		answer["definition"] = "{}"
	}

	answer["creationDate"] = requests.Stamp(m.Created)
	if v := m.versionNumbered(strconv.FormatUint(t.Version, 10)); v != nil {
		answer["stateMachineArn"] = c.account.Version(m.Name, t.Version)
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

// Describe returns what DescribeStateMachine and DescribeStateMachineForExecution
// have in common.
func (c *Catalog) Describe(m *Machine, rev *Revision) map[string]any {
	answer := map[string]any{
		"stateMachineArn":         c.account.ARN("stateMachine", m.Name),
		"name":                    m.Name,
		"definition":              rev.Definition,
		"roleArn":                 rev.RoleARN,
		"loggingConfiguration":    m.logging(),
		"tracingConfiguration":    m.Tracing.Described(),
		"encryptionConfiguration": m.Encryption.Described(),
	}
	// The service has no revision ID before the first update.
	if rev.ID != m.FirstRevision {
		answer["revisionId"] = revisionID(rev.ID)
	}

	if reads := variableReferences(rev.Program); len(reads) > 0 {
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

func (c *Catalog) list(_ context.Context, in *pages.Request) (any, error) {
	c.mu.RLock()

	all := slices.Collect(maps.Values(c.machines))
	c.mu.RUnlock()

	page, next, err := pages.Of(all, in, keys.Machine, func(m *Machine) string { return m.Name })
	if err != nil {
		return nil, err
	}

	list := make([]any, len(page))
	for i, m := range page {
		list[i] = map[string]any{
			"stateMachineArn": c.account.ARN("stateMachine", m.Name),
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
