package stepfunctions

import (
	"context"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// listMapRuns lists the Map Runs that an execution has started, the newest first.
func (s *Service) listMapRuns(_ context.Context, in *struct {
	pages.Request
	ExecutionArn string
}) (any, error) {
	parent, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	size, err := pages.Size(in.MaxResults)
	if err != nil {
		return nil, err
	}

	before := ^uint64(0)
	if in.NextToken != "" {
		if before, err = pages.Read(in.NextToken, keys.RunOf, parent.ID); err != nil {
			return nil, err
		}
	}

	var runs []uint64

	err = s.db.Scan(keys.Of(keys.RunOf, parent.Machine, parent.ID), keys.Run{ID: before}.OfExecution(parent), true,
		func(k, _ []byte) (bool, error) {
			runs = append(runs, keys.Number(k))
			// One more than a page shows that there is another page.
			return len(runs) <= size, nil
		})
	if err != nil {
		return nil, fmt.Errorf("list Map Runs: %w", err)
	}

	answer := struct {
		MapRuns   []map[string]any `json:"mapRuns"`
		NextToken *string          `json:"nextToken,omitempty"`
	}{MapRuns: []map[string]any{}}
	if len(runs) > size {
		runs = runs[:size]
		answer.NextToken = pages.Token(keys.RunOf, parent.ID, runs[size-1])
	}

	for _, id := range runs {
		r, err := s.runs.Load(keys.Run{Machine: m.ID, ID: id})
		if err != nil {
			return nil, err
		}

		// Removed since the scan, with its machine.
		if r == nil {
			continue
		}

		item := map[string]any{
			"executionArn":    s.runs.ParentARN(r),
			"mapRunArn":       s.runs.ARN(r),
			"stateMachineArn": s.runs.MachineARN(mapruns.Origin{Machine: r.Machine, Run: r}),
			"startDate":       requests.Stamp(r.Started),
		}
		if r.Stopped != 0 {
			item["stopDate"] = requests.Stamp(r.Stopped)
		}

		answer.MapRuns = append(answer.MapRuns, item)
	}

	return answer, s.db.Barrier()
}
