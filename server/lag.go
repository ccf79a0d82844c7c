package server

import (
	"log/slog"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
)

// lagWarning is how far a shard of the orders' stream may be behind before the log says
// so. An idle shard is looked at every few seconds, and a retried record usually is done
// within seconds, too.
const lagWarning = time.Minute

// streamEvents logs what the poller does not log itself: that it is behind. One minute is
// no loss, but records that are not read within 24 hours are.
func streamEvents(log *slog.Logger) streams.Events {
	throttle := &worker.LogThrottle{}

	return streams.Events{
		Lag: func(l streams.Lag) {
			if l.Age < lagWarning || !throttle.Allow() {
				return
			}
			log.Warn("the orders' stream is handled late", "shard", l.Shard,
				"age", l.Age.Round(time.Second), "pending", l.Pending, "lostIn", l.ToHorizon.Round(time.Second))
		},
	}
}
