package embedded

import (
	"context"
	"time"
)

// watchClockEvery is how often Run compares the clocks of the process, beside each call that reads the time.
const watchClockEvery = time.Minute

// HeldStep returns by how much the machine's clock has been set forward, or back if it is negative, without the engine's
// time, and since when; zero if the engine's time is the machine's. The engine does not make a step of more than a minute:
// what waits becomes due when it would have without the step, and TTL removes nothing early. It makes a step forward
// that has lasted for an hour. The next start takes the machine's clock as it is.
func (e *Engine) HeldStep() (step time.Duration, since time.Time) { return e.clock.Held() }

// watchClock logs steps of the machine's clock until ctx ends.
func (e *Engine) watchClock(ctx context.Context) error {
	every := time.NewTicker(watchClockEvery)
	defer every.Stop()

	logged := time.Duration(0)
	for {
		step, _ := e.clock.Held()

		switch {
		case e.clock.Follow():
			e.cfg.Log.Warn("the machine's clock has been ahead for an hour: the engine's time is the machine's again", "ahead", step)

			logged = 0
		case step != logged:
			e.logStep(step)

			logged = step
		}

		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

func (e *Engine) logStep(step time.Duration) {
	switch {
	case step > 0:
		e.cfg.Log.Warn("the machine's clock was set forward: the engine's time goes on as before, for an hour at most",
			"ahead", step, "action", "set the clock right, or restart the process to take the machine's time at once")
	case step < 0:
		e.cfg.Log.Warn("the machine's clock was set back: the engine's time goes on as before",
			"behind", -step, "action", "set the clock right, or restart the process to take the machine's time: what waits becomes due so much later then")
	default:
		e.cfg.Log.Info("the machine's clock is the engine's again")
	}
}
