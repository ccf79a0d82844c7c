package server

import (
	"testing"
	"time"

	"ratchet/operate/processes"
	"ratchet/streams"
)

// TestTheShardsOfThisProcessSayHowFarTheStreamIsRead: the worst of them, whatever other processes say, and
// however old records are that were read and wait.
func TestTheShardsOfThisProcessSayHowFarTheStreamIsRead(t *testing.T) {
	now := time.Now()
	u := &unreadStream{}
	hear(u, now, 60)

	first := u.follow(func() []streams.Lag { return []streams.Lag{{Unread: time.Second, Age: time.Hour, Pending: 9}} })

	second := u.follow(func() []streams.Lag { return []streams.Lag{{}, {Unread: 7 * time.Second}} })
	if got := u.age(now); got != 7*time.Second {
		t.Errorf("%v", got)
	}
	second()

	if got := u.age(now); got != time.Second {
		t.Errorf("the first one alone: %v", got)
	}
	first()

	if got := u.age(now); got != time.Minute {
		t.Errorf("without a shard: %v", got)
	}
}

// hear lets the process w beat twice, with the seconds that it is behind.
func hear(u *unreadStream, now time.Time, unread int64) {
	for beat := range int64(2) {
		u.hear([]processes.Process{
			{ID: "w", Beat: beat + 1, State: processes.Live, Report: processes.Report{Unread: unread}},
			{ID: "v", Beat: beat + 1, State: processes.Live},
		}, now)
	}
}

// TestOldNewsOfOtherProcessesCountsNoMore: a process that beats no more, and a look that is too old.
func TestOldNewsOfOtherProcessesCountsNoMore(t *testing.T) {
	now := time.Now()
	behind := func(beat int64, state processes.State) []processes.Process {
		return []processes.Process{{ID: "w", Beat: beat, State: state, Report: processes.Report{Unread: 60}}}
	}

	for name, looks := range map[string][][]processes.Process{
		"nothing was heard":         {},
		"one look":                  {behind(5, processes.Live)},
		"it was killed":             {behind(5, processes.Live), behind(6, processes.Live), behind(6, processes.Live)},
		"it is missing":             {behind(5, processes.Live), behind(6, processes.Missing)},
		"it has ended, and is gone": {behind(5, processes.Live), behind(6, processes.Live), {}},
	} {
		u := &unreadStream{}
		for _, found := range looks {
			u.hear(found, now)
		}

		if got := u.age(now); got != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}

	u := &unreadStream{}
	hear(u, now, 60)

	for later, want := range map[time.Duration]time.Duration{heardFor: time.Minute, heardFor + 1: 0} {
		if got := u.age(now.Add(later)); got != want {
			t.Errorf("%v later: %v, want %v", later, got, want)
		}
	}
}
