package stepfunctions

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/waiting"
)

// recoverExecutions rebuilds queues and timers. It reads the states of running executions,
// which are small, and not their documents.
func (s *Service) recoverExecutions() error {
	return keys.Each(s.db, keys.Running, func(k, v []byte) (bool, error) {
		id := keys.ExecutionAt(k)

		st, err := execution.ReadState(v)
		if err != nil {
			return false, fmt.Errorf("read execution %d: %w", id.ID, err)
		}

		rev, err := s.machines.Revision(mapruns.Owner(id, st), st.Revision)
		if err != nil {
			return false, err
		}

		for _, t := range st.Tasks(rev.Program) {
			s.queues.Of(t.Resource).Put(waiting.Placed{Task: waiting.Task{Execution: id, Thread: t.Thread, Attempt: t.Attempt}, Order: int64(t.Queue)})
			// New tasks must join the queues behind all that are recovered.
			s.queueOrder.Store(max(s.queueOrder.Load(), t.Queue))
		}

		// Also timers that came due while the engine was closed: runTimers fires them at once.
		s.timers.Set(id, st.NextTimer())

		return true, nil
	})
}
