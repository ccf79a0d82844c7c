package status

import (
	"fmt"
	"time"

	"ratchet/internal/plural"
)

// findProblems sets Problems.
func (s *Status) findProblems() {
	note := func(format string, args ...any) { s.Problems = append(s.Problems, fmt.Sprintf(format, args...)) }

	switch s.State {
	case StreamNone:
		note("table %s has no stream", s.Table)
	case StreamOff:
		note("stream switched off: %s gets no more records, and those that it has are kept for 24 hours", s.Stream)
	case StreamGone:
		note("stream gone: the service does not know %s any more", s.Stream)
	}

	if s.Next != "" && s.Stream != "" {
		note("stream replaced: %s follows when this one is handled to its end", s.Next)
	}

	if s.Replaced > 0 {
		note("gap here: the table's stream was replaced (%s, last %s); changes in between made no records", plural.Of(s.Replaced, "time"), stampOf(s.ReplacedAt))
	}

	s.findShardProblems(note)

	for _, h := range s.Handlers {
		if !h.PausedAt.IsZero() {
			note("handler %s is paused since %s", h.Name, stampOf(h.PausedAt))
		}

		if h.Items > 0 {
			note("handler %s: %s of %s waiting for another attempt", h.Name, plural.Of(h.Records, "record"), plural.Of(h.Items, "item"))
		}

		if h.DeadLetters > 0 {
			note("handler %s: %s", h.Name, plural.Of(h.DeadLetters, "dead letter"))
		}
	}
}

func (s *Status) findShardProblems(note func(format string, args ...any)) {
	unread := s.unreadShards()

	switch {
	case unread == 0:
	case len(s.Workers) == 0:
		note("no worker reads this: none holds a lease and has given a sign of life")
	default:
		note("no worker reads %d of the shards", unread)
	}

	for _, shard := range s.Shards {
		if shard.Gaps > 0 {
			note("gap here: shard %s has lost records (%s, last %s, after %s)", shard.Shard, plural.Of(shard.Gaps, "time"), stampOf(shard.GapAt), orStart(shard.GapFrom))
		}

		if shard.Unread != "" {
			note("shard %s: %s", shard.Shard, shard.Unread)
		}
	}
}

// unreadShards counts the shards that a worker could read, but that no live worker reads.
func (s *Status) unreadShards() int {
	unread := 0
	for _, shard := range s.Shards {
		switch shard.State {
		case ShardSilent, ShardFree, ShardUnknown:
			unread++
		}
	}

	return unread
}

func orStart(sequence string) string {
	if sequence == "" {
		return "its start"
	}

	return sequence
}

func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// StreamLag is how far all handlers together are behind.
type StreamLag struct {
	// Age is the age of the oldest record that is not handled. The age of a record in a retry queue
	// counts from its first failed call. A record in a retry queue without a failed call does not
	// count.
	Age time.Duration `json:"-"`
	// Seconds is Age in seconds.
	Seconds float64 `json:"seconds"`
	// Records is how many records come after the checkpoints or wait in a retry queue. More says
	// that there may be more of them. A record that waits for two handlers counts twice.
	Records int  `json:"records"`
	More    bool `json:"more,omitempty"`
	// Reasons are sentences that say why the lag exceeds the argument longest of Lag. Without
	// reasons it does not.
	Reasons []string `json:"reasons"`
}

// Lag judges the status at now: the records must be younger than longest, and each shard
// must have a worker. A stream that was switched off and is handled to its end has no lag.
func (s Status) Lag(longest time.Duration, now time.Time) StreamLag {
	lag := StreamLag{Reasons: []string{}}
	behind := func(format string, args ...any) { lag.Reasons = append(lag.Reasons, fmt.Sprintf(format, args...)) }

	if s.State == StreamNone {
		behind("table %s has no stream", s.Table)
	}

	for _, shard := range s.Shards {
		age := shard.Age(now)
		lag.Age = max(lag.Age, age)
		lag.Records += shard.Records
		lag.More = lag.More || shard.More

		if age > longest {
			behind("shard %s is %s behind", shard.Shard, age.Round(time.Second))
		}

		if shard.Unread != "" {
			behind("shard %s: %s", shard.Shard, shard.Unread)
		}
	}

	if unread := s.unreadShards(); unread > 0 {
		behind("no worker reads %d of the shards", unread)
	}

	for _, h := range s.Handlers {
		age := ageAt(h.Since, now)
		lag.Age = max(lag.Age, age)
		lag.Records += h.Records

		if age > longest {
			behind("records have waited for handler %s for %s", h.Name, age.Round(time.Second))
		}

		// A paused handler without waiting records holds nothing up.
		if pause := ageAt(h.PausedAt, now); pause > longest && h.Records > 0 {
			behind("handler %s has been paused for %s", h.Name, pause.Round(time.Second))
		}
	}
	lag.Seconds = lag.Age.Seconds()

	return lag
}
