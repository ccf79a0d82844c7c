package poller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/leases"
)

// TestAFirstListingThatIsResumedLaterDeclaresWhatWasLost: a worker has begun to read the stream and
// died before it had listed it. Records that were trimmed until another worker listed it were asked for.
func TestAFirstListingThatIsResumedLaterDeclaresWhatWasLost(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name  string
		away  time.Duration // until the second worker comes
		rolls int           // of the shard meanwhile, after the lost record
		want  []streams.GapReason
	}{
		{"the shard has lost a record", simHorizon + time.Minute, 0, []streams.GapReason{streams.GapUnread}},
		{"the shard was lost, and its child was found", simHorizon + time.Minute, 1, []streams.GapReason{streams.GapParent, streams.GapUnread}},
		{"nothing can have been lost", simHorizon - time.Minute, 0, nil},
		{"nothing can have been lost although the shard has ended", simHorizon - time.Minute, 1, nil},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := newTestEnv(t, 1, func(c *embedded.Config) {
				c.Dir, c.Streams.Retention = dir, 100*time.Hour
			})
			time.Sleep(time.Second) // the shard is older than the state

			state := leases.Key(w.arn, leases.StreamStateRow)
			state[leases.StreamStateListings] = dynamo.N(1)
			state[leases.StreamStateBegunAt] = dynamo.Millis(time.Now())

			if _, err := w.table().InsertRow(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			w.write("o-0", 1)
			time.Sleep(time.Second)

			for range test.rolls {
				w.roll()
			}
			time.Sleep(test.away)
			w.write("o-0", 2)

			if err := w.engine.TrimStream(t.Context(), w.arn, embedded.TrimPoint{Time: time.Now().Add(-simHorizon)}); err != nil {
				t.Fatal(err)
			}

			l, g := newRecorder(), &gaps{}
			p := w.start(w.config(l.handle, defaultTimes, g.hook, func(c *Config) { c.horizon = simHorizon }))
			sleepUntil(t, 10*time.Minute, func() bool { got := l.of("o-0"); return len(got) > 0 && got[len(got)-1] == 2 })
			w.stopped(p)

			var got []streams.GapReason
			for _, gap := range g.all() {
				got = append(got, gap.Reason)
			}

			if !slices.Equal(got, test.want) {
				t.Errorf("%s: gaps %+v, want %v", test.name, g.all(), test.want)
			}
		})
	}
}
