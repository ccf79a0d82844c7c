package server

import (
	"context"
	"log/slog"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
)

// lagWarning is the lag of a shard from which on it is logged. An idle shard is polled
// every few seconds, and most retried records succeed within seconds, so a shorter lag is
// normal.
const lagWarning = time.Minute

// lossAlarm is how long before records are lost the lag is logged as an error.
const lossAlarm = 12 * time.Hour

// streamEvents logs that the orders' stream is handled late, at most once a minute. The
// poller does not log that itself; retries, dead letters, gaps and leases it does. AWS
// removes records after 24 hours, so a lag that keeps growing ends in lost records.
func streamEvents(log *slog.Logger) streams.Events {
	throttle := &worker.LogThrottle{}

	return streams.Events{
		Handled: logHandled(log),
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
