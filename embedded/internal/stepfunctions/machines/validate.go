package machines

import (
	"cmp"
	"context"

	"ratchet/embedded/internal/wire"
)

// maxDiagnostics is how many diagnostics one answer has at most, and without a maxResults.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ValidateStateMachineDefinition.html
const maxDiagnostics = 100

// The severities of diagnostics.
const (
	severityError   = "ERROR"
	severityWarning = "WARNING"
)

// validate answers with the diagnostics of a definition. It
// includes warnings only if the request asks for them.
func (c *Catalog) validate(_ context.Context, in *struct {
	Definition string
	Type       string
	Severity   string
	MaxResults *int64
}) (any, error) {
	if err := cmp.Or(
		wire.OneOf(in.Type, "type", typeStandard, typeExpress),
		wire.OneOf(in.Severity, "severity", severityError, severityWarning),
		wire.Within(in.MaxResults, "maxResults", 0, maxDiagnostics),
	); err != nil {
		return nil, err
	}

	// A maxResults of 0 means the default.
	size := maxDiagnostics
	if in.MaxResults != nil && *in.MaxResults > 0 {
		size = int(*in.MaxResults)
	}

	_, found := parserOf(in.Type == typeExpress)([]byte(in.Definition))
	answer := struct {
		Result      string              `json:"result"`
		Diagnostics []map[string]string `json:"diagnostics"`
		Truncated   bool                `json:"truncated"`
	}{Result: "OK", Diagnostics: []map[string]string{}}
	// Warnings alone do not fail a definition.
	if found.Err() != nil {
		answer.Result = "FAIL"
	}

	for _, d := range found {
		severity := severityError
		if d.Warning {
			if in.Severity != severityWarning {
				continue
			}

			severity = severityWarning
		}

		// Truncated only if a diagnostic is left over, not if the answer is merely full.
		if len(answer.Diagnostics) == size {
			answer.Truncated = true
			break
		}

		diagnostic := map[string]string{"severity": severity, "code": d.Code, "message": d.Message}
		if d.Location != "" {
			diagnostic["location"] = d.Location
		}

		answer.Diagnostics = append(answer.Diagnostics, diagnostic)
	}

	return answer, nil
}
