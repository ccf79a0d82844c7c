package start

import (
	"fmt"

	"ratchet/internal/plural"
	"ratchet/server/scenario"
	"ratchet/transitions"
)

// demoProgress says how many orders a session has handled, with the verdicts so far.
func demoProgress(s *scenario.Session) string {
	m := &s.Meter
	refused := m.Verdicts(transitions.WrongState) + m.Verdicts(transitions.Superseded) + m.Verdicts(transitions.NotFound)

	return fmt.Sprintf("%d of %s  applied %d  replayed %d  refused %d", m.Ended(), plural.Of(s.Plan.Orders, "order"),
		m.Verdicts(transitions.Applied), m.Verdicts(transitions.Replayed), refused)
}
