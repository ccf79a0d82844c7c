package operate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/poller"
	"ratchet/streams/reactions"
)

// storeDeadLetter pays an order and stores a dead letter of its notification.
func storeDeadLetter(ctx context.Context, b *server.Backend) error {
	if err := commandtest.PlaceAndPay(ctx, b); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	fail := func(_ context.Context, r streams.Record) error {
		if r.EventName != streams.Modify {
			return nil
		}

		stop()

		return streams.Permanent(errors.New("the far side refuses\nfor good"))
	}

	poller, err := poller.New(poller.Config{
		Streams:         b.Streams,
		DynamoDB:        b.DynamoDB,
		TableName:       b.Tables.Orders,
		LeaseTable:      b.Tables.Leases,
		DeadLetterTable: b.Tables.DeadLetters,
		Owner:           "test",
		Log:             embeddedtest.Quiet(),
		Handlers:        []streams.Handler{{Name: reactions.NotifyHandler, Handle: fail}},
	})
	if err != nil {
		return err
	}

	return poller.Run(ctx)
}

func TestDeadLetterIsListedShownAndRedriven(t *testing.T) {
	s := commandtest.OrdersAt(t, storeDeadLetter)

	out, code := commandtest.Ask(t, deadLettersCommand(s), "list")
	if code != exit.OK || !strings.Contains(out, "notify") || !strings.Contains(out, "o-1") || !strings.HasSuffix(out, "the far side refuses\n") {
		t.Fatalf("list: exit status %d\n%s", code, out)
	}
	s.JSON = true
	out, _ = commandtest.Ask(t, deadLettersCommand(s), "list", reactions.NotifyHandler)
	s.JSON = false

	var l views.PrintedDeadLetter
	if err := json.Unmarshal([]byte(out), &l); err != nil || l.Order != "o-1" || l.Change != "MODIFY" || !l.Permanent || l.Attempts != 1 {
		t.Fatalf("%s: %v", out, err)
	}

	if out, code := commandtest.Ask(t, deadLettersCommand(s), "list", "journal"); code != exit.OK || strings.Contains(out, "o-1") {
		t.Errorf("another handler's list: exit status %d\n%s", code, out)
	}

	if out, code := commandtest.Ask(t, deadLettersCommand(s), "get", l.Handler, l.ID); code != exit.OK || !strings.Contains(out, "for good") {
		t.Errorf("show: exit status %d\n%s", code, out)
	}

	command := func(status int, want string, args ...string) {
		t.Helper()

		if out, code := commandtest.Ask(t, deadLettersCommand(s), args...); code != status || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d, want %d\n%s", args, code, status, out)
		}
	}
	redrives := func() int {
		t.Helper()
		s.JSON = true
		defer func() { s.JSON = false }()

		out, code := commandtest.Ask(t, deadLettersCommand(s), "get", l.Handler, l.ID)
		shown := views.PrintedDeadLetter{}

		if code == exit.NotFound {
			return -1
		}

		if err := json.Unmarshal([]byte(out), &shown); err != nil || !shown.QueuedAt.IsZero() {
			t.Errorf("%s: %v", out, err)
		}

		return shown.Redrives
	}

	command(exit.OK, "for good", "redrive", l.Handler, l.ID, "--dry-run")
	command(exit.OK, "selected: notify", "redrive", "--all", "--since", "1h", "--error", "refuses", "--dry-run")
	command(exit.OK, "", "redrive", "--all", "--error", "another text")
	command(exit.OK, "queued: notify", "redrive", l.Handler, l.ID)
	command(exit.Refused, "", "redrive", l.Handler, l.ID)
	command(exit.Refused, "waiting: ", "redrive", "--all")
	command(exit.Refused, "waiting: ", "redrive", "--order", "o-1")
	runPoller(t, s, errors.New("the far side still refuses"))

	if n := redrives(); n != 1 {
		t.Errorf("%d redrives, want one that failed", n)
	}

	command(exit.OK, "selected: notify", "redrive", "--order", "o-1", "--dry-run")
	command(exit.OK, "", "redrive", "--order", "o-2")
	command(exit.OK, "queued: notify: 1 dead letter (job ", "redrive", "--order", "o-1", "--handler", l.Handler)
	runPoller(t, s, nil)

	if n := redrives(); n != -1 {
		t.Errorf("the letter is still there, after %d redrives", n)
	}
	command(exit.NotFound, "", "redrive", l.Handler, l.ID)
	command(exit.NotFound, "", "discard", l.Handler, l.ID)
}

func TestALetterIsDiscarded(t *testing.T) {
	s := commandtest.OrdersAt(t, storeDeadLetter)
	if out, code := commandtest.Ask(t, deadLettersCommand(s), "discard", "--all", "--dry-run"); code != exit.OK || !strings.Contains(out, "selected: notify") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	if out, code := commandtest.Ask(t, deadLettersCommand(s), "discard", "--order", "o-1"); code != exit.OK || !strings.Contains(out, "discarded: notify: 1 dead letter (job ") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	if out, code := commandtest.Ask(t, deadLettersCommand(s), "list"); code != exit.OK || strings.Contains(out, "o-1") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

// runPoller runs the handlers of the stream until nothing waits in the retry queue. If refusal is
// set, the handler of notifications gives up with it.
func runPoller(t *testing.T, s *settings.Settings, refusal error) {
	t.Helper()

	err := s.With(t.Context(), func(b *server.Backend) error {
		handlers := b.Handlers()
		for i, h := range handlers {
			if h.Name == reactions.NotifyHandler {
				handlers[i].Handle = func(context.Context, streams.Record) error { return streams.Permanent(refusal) }
			}
		}

		poller, err := poller.New(poller.Config{
			Streams:         b.Streams,
			DynamoDB:        b.DynamoDB,
			TableName:       b.Tables.Orders,
			LeaseTable:      b.Tables.Leases,
			DeadLetterTable: b.Tables.DeadLetters,
			Handlers:        handlers,
			LeaseDuration:   10 * time.Second,
			PollIdle:        10 * time.Millisecond,
			Log:             embeddedtest.Quiet(),
		})
		if err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
		defer stop()

		ended := make(chan error, 1)
		go func() { ended <- poller.Run(ctx) }()

		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()

		for waiting := 1; waiting > 0 && ctx.Err() == nil; <-look.C {
			status, err := b.StreamInspector().Status(ctx)
			if err != nil {
				t.Error(err)
				break
			}

			waiting = 0
			for _, h := range status.Handlers {
				waiting += h.Records
			}
		}
		stop()

		return <-ended
	})
	if err != nil {
		t.Fatal(err)
	}
}
