package processes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/processes"
)

// minutely runs a process that tells of the minute. stop ends the process and waits for its end.
func (f *fleet) minutely(minute func() processes.Minute) (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done, began := make(chan struct{}), time.Now()

	go func() {
		defer close(done)
		f.Run(ctx, processes.Self{Version: "v1", Minute: minute, Report: func(context.Context) processes.Report {
			r := worker()
			r.Counters = map[string]int64{"records": 10 * int64(time.Since(began).Seconds())}

			return r
		}})
	}()

	return func() {
		cancel()
		<-done
	}
}

// TestEachMinuteIsToldOnce, also if a write fails, and what was done in the last part of a minute is not lost.
func TestEachMinuteIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		began, told := time.Now(), int64(0)

		stop := f.minutely(func() processes.Minute {
			n := int64(time.Since(began).Seconds()) - told
			told += n

			return processes.Minute{Decided: []processes.Decided{{Event: "ship", Verdict: "Applied", Count: n}}}
		})
		time.Sleep(150 * time.Second)

		denied := f.transport.Inject(embeddedtest.Answer("AccessDeniedException", "PutItem"))
		time.Sleep(45 * time.Second)
		denied.Remove()
		time.Sleep(50 * time.Second)
		stop()

		found, err := f.Minutes(t.Context(), began.Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}

		decided, records, keys := int64(0), int64(0), map[string]bool{}
		for _, m := range found {
			decided += m.Decided[0].Count
			records += m.Counters["records"]
			keys[m.Key] = true
		}

		if seconds := int64(time.Since(began).Seconds()); len(found) != 5 || len(keys) != 5 || decided != seconds || records != 10*seconds {
			t.Errorf("after %d s, in %d minutes with %d keys: %d decisions and %d records: %+v", seconds, len(found), len(keys), decided, records, found)
		}

		last := found[len(found)-1].At
		if more, err := f.Minutes(t.Context(), last); err != nil || len(more) != 0 {
			t.Errorf("after the last one: %+v, %v", more, err)
		}
	})
}

// TestAMinuteTakesTwoWriteUnits at most, and has the most frequent pairs; what it leaves out is counted.
func TestAMinuteTakesTwoWriteUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		began := time.Now()

		var full processes.Minute
		for i := range 50 {
			full.Decided = append(full.Decided, processes.Decided{Event: strings.Repeat("e", 40) + fmt.Sprint(i), Verdict: "WrongState", Count: int64(i + 1)})
			full.Moved = append(full.Moved, processes.Moved{Owner: "acme", Version: 3, State: strings.Repeat("S", 30) + fmt.Sprint(i), By: int64(i + 1)})
		}

		stop := f.minutely(func() processes.Minute { return full })
		time.Sleep(2 * time.Minute)
		stop()

		found, err := f.Minutes(t.Context(), began.Add(-time.Hour))
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		m := found[0]

		decided, moved := m.Others, m.Unnoted
		for _, d := range m.Decided {
			decided += d.Count
		}

		for _, v := range m.Moved {
			moved += v.By
		}

		if decided != 1275 || moved != 1275 || len(m.Decided) < 5 || len(m.Decided) > 20 || m.Decided[0].Count != 50 {
			t.Errorf("%d decisions, %d moves in %+v", decided, moved, m)
		}

		for _, units := range f.db.units {
			if units > 2 {
				t.Errorf("a write takes %v units", units)
			}
		}
	})
}

// TestMovesAreAddedToTheCountOnce by several processes at the same time, and a pass replaces the sum.
func TestMovesAreAddedToTheCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)

		stop := f.minutely(func() processes.Minute {
			return processes.Minute{Moved: []processes.Moved{
				{Version: 1, State: "PENDING", By: -2}, {Version: 1, State: "SHIPPED", By: 2}, {Owner: "acme", Version: 2, State: "PENDING", By: 5},
			}}
		})
		defer stop()
		time.Sleep(90 * time.Second)

		counted := time.Now().Truncate(time.Minute)
		for _, owner := range []string{"", "acme"} {
			err := f.StoreCount(t.Context(), owner, processes.Count{At: counted, Took: time.Second, Orders: map[int]map[string]int64{1: {"PENDING": 100}}})
			if err != nil {
				t.Fatal(err)
			}
		}

		for range 30 {
			time.Sleep(20 * time.Second)

			added := make(chan error)
			for range 3 {
				go func() { added <- f.AddMoves(t.Context(), time.Now()) }()
			}

			for range 3 {
				if err := <-added; err != nil {
					t.Fatal(err)
				}
			}
		}

		count, known, err := f.NewestCount(t.Context(), "")
		if err != nil || !known {
			t.Fatal(known, err)
		}

		minutes := int64(count.UpTo.Sub(counted) / time.Minute)
		if minutes < 7 || count.Orders[1]["PENDING"] != 100-2*minutes || count.Orders[1]["SHIPPED"] != 2*minutes || count.Error != 2 {
			t.Errorf("after %d minutes: %+v", minutes, count)
		}

		if acme, _, err := f.NewestCount(t.Context(), "acme"); err != nil || acme.Orders[2]["PENDING"] != 5*minutes || acme.Orders[1]["PENDING"] != 100 {
			t.Errorf("another owner: %+v, %v", acme, err)
		}

		// An older pass that ends late replaces nothing, a newer one everything.
		for _, at := range []time.Time{counted.Add(-time.Minute), time.Now()} {
			if err := f.StoreCount(t.Context(), "", processes.Count{At: at, Orders: map[int]map[string]int64{1: {"SHIPPED": 7}}}); err != nil {
				t.Fatal(err)
			}

			count, _, err := f.NewestCount(t.Context(), "")
			if replaced := count.Orders[1]["PENDING"] == 0; err != nil || replaced != at.After(counted) {
				t.Errorf("a pass of %s: %+v, %v", at, count, err)
			}
		}
	})
}
