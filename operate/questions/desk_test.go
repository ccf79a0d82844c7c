package questions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/processes"
	"ratchet/operate/questions"
)

// office is a table, and processes with desks that share it.
type office struct {
	t     *testing.T
	store *processes.Store
}

func newOffice(t *testing.T) *office {
	t.Helper()

	db := dynamodb.NewFromConfig(embeddedtest.Backend(t))
	embeddedtest.Create(t, db, processes.TableInput("processes"))

	store, err := processes.New(processes.Config{DynamoDB: db, Table: "processes"})
	if err != nil {
		t.Fatal(err)
	}

	return &office{t, store}
}

// open begins a process with a desk. stop ends it.
func (o *office) open(ask func(context.Context, *questions.Run) error) (desk *questions.Desk, stop func()) {
	o.t.Helper()

	desk, err := questions.New(questions.Config{
		Store: o.store, Log: embeddedtest.Quiet(),
		Questions: map[string]questions.Question{"verify": {Answer: ask}, "doctor": {Shared: true, Answer: ask}},
	})
	if err != nil {
		o.t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(o.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- desk.Run(ctx) }()

	return desk, func() {
		cancel()

		if err := <-ended; err != nil {
			o.t.Error(err)
		}
	}
}

// ask asks, and wants the error.
func (o *office) ask(desk *questions.Desk, owner, name string, want error) {
	o.t.Helper()

	if _, err := desk.Ask(o.t.Context(), owner, name, "key:ann"); !errors.Is(err, want) {
		o.t.Errorf("ask %s for %q: %v, want %v", name, owner, err, want)
	}
}

// state returns a question in short.
func (o *office) state(desk *questions.Desk, owner, name string) string {
	o.t.Helper()

	q, err := desk.Get(o.t.Context(), owner, name)
	if err != nil {
		o.t.Fatal(err)
	}

	found, err := desk.Findings(o.t.Context(), owner, q)
	if err != nil {
		o.t.Fatal(err)
	}

	text := fmt.Sprintf("runs %t, looked %d, problem %q", q.Runs(time.Now()), q.Looked, q.Problem)
	if a := q.Answer; a != nil {
		text += fmt.Sprintf(", %v, found %d, shown %d", a.Counts, a.Found, len(found))
	}

	return text
}

func (o *office) want(desk *questions.Desk, owner, name, want string) {
	o.t.Helper()

	if got := o.state(desk, owner, name); got != want {
		o.t.Errorf("%s of %q: %s\nwant %s", name, owner, got, want)
	}
}

// blocks answers when it is let, and finds n things.
func blocks(let chan int) func(context.Context, *questions.Run) error {
	return func(ctx context.Context, r *questions.Run) error {
		r.Looked(5)

		select {
		case n := <-let:
			for i := range n {
				r.Found(processes.Finding{Kind: "gap", Subject: fmt.Sprintf("o-%d", i), Text: strings.Repeat("é", 2000)})
			}
			r.Count("orders", 5+n)

			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const (
	never   = `runs false, looked 0, problem ""`
	running = `runs true, looked 5, problem ""`
)

// TestAQuestionIsAnsweredOnceAtATime: of all processes one answers it for an owner; another owner's run is its own; a process does two
// at a time; and the progress is stored while a run goes on.
func TestAQuestionIsAnsweredOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, let := newOffice(t), make(chan int)
		first, stop := o.open(blocks(let))
		defer stop()
		second, stopSecond := o.open(blocks(let))
		defer stopSecond()

		o.want(first, "acme", "verify", never)
		o.ask(first, "acme", "verify", nil)
		o.ask(first, "acme", "verify", questions.ErrRuns)
		o.ask(second, "acme", "verify", questions.ErrRuns)
		o.ask(first, "acme", "none", questions.ErrUnknown)
		o.ask(first, "other", "verify", nil)
		o.ask(first, "", "verify", questions.ErrBusy)
		o.ask(second, "", "verify", nil)

		time.Sleep(10 * time.Minute) // virtual; many leases
		o.want(second, "acme", "verify", running)
		o.ask(second, "acme", "verify", questions.ErrRuns)

		for range 3 {
			let <- 150
		}
		synctest.Wait()

		// An answer has the first 100 findings, each cut.
		o.want(second, "acme", "verify", `runs false, looked 5, problem "", map[orders:155], found 150, shown 100`)

		// The next run shows the answer before until it has its own.
		o.ask(second, "acme", "verify", nil)
		time.Sleep(time.Minute)
		o.want(first, "acme", "verify", running+`, map[orders:155], found 150, shown 100`)
		let <- 0
		synctest.Wait()
		o.want(first, "acme", "verify", `runs false, looked 5, problem "", map[orders:5], found 0, shown 0`)
	})
}

// TestARunEndsInTime: after an hour, with its process, and with its lease; each time the answer before stays, and the question can be
// asked again.
func TestARunEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, let := newOffice(t), make(chan int)
		desk, stop := o.open(blocks(let))

		const before = `, map[orders:6], found 1, shown 1`
		o.ask(desk, "", "doctor", nil)
		let <- 1
		synctest.Wait()

		o.ask(desk, "", "doctor", nil)
		time.Sleep(61 * time.Minute)
		o.want(desk, "", "doctor", `runs false, looked 5, problem "too_long"`+before)

		o.ask(desk, "", "doctor", nil)
		synctest.Wait()
		stop()
		o.want(desk, "", "doctor", `runs false, looked 5, problem "stopped"`+before)
		o.ask(desk, "", "doctor", questions.ErrStopped)

		// A process that is killed stores no end.
		if _, mine, err := o.store.StartQuestion(t.Context(), "", "doctor", "key:ann", time.Now(), 30*time.Second); !mine || err != nil {
			t.Fatal(mine, err)
		}
		other, stopOther := o.open(blocks(let))
		defer stopOther()

		o.ask(other, "", "doctor", questions.ErrRuns)
		time.Sleep(31 * time.Second)
		o.want(other, "", "doctor", `runs false, looked 0, problem "interrupted"`+before)
		o.ask(other, "", "doctor", nil)
		let <- 2
		synctest.Wait()
		o.want(other, "", "doctor", `runs false, looked 5, problem "", map[orders:7], found 2, shown 2`)
	})
}

// TestARunWithoutItsLeaseStoresNothing: another process has begun the question since.
func TestARunWithoutItsLeaseStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		ctx := t.Context()

		late, _, err := o.store.StartQuestion(ctx, "", "doctor", "key:ann", time.Now(), 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}

		time.Sleep(time.Minute)

		newer, mine, err := o.store.StartQuestion(ctx, "", "doctor", "key:bob", time.Now(), 30*time.Second)
		if err != nil || !mine {
			t.Fatal(mine, err)
		}

		if mine, err := o.store.HoldQuestion(ctx, "", late, 1, time.Now().Add(time.Hour)); mine || err != nil {
			t.Errorf("the late run goes on: %t, %v", mine, err)
		}

		newer.EndedAt, late.EndedAt = time.Now(), time.Now()
		answer := func(run processes.Question, subject string) *processes.Answer {
			return &processes.Answer{AskedAt: run.AskedAt, At: run.EndedAt, Found: 1, Findings: []processes.Finding{{Kind: "gap", Subject: subject}}}
		}

		if err := errors.Join(
			o.store.EndQuestion(ctx, "", newer, answer(newer, "newer"), ""),
			o.store.EndQuestion(ctx, "", late, answer(late, "late"), ""),
		); err != nil {
			t.Fatal(err)
		}

		q, err := o.store.Question(ctx, "", "doctor")
		if err != nil || q.By != "key:bob" || q.Answer == nil || !q.Answer.AskedAt.Equal(newer.AskedAt) {
			t.Fatalf("%+v, %v", q, err)
		}

		if found, err := o.store.Findings(ctx, "", q); err != nil || len(found) != 1 || found[0].Subject != "newer" {
			t.Errorf("%+v, %v", found, err)
		}

		// A week after its end there is no answer.
		old, _, err := o.store.StartQuestion(ctx, "", "verify", "key:ann", time.Now(), 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		old.EndedAt = time.Now().Add(-8 * 24 * time.Hour)

		if err := o.store.EndQuestion(ctx, "", old, answer(old, "old"), ""); err != nil {
			t.Fatal(err)
		}

		if q, err := o.store.Question(ctx, "", "verify"); err != nil || q.Answer != nil || !q.AskedAt.IsZero() {
			t.Errorf("%+v, %v", q, err)
		}
	})
}

// TestADeskNeedsItsParts.
func TestADeskNeedsItsParts(t *testing.T) {
	if _, err := questions.New(questions.Config{}); err == nil || strings.Count(err.Error(), "questions: Config.") != 2 {
		t.Error(err)
	}
}
