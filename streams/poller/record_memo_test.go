package poller

import (
	"sync"
	"sync/atomic"
	"testing"

	"ratchet/streams"
)

func TestARecordIsDecodedOnceForAllHandlers(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		type key struct{}

		var made, seen atomic.Int32
		decode := func(r streams.Record) int {
			v, _ := r.Memo(key{}, func() any {
				made.Add(1)
				_, version := keyAndVersion(r)

				return version
			}).(int)

			return v
		}

		const records = 100
		l := newRecorder()
		p := w.start(w.config(l.handle, func(c *Config) {
			for i := range c.Handlers {
				c.Handlers[i].Filter = func(r streams.Record) bool {
					if _, version := keyAndVersion(r); decode(r) == version {
						seen.Add(1)
					}

					return true
				}
			}
			c.Handlers = append(c.Handlers, c.Handlers[0])
			c.Handlers[1].Name = "another"
		}))

		for v := 1; v <= records; v++ {
			w.write("o-0", v)
		}
		w.until("all are handled", func() bool { return l.count() == 2*records })
		w.stopped(p)

		if made.Load() != records || seen.Load() != 2*records {
			t.Errorf("decoded %d times for %d records; %d right values for two handlers", made.Load(), records, seen.Load())
		}
	})
}

func TestAMemoKeepsOneValueForEachKey(t *testing.T) {
	type a struct{}
	type b struct{}

	r := streams.Record{}
	r.Remember()

	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() { r.Memo(a{}, func() any { return i }) })
	}
	group.Wait()

	first := r.Memo(a{}, func() any { return -1 })
	if first == -1 || r.Memo(b{}, func() any { return "b" }) != "b" || r.Memo(a{}, func() any { return -2 }) != first {
		t.Errorf("values %v", first)
	}

	calls := 0
	for range 2 {
		streams.Record{}.Memo(a{}, func() any { calls++; return nil })
	}

	if calls != 2 {
		t.Errorf("%d calls for a record without a memo", calls)
	}
}
