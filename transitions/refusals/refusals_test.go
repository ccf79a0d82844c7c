package refusals_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions/refusals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// refusalLog is a log of refusals over an engine, behind a transport, on the clock of a bubble.
type refusalLog struct {
	*refusals.Log

	t    *testing.T
	wire *embeddedtest.Transport
	// ahead is how far the log's clock is ahead of the bubble's clock.
	ahead atomic.Int64
}

func onRefusalLog(t *testing.T, test func(*refusalLog)) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		engine := embeddedtest.Open(t)
		cfg := engine.AWSConfig()
		wire := embeddedtest.Intercept(&cfg)
		db := dynamodb.NewFromConfig(cfg)
		embeddedtest.Create(t, db, refusals.TableInput("refusals"))

		l := &refusalLog{t: t, wire: wire}

		var err error
		l.Log, err = refusals.New(refusals.Config{
			DynamoDB: db,
			Table:    "refusals",
			Log:      embeddedtest.Quiet(),
		})
		if err != nil {
			t.Fatal(err)
		}
		l.SetNow(func() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) })

		test(l)
	})
}

// run runs the log until the function that it returns is called.
func (l *refusalLog) run() (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()

	return func() {
		cancel()

		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	}
}

func (l *refusalLog) of(order string) refusals.Entries {
	l.t.Helper()

	found, err := l.Of(l.t.Context(), order)
	if err != nil {
		l.t.Fatal(err)
	}

	return found
}

func ship(order string) refusals.Refusal {
	return refusals.Refusal{Order: order, Event: "ship", Code: "WrongState", Text: "the order was PENDING", Source: "api"}
}

func TestARefusalIsWrittenAfterItWasNoted(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		l.Note(ship("o-1"))

		if n := l.wire.Count(); n != 1 { // the table was created
			t.Errorf("%d calls: Note must make none", n)
		}

		stop := l.run()
		defer stop()
		synctest.Wait()

		found := l.of("o-1")
		if len(found.List) != 1 || found.More != 0 {
			t.Fatalf("%+v", found)
		}

		e := found.List[0]
		if e.Event != "ship" || e.Code != "WrongState" || e.Text != "the order was PENDING" || e.Source != "api" || e.Count != 1 || !e.First.Equal(e.Last) || e.Last.IsZero() {
			t.Errorf("%+v", e)
		}

		if other := l.of("o-2"); other.List == nil || len(other.List) != 0 {
			t.Errorf("another order has %+v", other)
		}
	})
}

// TestTheSameRefusalIsWrittenOnceInTenSeconds, however often it is noted, and counts.
func TestTheSameRefusalIsWrittenOnceInTenSeconds(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		stop := l.run()
		defer stop()

		began := time.Now()

		for range 600 {
			l.Note(ship("o-1"))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)

		e := l.of("o-1").List[0]
		if e.Count != 600 || !e.First.Equal(began.Truncate(time.Millisecond)) || e.Last.Sub(e.First) < 59*time.Second {
			t.Errorf("%+v", e)
		}

		// The first takes one write; a later one finds the item by a condition that fails.
		if n := l.wire.Count("UpdateItem"); n > 14 {
			t.Errorf("%d writes", n)
		}
	})
}

func TestAProcessWritesTwentyInASecond(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		for i := range 100 {
			l.Note(ship(fmt.Sprintf("o-%d", i)))
		}

		stop := l.run()
		defer stop()
		synctest.Wait()

		if n := l.wire.Count("UpdateItem"); n != 20 {
			t.Errorf("%d writes at once", n)
		}

		time.Sleep(4 * time.Second)
		synctest.Wait()

		if n := l.wire.Count("UpdateItem"); n != 100 || l.Dropped() != 0 {
			t.Errorf("%d writes, %d dropped", n, l.Dropped())
		}
	})
}

func TestMemoryAndItemsAreBounded(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		for i := range 1007 {
			l.Note(ship(fmt.Sprintf("o-%d", i)))
		}

		if n := l.Dropped(); n != 7 {
			t.Errorf("%d dropped", n)
		}

		for i := range 12 {
			l.Note(refusals.Refusal{Order: "o-0", Event: fmt.Sprintf("event-%d", i), Code: "WrongState", Text: strings.Repeat("é", 300)})
		}

		if n := l.Dropped(); n != 19 {
			t.Errorf("%d dropped", n)
		}
	})

	onRefusalLog(t, func(l *refusalLog) {
		for i := range 12 {
			l.Note(refusals.Refusal{Order: "o-1", Event: fmt.Sprintf("event-%d", i), Code: "WrongState", Text: strings.Repeat("é", 300)})
		}

		if err := l.Flush(l.t.Context()); err != nil {
			t.Fatal(err)
		}

		found := l.of("o-1")
		if len(found.List) != 8 || found.More != 4 || l.Dropped() != 0 || len(found.List[0].Text) != 200 {
			t.Errorf("%d entries, %d more: %+v", len(found.List), found.More, found.List[0])
		}
	})
}

func TestRefusalsAreForgottenAfterAWeek(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		l.Note(ship("o-1"))
		_ = l.Flush(l.t.Context())

		l.ahead.Store(int64(7*24*time.Hour + 2*time.Second))

		if found := l.of("o-1"); len(found.List) != 0 {
			t.Errorf("an expired item counts: %+v", found)
		}

		// The engine's sweep does not run: the new one takes the place of the expired item.
		cancel := ship("o-1")
		cancel.Event = "cancel"
		l.Note(cancel)
		_ = l.Flush(l.t.Context())

		if found := l.of("o-1"); len(found.List) != 1 || found.List[0].Event != "cancel" {
			t.Errorf("%+v", found)
		}
	})
}

func TestWhatCannotBeWrittenIsDropped(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		l.wire.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem"))
		l.Note(ship("o-1"))
		l.Note(ship("o-1"))

		stop := l.run()
		synctest.Wait()
		stop()

		if n := l.Dropped(); n != 2 {
			t.Errorf("%d dropped", n)
		}
	})
}

func TestAStopWritesWhatIsLeft(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		stop := l.run()
		l.Note(ship("o-1"))
		synctest.Wait()
		l.Note(ship("o-1")) // not due for ten seconds
		synctest.Wait()
		stop()

		if e := l.of("o-1").List[0]; e.Count != 2 {
			t.Errorf("%+v", e)
		}
	})
}

// TestAStopFinishesTheWriteUnderWay stops the process after a write has begun.
func TestAStopFinishesTheWriteUnderWay(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		ctx, stop := context.WithCancel(l.t.Context())
		l.wire.Before(func(*embeddedtest.Call) error {
			stop()
			return nil
		})
		l.Note(ship("o-1"))

		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}

		l.wire.Clear()

		if got := l.of("o-1"); len(got.List) != 1 || l.Dropped() != 0 {
			t.Errorf("%+v, %d dropped", got, l.Dropped())
		}
	})
}

func TestADescriptionIsMadeWhenItIsWritten(t *testing.T) {
	onRefusalLog(t, func(l *refusalLog) {
		r := ship("o-1")
		asked := false
		r.Describe = func(context.Context) string {
			asked = true
			return "out of stock: mug, wanted 2, 1 left"
		}
		l.Note(r)

		if asked {
			t.Error("Note asked")
		}
		_ = l.Flush(l.t.Context())

		if e := l.of("o-1").List[0]; e.Text != "out of stock: mug, wanted 2, 1 left" {
			t.Errorf("%+v", e)
		}
	})
}
