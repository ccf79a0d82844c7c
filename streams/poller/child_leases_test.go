package poller

import (
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
)

// A finished shard whose children have no leases would be the end of its lineage until the
// next listing. Here that never comes.
func TestChildrenAreStoredBeforeTheirParentIsFinished(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		transport, throughTransport := w.intercept()

		var finished, early atomic.Int32
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("UpdateItem") && contains(c, "#finishedAt = ") {
				finished.Add(1)

				if len(w.leases()) < int(finished.Load())+1 {
					early.Add(1)
				}
			}

			return nil
		})

		p := w.start(w.config(l.handle, throughTransport, func(c *Config) { c.discoverEvery = time.Hour }))
		const generations = 3
		for v := 1; v <= generations; v++ {
			w.write("o-0", v)
			w.roll()
		}
		w.write("o-0", generations+1)
		w.until("all are handled", func() bool { return l.count() == generations+1 })
		w.stopped(p)
		l.ordered(t, 1, generations+1)

		if finished.Load() != generations || early.Load() != 0 {
			t.Errorf("%d shards finished, want %d; %d of them before their children had leases", finished.Load(), generations, early.Load())
		}
	})
}
