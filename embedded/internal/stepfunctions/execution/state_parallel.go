package execution

import "ratchet/embedded/internal/stepfunctions/asl"

// startParallel starts the branches of a Parallel.
func (t *turn) startParallel(th *thread, s *asl.State, in *Doc) error {
	input, err := t.applyPayload(th, s.Parameters, in)
	if err != nil {
		return err
	}

	started := Event{Type: ParallelStateStarted}
	// An expression is not evaluated again when a branch starts later, so its value is stored.
	if s.JSONata {
		started.Doc = input
	}

	t.recordOn(th, started)

	if s.JSONata {
		th.taskInput = input.Ref
	}

	n := len(s.Branches)
	// next is at the end, because all branches start at once: endChild starts no others.
	th.phase, th.next, th.running, th.results = joining, n, n, make([]Ref, n)
	for i, branch := range s.Branches {
		t.work = append(t.work, workItem{th: t.spawn(th, i, branch.Start), doc: input, enter: true})
	}

	return nil
}
