package execution

import "ratchet/embedded/internal/stepfunctions/asl"

// startParallel starts the branches of a Parallel.
func (t *turn) startParallel(th *thread, s *asl.State, in *Doc) error {
	input, err := t.applyTemplate(th, s.Parameters, in)
	if err != nil {
		return err
	}

	t.recordOn(th, Event{Type: ParallelStateStarted})

	n := len(s.Branches)
	th.phase, th.next, th.running, th.results = joining, n, n, make([]Ref, n)
	for i, branch := range s.Branches {
		t.work = append(t.work, workItem{th: t.spawn(th, i, branch.Start), doc: input, enter: true})
	}

	return nil
}
