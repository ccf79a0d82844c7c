package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/poller"
	"ratchet/streams/reactions"
	"ratchet/transitions"
)

// storeDeadLetter pays an order and stores a dead letter of its notification.
func storeDeadLetter(ctx context.Context, b *server.Backend) error {
	if err := placeAndPay(ctx, b); err != nil {
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

func ask(t *testing.T, c *cobra.Command, args ...string) (string, int) {
	t.Helper()
	var out, diagnosis bytes.Buffer
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&diagnosis)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{exitUsage, flagError(err)} }) // as the root's
	code := report(c.ExecuteContext(t.Context()))

	return out.String(), code
}

func TestDeadLetterIsListedShownAndRedriven(t *testing.T) {
	s := ordersAt(t, storeDeadLetter)

	out, code := ask(t, deadLettersCommand(s), "list")
	if code != exitOK || !strings.Contains(out, "notify") || !strings.Contains(out, "o-1") || !strings.HasSuffix(out, "the far side refuses\n") {
		t.Fatalf("list: exit status %d\n%s", code, out)
	}
	s.json = true
	out, _ = ask(t, deadLettersCommand(s), "list", reactions.NotifyHandler)
	s.json = false

	var l printedDeadLetter
	if err := json.Unmarshal([]byte(out), &l); err != nil || l.Order != "o-1" || l.Change != "MODIFY" || !l.Permanent || l.Attempts != 1 {
		t.Fatalf("%s: %v", out, err)
	}

	if out, code := ask(t, deadLettersCommand(s), "list", "journal"); code != exitOK || strings.Contains(out, "o-1") {
		t.Errorf("another handler's list: exit status %d\n%s", code, out)
	}

	if out, code := ask(t, deadLettersCommand(s), "show", l.Handler, l.ID); code != exitOK || !strings.Contains(out, "for good") {
		t.Errorf("show: exit status %d\n%s", code, out)
	}

	command := func(status int, want string, args ...string) {
		t.Helper()

		if out, code := ask(t, deadLettersCommand(s), args...); code != status || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d, want %d\n%s", args, code, status, out)
		}
	}
	redrives := func() int {
		t.Helper()
		s.json = true
		defer func() { s.json = false }()

		out, code := ask(t, deadLettersCommand(s), "show", l.Handler, l.ID)
		shown := printedDeadLetter{}

		if code == exitNotFound {
			return -1
		}

		if err := json.Unmarshal([]byte(out), &shown); err != nil || !shown.QueuedAt.IsZero() {
			t.Errorf("%s: %v", out, err)
		}

		return shown.Redrives
	}

	command(exitOK, "for good", "redrive", l.Handler, l.ID, "--dry-run")
	command(exitOK, "selected: notify", "redrive", "--all", "--since", "1h", "--error", "refuses", "--dry-run")
	command(exitOK, "", "redrive", "--all", "--error", "another text")
	command(exitOK, "queued: notify", "redrive", l.Handler, l.ID)
	command(exitRefused, "", "redrive", l.Handler, l.ID)
	command(exitRefused, "is being redriven", "redrive", "--all")
	runPoller(t, s, errors.New("the far side still refuses"))

	if n := redrives(); n != 1 {
		t.Errorf("%d redrives, want one that failed", n)
	}

	command(exitOK, "queued: notify", "redrive", "--all", "--handler", l.Handler)
	runPoller(t, s, nil)

	if n := redrives(); n != -1 {
		t.Errorf("the letter is still there, after %d redrives", n)
	}
	command(exitNotFound, "", "redrive", l.Handler, l.ID)
	command(exitNotFound, "", "discard", l.Handler, l.ID)
}

// runPoller runs the handlers of the stream until nothing waits in the retry queue. If refusal is
// set, the handler of notifications gives up with it.
func runPoller(t *testing.T, s *settings, refusal error) {
	t.Helper()

	err := s.with(t.Context(), func(b *server.Backend) error {
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
			LeaseDuration:   time.Second,
			PollIdle:        10 * time.Millisecond,
			Log:             embeddedtest.Quiet(),
		})
		if err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(t.Context(), expectWithin)
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

func TestALetterIsDiscarded(t *testing.T) {
	s := ordersAt(t, storeDeadLetter)
	if out, code := ask(t, deadLettersCommand(s), "discard", "--all", "--dry-run"); code != exitOK || !strings.Contains(out, "selected: notify") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	if out, code := ask(t, deadLettersCommand(s), "discard", "--all", "--handler", "notify"); code != exitOK || !strings.Contains(out, "discarded: notify") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	if out, code := ask(t, deadLettersCommand(s), "list"); code != exitOK || strings.Contains(out, "o-1") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

func TestReplayedEditIsDescribedWithoutItsOrder(t *testing.T) {
	if got := describeEdit("o-1", transitions.Result{Verdict: transitions.Replayed}); got != "Replayed: order o-1" {
		t.Errorf("%q", got)
	}
}
