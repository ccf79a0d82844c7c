package stepfunctions

import (
	"context"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// mapRunCounts are the counts of a Map Run's executions, or of their items.
type mapRunCounts struct {
	Pending               int64 `json:"pending"`
	Running               int64 `json:"running"`
	Succeeded             int64 `json:"succeeded"`
	Failed                int64 `json:"failed"`
	TimedOut              int64 `json:"timedOut"`
	Aborted               int64 `json:"aborted"`
	Total                 int64 `json:"total"`
	ResultsWritten        int64 `json:"resultsWritten"`
	FailuresNotRedrivable int64 `json:"failuresNotRedrivable"`
	PendingRedrive        int64 `json:"pendingRedrive"`
}

// counts returns counts as DescribeMapRun answers them. The results of a Map Run without a
// ResultWriter count as written once it has succeeded.
// Source: LocalStack's recordings of AWS (test_sfn_api_map_run).
func (r *mapRun) counts(t, waiting *tally, pending, notRedrivable int64) mapRunCounts {
	c := mapRunCounts{
		Pending:               pending,
		Running:               t[execution.Running],
		Succeeded:             t[execution.Succeeded],
		Failed:                t[execution.Failed],
		TimedOut:              t[execution.TimedOut],
		Aborted:               t[execution.Aborted],
		Total:                 t.total() + waiting.total() + pending,
		FailuresNotRedrivable: notRedrivable,
		PendingRedrive:        waiting.total(),
	}
	if r.Status == execution.Succeeded {
		c.ResultsWritten = c.Succeeded
	}

	return c
}

type mapRunRequest struct{ MapRunArn string }

func (s *Service) describeMapRun(_ context.Context, in *mapRunRequest) (any, error) {
	_, r, err := s.runNamed(in.MapRunArn)
	if err != nil {
		return nil, err
	}

	answer := map[string]any{
		"mapRunArn":                  s.runARN(r),
		"executionArn":               s.parentARN(r),
		"status":                     r.Status.String(),
		"startDate":                  requests.Stamp(r.Started),
		"maxConcurrency":             r.Concurrency,
		"toleratedFailureCount":      r.ToleratedCount,
		"toleratedFailurePercentage": r.ToleratedPercentage,
		"executionCounts":            r.counts(&r.Executions, &r.WaitingExecutions, r.pending(), r.NotRedrivable),
		"itemCounts":                 r.counts(&r.Items, &r.WaitingItems, r.TotalItems-int64(r.Next.Item), r.NotRedrivableItems),
		"redriveCount":               r.Redrives,
	}
	if r.Stopped != 0 {
		answer["stopDate"] = requests.Stamp(r.Stopped)
	}

	if r.Redriven != 0 {
		answer["redriveDate"] = requests.Stamp(r.Redriven)
	}

	// The counts include turns that may not be on disk yet.
	return answer, s.db.Barrier()
}

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
		r, err := s.loadRun(keys.Run{Machine: m.ID, ID: id})
		if err != nil {
			return nil, err
		}

		// Removed since the scan, with its machine.
		if r == nil {
			continue
		}

		item := map[string]any{
			"executionArn":    s.parentARN(r),
			"mapRunArn":       s.runARN(r),
			"stateMachineArn": s.machineARN(origin{r.Machine, r}),
			"startDate":       requests.Stamp(r.Started),
		}
		if r.Stopped != 0 {
			item["stopDate"] = requests.Stamp(r.Stopped)
		}

		answer.MapRuns = append(answer.MapRuns, item)
	}

	return answer, s.db.Barrier()
}

type updateMapRunRequest struct {
	MapRunArn                  string
	MaxConcurrency             *int64
	ToleratedFailureCount      *int64
	ToleratedFailurePercentage *float64
}

// check fails for values out of their range.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_UpdateMapRun.html
func (in *updateMapRunRequest) check() error {
	const least = "1 validation error detected: Value '%d' at '%s' failed to satisfy constraint: " +
		"Member must have value greater than or equal to 0"

	switch {
	case in.MaxConcurrency == nil && in.ToleratedFailureCount == nil && in.ToleratedFailurePercentage == nil:
		return requests.InvalidFor("MISSING_REQUIRED_PARAMETER", "Either maxConcurrency, toleratedFailureCount, or "+
			"toleratedFailurePercentage must be specified")
	case in.MaxConcurrency != nil && *in.MaxConcurrency < 0:
		return requests.Invalid(least, *in.MaxConcurrency, "maxConcurrency")
	case in.ToleratedFailureCount != nil && *in.ToleratedFailureCount < 0:
		return requests.Invalid(least, *in.ToleratedFailureCount, "toleratedFailureCount")
	case in.ToleratedFailurePercentage != nil && !(*in.ToleratedFailurePercentage >= 0 && *in.ToleratedFailurePercentage <= 100):
		return requests.Invalid("1 validation error detected: Value '%v' at 'toleratedFailurePercentage' failed to satisfy constraint: "+
			"Member must have value between 0 and 100", *in.ToleratedFailurePercentage)
	}

	return nil
}

// updateMapRun changes the limits of a Map Run that has not ended.
func (s *Service) updateMapRun(_ context.Context, in *updateMapRunRequest) (any, error) {
	k, _, err := s.runNamed(in.MapRunArn)
	if err != nil {
		return nil, err
	}

	if err := in.check(); err != nil {
		return nil, err
	}

	// changeRun wakes the Map Run, so a raised limit takes effect at once.
	batch, err := s.changeRun(k, func(r *mapRun) (bool, error) {
		if !r.running() {
			return false, requests.InvalidFor("CANNOT_UPDATE_COMPLETED_MAP_RUN", "Map Run '%s' has completed and cannot be updated", in.MapRunArn)
		}

		if in.MaxConcurrency != nil {
			r.Concurrency = *in.MaxConcurrency
		}

		if in.ToleratedFailureCount != nil {
			r.ToleratedCount = *in.ToleratedFailureCount
		}

		if in.ToleratedFailurePercentage != nil {
			r.ToleratedPercentage = *in.ToleratedFailurePercentage
		}

		return true, nil
	})

	return requests.Empty, synced(batch, err)
}

// redriveStatus returns whether an execution can be redriven, and why not.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
func (s *Service) redriveStatus(st *execution.State, r *mapRun) (status, reason string) {
	reason = st.NotRedrivable(s.cfg.Clock.Now())
	switch {
	case reason != "":
		return "NOT_REDRIVABLE", reason
	case r != nil:
		return "REDRIVABLE_BY_MAP_RUN", ""
	default:
		return "REDRIVABLE", ""
	}
}
