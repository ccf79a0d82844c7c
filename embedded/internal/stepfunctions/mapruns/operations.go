package mapruns

import (
	"context"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// counts are the counts of a Map Run's executions, or of their items.
type counts struct {
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
func (r *Run) counts(t, waiting *Tally, pending, notRedrivable int64) counts {
	c := counts{
		Pending:               pending,
		Running:               t[execution.Running],
		Succeeded:             t[execution.Succeeded],
		Failed:                t[execution.Failed],
		TimedOut:              t[execution.TimedOut],
		Aborted:               t[execution.Aborted],
		Total:                 t.Total() + waiting.Total() + pending,
		FailuresNotRedrivable: notRedrivable,
		PendingRedrive:        waiting.Total(),
	}
	if r.Status == execution.Succeeded {
		c.ResultsWritten = c.Succeeded
	}

	return c
}

type describeRequest struct{ MapRunArn string }

func (l *Book) describe(_ context.Context, in *describeRequest) (any, error) {
	_, r, err := l.Named(in.MapRunArn)
	if err != nil {
		return nil, err
	}

	answer := map[string]any{
		"mapRunArn":                  l.ARN(r),
		"executionArn":               l.ParentARN(r),
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
	return answer, l.db.Barrier()
}

type updateRequest struct {
	MapRunArn                  string
	MaxConcurrency             *int64
	ToleratedFailureCount      *int64
	ToleratedFailurePercentage *float64
}

// check fails for values out of their range.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_UpdateMapRun.html
func (in *updateRequest) check() error {
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

// update changes the limits of a Map Run that has not ended.
func (l *Book) update(_ context.Context, in *updateRequest) (any, error) {
	k, _, err := l.Named(in.MapRunArn)
	if err != nil {
		return nil, err
	}

	if err := in.check(); err != nil {
		return nil, err
	}

	// change wakes the Map Run, so a raised limit takes effect at once.
	batch, err := l.Change(k, func(r *Run) (bool, error) {
		if !r.Running() {
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

	if err != nil || batch == nil {
		return requests.Empty, err
	}

	return requests.Empty, batch.Sync()
}
