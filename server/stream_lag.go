package server

import (
	"context"
	"log/slog"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/transitions"
)

// lagWarning is the smallest lag of a shard that is logged. A shorter lag is normal: an idle shard is
// polled every few seconds, and most retried records succeed within seconds.
const lagWarning = time.Minute

// lossAlarm: if records will be lost within this time, the lag is logged as an error.
const lossAlarm = 12 * time.Hour

// streamEvents logs that the orders' stream is handled late, at most once a minute. The poller itself
// logs retries, dead letters, gaps and leases, but not the lag. AWS removes records after 24 hours, so a
// lag that keeps growing ends in lost records.
func streamEvents(log *slog.Logger, m transitions.Mapping) streams.Events {
	throttle := &worker.LogThrottle{}

	return streams.Events{
		Handled: logHandled(log, m),
		Lag: func(l streams.Lag) {
			if l.Age < lagWarning || !throttle.Allow() {
				return
			}

			level := slog.LevelWarn
			if l.ToHorizon < lossAlarm {
				level = slog.LevelError
			}

			log.Log(context.Background(), level, "the orders' stream is handled late",
				"shard", l.Shard,
				"age", l.Age.Round(time.Second),
				"pending", l.Pending,
				"lostIn", l.ToHorizon.Round(time.Second))
		},
	}
}
