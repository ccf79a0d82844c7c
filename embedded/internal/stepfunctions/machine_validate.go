package stepfunctions

import (
	"context"

	"ratchet/embedded/internal/wire"
)

func (s *Service) validateDefinition(_ context.Context, in *struct {
	Definition string
	Type       string
	Severity   string
	MaxResults int
}) (any, error) {
	if err := wire.OneOf(in.Type, "type", typeStandard, typeExpress); err != nil {
		return nil, err
	}

	size, err := pageSize(min(in.MaxResults, 100))
	if err != nil {
		return nil, err
	}

	_, found := parserOf(in.Type == typeExpress)([]byte(in.Definition))
	answer := struct {
		Result      string              `json:"result"`
		Diagnostics []map[string]string `json:"diagnostics"`
		Truncated   bool                `json:"truncated"`
	}{Result: "OK", Diagnostics: []map[string]string{}}
	if found.Err() != nil {
		answer.Result = "FAIL"
	}

	for _, d := range found {
		severity := "ERROR"
		if d.Warning {
			if in.Severity == "ERROR" {
				continue
			}

			severity = "WARNING"
		}

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
