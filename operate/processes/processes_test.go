package processes_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/processes"
)

func worker() processes.Report {
	return processes.Report{Name: "worker-1", Parts: []string{"worker"}, Ready: true}
}

func TestAProcessIsLiveUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		stop := f.run(worker)

		time.Sleep(25 * time.Second)

		if p := f.only(); p.State != processes.Live || p.Beat != 7 || p.Name != "worker-1" || !p.Runs("worker") || p.Runs("api") {
			t.Errorf("while it runs: %+v", p)
		}

		stop()

		if p := f.only(); p.State != processes.Ended || p.Ready || p.EndedAt.IsZero() {
			t.Errorf("after its end: %+v", p)
		}

		time.Sleep(processes.Retention + time.Second)

		if found := f.check(); len(found) != 0 {
			t.Errorf("after its retention: %+v", found)
		}
	})
}

// TestAPartThatBeginsLaterIsShownSoon: the first heartbeat of a process is sent when its first part
// begins, and the process may be ready before the others.
func TestAPartThatBeginsLaterIsShownSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		began := time.Now()

		stop := f.run(func() processes.Report {
			r := worker()
			if time.Since(began) < time.Second {
				r.Parts = []string{"api"}
			}

			return r
		})
		synctest.Wait()

		if p := f.only(); p.Runs("worker") {
			t.Errorf("at first: %+v", p)
		}

		time.Sleep(3 * time.Second)

		if p := f.only(); !p.Runs("worker") {
			t.Errorf("three seconds later: %+v", p)
		}

		stop()
	})
}

func TestAFailedProcessSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.run(func() processes.Report {
			r := worker()
			r.Failure = "listen: address in use"

			return r
		})()

		if p := f.only(); p.State != processes.Failed || p.Failure != "listen: address in use" {
			t.Errorf("%+v", p)
		}
	})
}

// TestAKilledProcessIsMissing: if a process is killed, or its calls fail, its row stays as it is.
func TestAKilledProcessIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		stop := f.run(worker)
		synctest.Wait()

		watcher := f.Watcher()
		states := func() string {
			found, err := watcher.Look(t.Context())
			if err != nil || len(found) != 1 {
				t.Fatalf("%+v, %v", found, err)
			}

			return string(found[0].State)
		}

		time.Sleep(25 * time.Second)

		if got := states(); got != "live" {
			t.Errorf("while it runs: %s", got)
		}

		denied := f.transport.Inject(embeddedtest.Answer("AccessDeniedException", "PutItem"))

		var got []string
		for range 3 {
			time.Sleep(20 * time.Second)
			got = append(got, states())
		}

		if want := "[live missing missing]"; fmt.Sprint(got) != want {
			t.Errorf("20, 40 and 60 s after its last heartbeat: %v, want %s", got, want)
		}

		if p := f.only(); p.State != processes.Missing || time.Since(p.BeatAt) < time.Minute {
			t.Errorf("a reader that looks once: %+v", p)
		}

		denied.Remove()
		time.Sleep(10 * time.Second)

		if got := states(); got != "live" {
			t.Errorf("when it gives a sign again: %s", got)
		}

		stop()
	})
}

// TestAWrongClockIsNoMissingProcess: the time of a row only makes a reader look twice.
func TestAWrongClockIsNoMissingProcess(t *testing.T) {
	for _, wrong := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run(wrong.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.db.put = func(in *dynamodb.PutItemInput) {
					at := time.Now().UTC()
					body := in.Item["body"].(*types.AttributeValueMemberS) //nolint:forcetypeassert // a panic fails the test
					body.Value = strings.ReplaceAll(body.Value, at.Format("2006-01-02T15:04"), at.Add(wrong).Format("2006-01-02T15:04"))
				}
				stop := f.run(worker)
				time.Sleep(processes.Interval) // it beats more often at first
				synctest.Wait()

				began := time.Now()

				if p := f.only(); p.State != processes.Live {
					t.Errorf("%+v", p)
				}

				if took := time.Since(began); took < 9*time.Second || took > 12*time.Second {
					t.Errorf("the reader waited %s, want a heartbeat", took)
				}

				stop()
			})
		})
	}
}

// TestALateHeartbeatDoesNotUndoTheEnd: a call that has timed out may arrive after the next one.
func TestALateHeartbeatDoesNotUndoTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		var late *dynamodb.PutItemInput
		f.db.put = func(in *dynamodb.PutItemInput) {
			if late == nil {
				first := *in
				late = &first
			}
		}
		f.run(worker)()

		if _, err := f.db.Client.PutItem(t.Context(), late); err == nil {
			t.Error("the late heartbeat was written")
		}

		if p := f.only(); p.State != processes.Ended {
			t.Errorf("%+v", p)
		}
	})
}

func TestRatesAreThoseOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		began := time.Now()

		stop := f.run(func() processes.Report {
			r := worker()
			seconds := int64(time.Since(began).Seconds())
			r.Counters = map[string]int64{"transitions": 5 * seconds, "records": 100}

			if seconds > 120 {
				r.Counters["transitions"] = 5*120 + 2*(seconds-120)
			}

			return r
		})
		time.Sleep(115 * time.Second)

		if p := f.only(); p.Rates["transitions"] != 5 || p.Rates["records"] != 0 || p.Counters["records"] != 100 {
			t.Errorf("at 5 a second: %v of %v", p.Rates, p.Counters)
		}

		time.Sleep(90 * time.Second)

		if p := f.only(); p.Rates["transitions"] != 2 {
			t.Errorf("a minute after it became 2 a second: %v", p.Rates)
		}

		stop()
	})
}

// TestAHeartbeatTakesOneWriteUnit: however much the process reports.
func TestAHeartbeatTakesOneWriteUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		long := strings.Repeat("ü\x00\"<", 3000)

		for counters := range 40 {
			f.run(func() processes.Report {
				r := processes.Report{Name: long, Reason: long, Failure: long, Counters: map[string]int64{}, Polls: map[string]int64{}}
				for i := range counters {
					r.Parts = append(r.Parts, long)
					r.Polls[fmt.Sprint("activity ", i)] = 1 << 40
					r.Counters[fmt.Sprint("counter-of-something-", i)] = 1 << 50
				}

				return r
			})()
		}

		for _, p := range f.check() {
			if p.State != processes.Failed || p.Reason == "" {
				t.Errorf("%+v", p)
			}
		}

		if len(f.db.units) < 40 {
			t.Errorf("%d heartbeats were written", len(f.db.units))
		}

		for _, units := range f.db.units {
			if units != 1 {
				t.Errorf("a heartbeat takes %v write units", units)
			}
		}
	})
}

// TestTheRatesStayInAFullRow: the use of quotas is computed from the rates, so the counters are
// dropped first.
func TestTheRatesStayInAFullRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		began := time.Now()

		stop := f.run(func() processes.Report {
			r := worker()
			r.Reason, r.Counters, r.Polls = strings.Repeat("r", 500), map[string]int64{}, map[string]int64{}

			for i := range 16 {
				r.Counters[fmt.Sprintf("DescribeSomething%02d", i)] = 1_000_000 * int64(time.Since(began).Seconds())
				r.Polls[fmt.Sprint("activity ", i)] = 1
			}

			return r
		})
		defer stop()

		time.Sleep(25 * time.Second)

		if p := f.only(); len(p.Rates) != 16 || p.Rates["DescribeSomething07"] != 1_000_000 || len(p.Counters) > 0 {
			t.Errorf("rates %v, counters %v", p.Rates, p.Counters)
		}
	})
}

// TestOneProcessAtATimeSurveysTheOrders: all read before one of them writes.
func TestOneProcessAtATimeSurveysTheOrders(t *testing.T) {
	f := newFleet(t)
	now := time.Now()

	if mine, err := f.ClaimSurvey(t.Context(), now, time.Hour); mine || err != nil {
		t.Fatalf("a new table: %t, %v, want the first survey after an hour", mine, err)
	}

	if _, known, err := f.NewestSurvey(t.Context()); known || err != nil {
		t.Fatalf("before the first survey: %t, %v", known, err)
	}

	for hour := 1; hour <= 3; hour++ {
		at, turns := now.Add(time.Duration(hour)*time.Hour), make(chan bool)

		var (
			reads sync.WaitGroup
			n     atomic.Int32
		)
		reads.Add(4)
		f.db.got = func() {
			// The others then look whether a survey was asked for.
			if n.Add(1) <= 4 {
				reads.Done()
				reads.Wait()
			}
		}

		for range 4 {
			go func() {
				mine, err := f.ClaimSurvey(t.Context(), at, time.Hour)
				if err != nil {
					t.Error(err)
				}
				turns <- mine
			}()
		}

		claimed := 0
		for range 4 {
			if <-turns {
				claimed++
			}
		}

		if claimed != 1 {
			t.Errorf("hour %d: %d processes survey, want 1", hour, claimed)
		}
	}
}

func TestAnOlderSurveyDoesNotReplaceANewerOne(t *testing.T) {
	f := newFleet(t)
	now := time.Now().UTC().Truncate(time.Millisecond)

	for _, survey := range []processes.Survey{
		{At: now, Orders: 10, Stuck: map[string]int{"failed": 2, "overdue": 1}},
		{At: now.Add(-time.Hour), Orders: 9, Stuck: map[string]int{"failed": 7}},
	} {
		if err := f.StoreSurvey(t.Context(), survey); err != nil {
			t.Fatal(err)
		}
	}

	if got, known, err := f.NewestSurvey(t.Context()); err != nil || !known || got.Orders != 10 || got.Total() != 3 || !got.At.Equal(now) {
		t.Errorf("%+v, %t, %v", got, known, err)
	}
}

// TestTwoMayLookAtOnce with one watcher: each look replaces what the watcher has seen.
func TestTwoMayLookAtOnce(t *testing.T) {
	f := newFleet(t)
	f.run(worker)()
	w := f.Watcher()

	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if found, err := w.Look(t.Context()); err != nil || len(found) != 1 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
	group.Wait()
}
