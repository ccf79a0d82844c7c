package poller

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/streams"
)

func TestLatestSkipsWhatWasThereAndSurvivesARestart(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		w.write("old", 1)
		worker.Wait(t.Context(), 1100*time.Millisecond) // Latest is good to a second
		latest := func(c *Config) { c.Start = streams.Latest }
		p := w.start(w.config(l.handle, latest))
		w.until("the shard is being read", func() bool { return len(p.Lags()) == 1 })
		w.stopped(p) // before any record: there is no checkpoint
		w.write("o-0", 1)
		w.roll()
		w.write("o-0", 2)
		p = w.start(w.config(l.handle, latest))
		w.until("the new ones are handled", func() bool { return l.count() == 2 })
		w.stopped(p)

		if len(l.of("old")) != 0 {
			t.Error("a record from before the start was handled")
		}
		l.ordered(t, 1, 2)
	})
}

func TestLatestWorksWithoutAtTimestamp(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		transport, throughTransport := w.intercept()
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("GetShardIterator") && contains(c, "AT_TIMESTAMP") {
				return awsError("ValidationException")
			}
			return nil
		})
		w.write("old", 1)
		worker.Wait(t.Context(), 1100*time.Millisecond)
		p := w.start(w.config(l.handle, throughTransport, func(c *Config) { c.Start = streams.Latest }))
		w.until("the shard is being read", func() bool { return len(p.Lags()) == 1 })
		w.write("o-0", 1)
		w.until("the new one is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if len(l.of("old")) != 0 {
			t.Error("a record from before the start was handled")
		}
	})
}

func TestNeedImagesRefusesAStreamWithoutBothImages(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(false)})
		w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: ddbtypes.StreamViewTypeKeysOnly})
		p := w.start(w.config(newRecorder().handle, func(c *Config) { c.NeedImages = true }))
		w.ended(p)

		if err := p.stop(); err == nil || err.Error() != "streams: wrong view type: "+w.latestStream()+" has KEYS_ONLY, want NEW_AND_OLD_IMAGES" {
			t.Errorf("Run: %v", err)
		}
	})
}
