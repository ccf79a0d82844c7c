package server

import (
	"testing"
	"time"

	"ratchet/operate/processes"
)

// TestTheShardsOfThisProcessSayHowLateReactionsBegin: the worst of them, whatever other processes say, and
// however old records are for which something was begun.
func TestTheShardsOfThisProcessSayHowLateReactionsBegin(t *testing.T) {
	now := time.Now()
	l := &lateness{}
	hear(l, now, 60)

	idle := l.follow(func() (time.Duration, bool) { return 0, false })
	defer idle()
	first := l.follow(func() (time.Duration, bool) { return time.Second, true })
	second := l.follow(func() (time.Duration, bool) { return 7 * time.Second, true })

	if got := l.age(now); got != 7*time.Second {
		t.Errorf("%v", got)
	}
	second()

	if got := l.age(now); got != time.Second {
		t.Errorf("the first one alone: %v", got)
	}
	first()

	if got := l.age(now); got != time.Minute {
		t.Errorf("without a shard: %v", got)
	}
}

// hear lets the process w beat twice, with the seconds that it is behind.
func hear(l *lateness, now time.Time, behind int64) {
	for beat := range int64(2) {
		l.hear([]processes.Process{
			{ID: "w", Beat: beat + 1, State: processes.Live, Report: processes.Report{Behind: behind}},
			{ID: "v", Beat: beat + 1, State: processes.Live},
		}, now)
	}
}

// TestOldNewsOfOtherProcessesCountsNoMore: a process that beats no more, and a look that is too old.
func TestOldNewsOfOtherProcessesCountsNoMore(t *testing.T) {
	now := time.Now()
	behind := func(beat int64, state processes.State) []processes.Process {
		return []processes.Process{{ID: "w", Beat: beat, State: state, Report: processes.Report{Behind: 60}}}
	}

	for name, looks := range map[string][][]processes.Process{
		"nothing was heard":         {},
		"one look":                  {behind(5, processes.Live)},
		"it was killed":             {behind(5, processes.Live), behind(6, processes.Live), behind(6, processes.Live)},
		"it is missing":             {behind(5, processes.Live), behind(6, processes.Missing)},
		"it has ended, and is gone": {behind(5, processes.Live), behind(6, processes.Live), {}},
	} {
		l := &lateness{}
		for _, found := range looks {
			l.hear(found, now)
		}

		if got := l.age(now); got != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}

	l := &lateness{}
	hear(l, now, 60)

	for later, want := range map[time.Duration]time.Duration{heardFor: time.Minute, heardFor + 1: 0} {
		if got := l.age(now.Add(later)); got != want {
			t.Errorf("%v later: %v, want %v", later, got, want)
		}
	}
}
