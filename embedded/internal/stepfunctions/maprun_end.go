package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// endRun ends a Map Run that starts no more children and of which no child runs.
func (s *Service) endRun(ctx context.Context, k keys.Run, r *mapruns.Run) error {
	switch {
	// A redrive came while the Map Run was stopping. Its parent waits for the next end, not for this one.
	case r.Again:
		return s.closeRun(ctx, k)
	case r.Ending == execution.Failed && r.Failure != nil:
		return s.tellParent(ctx, k, r, nil, r.Failure)
	case r.Ending == execution.Failed:
		return s.tellParent(ctx, k, r, nil, execution.ToleranceExceeded())
	default:
		return s.closeRun(ctx, k)
	}
}

// closeRun ends a Map Run for which no state waits, or lets it go on after a redrive.
func (s *Service) closeRun(ctx context.Context, k keys.Run) error {
	return synced(s.runs.Change(k, func(r *mapruns.Run) (bool, error) {
		// The record may have changed since advanceRun read it, so the
		// conditions are checked again under the lock.
		switch {
		case !r.Running() || r.Ending == 0 || r.Executions[execution.Running] != 0:
			return false, nil
		case r.Again:
			r.Resume()
		default:
			r.Finish(r.Ending, s.cfg.Clock.Now())
		}

		return true, nil
	}))
}

// failRun lets a Map Run fail as soon as none of its children runs.
func (s *Service) failRun(ctx context.Context, k keys.Run, why *execution.CallFailure) error {
	return synced(s.runs.Change(k, func(r *mapruns.Run) (bool, error) {
		// UpdateMapRun may have raised the tolerance since.
		if !r.Running() || r.Ending != 0 || why == nil && !r.Exceeded() {
			return false, nil
		}

		r.Ending, r.Failure = execution.Failed, why

		return true, nil
	}))
}

// completeRun ends a Map Run whose children have all ended.
func (s *Service) completeRun(ctx context.Context, k keys.Run, r *mapruns.Run) error {
	output, err := s.runOutput(r)
	if err != nil {
		return err
	}

	return s.tellParent(ctx, k, r, output, nil)
}

// tellParent ends the state that waits for a Map Run. If no state
// waits for it, the Map Run ends on its own.
func (s *Service) tellParent(ctx context.Context, k keys.Run, r *mapruns.Run, output []byte, failed *execution.CallFailure) error {
	batch, err := s.stimulate(ctx, r.Waiter(), func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.MapEnded(st, r.Thread, r.ID, r.Redrives, output, failed)
	})
	err = errors.Join(err, syncBatch(batch))

	// The parent has left the state, has ended or was deleted.
	if errors.Is(err, execution.ErrNotScheduled) || errors.Is(err, requests.ErrNoExecution) {
		return s.closeRun(ctx, k)
	}

	return err
}

// runOutput returns the results of a Map Run as an array in the order of its items. A child that failed is
// described in its place. If the results are longer than a document may be, the array is cut off after it
// has passed that length, and the parent's check refuses it.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/input-output-resultwriter.html
func (s *Service) runOutput(r *mapruns.Run) ([]byte, error) {
	out := []byte{'['}

	// Children have been started in the order of the items, and their numbers grow.
	err := s.db.Scan(keys.Of(keys.Ended, r.ID), keys.Of(keys.Ended, r.ID+1), false, func(k, v []byte) (bool, error) {
		st, err := execution.ReadState(v)
		if err != nil {
			return false, fmt.Errorf("read execution %d: %w", keys.Number(k), err)
		}

		result, err := s.childResult(keys.Execution{Machine: r.ID, ID: keys.Number(k)}, r, st)
		if err != nil {
			return false, err
		}

		if len(out) > 1 {
			out = append(out, ',')
		}

		out = append(out, result...)

		// The parent refuses a longer array anyway, so the rest is not read.
		return len(out) <= execution.MaxDocument, nil
	})

	return append(out, ']'), err
}

// childResult returns the element of a child in the result of its Map.
func (s *Service) childResult(k keys.Execution, r *mapruns.Run, st *execution.State) ([]byte, error) {
	h := history{s, k}
	if st.Status == execution.Succeeded {
		return h.Document(st.Output)
	}

	input, err := h.Document(execution.Ref{Chunk: 1, ID: 1})
	if err != nil {
		return nil, err
	}

	o := mapruns.Origin{Machine: r.Machine, Run: r}
	d := map[string]any{
		"ExecutionArn":    s.runs.ExecutionARN(o, st.Name),
		"Input":           string(input),
		"InputDetails":    map[string]bool{"Included": true},
		"Name":            st.Name,
		"RedriveCount":    st.Redrives,
		"StartDate":       requests.ISO(st.Started),
		"StateMachineArn": s.runs.MachineARN(o),
		"Status":          st.Status.String(),
		"StopDate":        requests.ISO(st.Stopped),
	}
	d["RedriveStatus"], _ = s.redriveStatus(st, r)

	if st.Error != "" {
		d["Error"] = st.Error
	}

	if st.Cause != "" {
		d["Cause"] = st.Cause
	}

	return json.Marshal(d)
}
