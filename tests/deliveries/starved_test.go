//go:build unix

package deliveries

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/webhooks"
)

var (
	flagStarvedRounds  = flag.Int("starved-rounds", 1, "rounds of TestAStarvedWorkerLosesNothing")
	flagStarvedNotices = flag.Int("starved-notices", 100, "notifications of each round")
)

// Of each period a starved process may run for a while only.
const starvedPeriod, starvedRun = 60 * time.Millisecond, 20 * time.Millisecond

// starvedLimit is how long a round may take. An endpoint whose attempts fail has one place, so it is slow.
const starvedLimit = 5 * time.Minute

// starve suspends the process for most of each period, as a machine does whose processors belong to others, until the
// returned function is called. Now and then it is suspended for so long that its attempts run into their time-out.
func starve(t *testing.T, p *process, long time.Duration) (feed func()) {
	t.Helper()

	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)

		for n := 1; ; n++ {
			pause := starvedPeriod - starvedRun
			if n%20 == 5 {
				pause = long
			}
			_ = p.cmd.Process.Signal(syscall.SIGSTOP)

			select {
			case <-end:
			case <-time.After(pause):
			}
			_ = p.cmd.Process.Signal(syscall.SIGCONT)

			select {
			case <-end:
				return
			case <-time.After(starvedRun):
			}
		}
	}()

	return func() {
		close(end)
		<-ended
	}
}

// TestAStarvedWorkerLosesNothing: a worker and a receiver that get a third of a processor, and none at all for longer than an
// attempt may take, deliver each notification. Each has a row, and a row with several attempts says why.
func TestAStarvedWorkerLosesNothing(t *testing.T) {
	for round := range *flagStarvedRounds {
		starvedRound(t, round, *flagStarvedNotices)
	}
}

func starvedRound(t *testing.T, round, want int) {
	t.Helper()

	engine := httptest.NewServer(embeddedtest.Open(t).Handler())
	defer engine.Close()

	secret := webhooks.NewSecret()

	far := start(t, envRole+"=receiver", envSecret+"="+secret.Reveal())
	if !far.out.Scan() {
		t.Fatal("the receiver did not start")
	}
	target := far.out.Text()

	db, endpoints, err := newEndpoints(engine.URL)
	if err != nil {
		t.Fatal(err)
	}
	embeddedtest.Create(t, db, notify.EndpointTableInput("endpoints"), notify.DeliveryTableInput("deliveries"))

	if _, err := endpoints.Create(t.Context(), "good", notify.Settings{Destination: target + "/good"}, secret); err != nil {
		t.Fatal(err)
	}

	worker := start(t, envRole+"=worker", envEngine+"="+engine.URL)
	feedReceiver, feedWorker := starve(t, far, 2*attemptTimeout), starve(t, worker, attemptTimeout)

	for n := range want {
		if line := fmt.Sprintf("o-%05d/2", n); !worker.accept(line) {
			t.Fatalf("%s was not acknowledged", line)
		}
	}

	d, _, err := newDeliveries(engine.URL)
	if err != nil {
		t.Fatal(err)
	}

	var rows []notify.Delivery
	wait(t, starvedLimit, func() (bool, string) {
		rows = nil
		ended, late := 0, ""
		if err := d.Scan(t.Context(), func(one notify.Delivery) bool {
			rows = append(rows, one)
			if one.Status == notify.Delivered {
				ended++
			} else {
				late = fmt.Sprintf("; %s: %s, attempt %d, next try in %s, last error %q, tries %+v", one.ID(), one.Status, one.Attempts, time.Until(one.NextTry).Round(time.Second), one.Error, one.Tries)
			}

			return true
		}); err != nil {
			t.Fatal(err)
		}

		return ended == want, fmt.Sprintf("round %d: %d of %d delivered, %d rows%s", round, ended, want, len(rows), late)
	})
	feedWorker()
	feedReceiver()

	if len(rows) != want {
		t.Errorf("round %d: %d rows for %d notifications", round, len(rows), want)
	}

	again, latest := 0, time.Duration(0)
	for _, row := range rows {
		latest = max(latest, row.TriedAt.Sub(row.At))

		if row.Attempts == 1 {
			continue
		}
		again++

		// The one that succeeded, and those before it that ended. An attempt that another one took over has no end.
		if len(row.Tries) == 0 {
			t.Errorf("round %d: %s took %d attempts and does not say why", round, row.ID(), row.Attempts)
		}
	}

	if n := len(read[ledger](t, target).Effects["/good"]); n != want {
		t.Errorf("round %d: %d effects, want %d", round, n, want)
	}
	t.Logf("round %d: %d notifications, %d of them by several attempts, the latest after %s", round, want, again, latest.Round(time.Millisecond))

	worker.kill()
	far.kill()
}
