package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/streams"
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

	poller, err := streams.New(streams.Config{
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
	code := report(c.ExecuteContext(t.Context()))

	return out.String(), code
}

func TestDeadLetterIsListedShownAndRedriven(t *testing.T) {
	broken := true
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer far.Close()
	s := ordersAt(t, storeDeadLetter)
	t.Setenv("RATCHET_NOTIFY", far.URL)
	t.Setenv("RATCHET_WEBHOOK_SECRET", "whsec_aD2ODFLMXPalWelLit9kTaOgpdLC0L0/TMSpm8Iy+E0=")

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
	redrive := func(status, redrives int, args ...string) {
		t.Helper()

		if out, code := ask(t, deadLettersCommand(s), append([]string{"redrive", l.Handler, l.ID}, args...)...); code != status {
			t.Errorf("redrive %v: exit status %d, want %d\n%s", args, code, status, out)
		}
		s.json = true
		defer func() { s.json = false }()

		out, code := ask(t, deadLettersCommand(s), "show", l.Handler, l.ID)
		now := printedDeadLetter{}
		switch {
		case redrives < 0 && code != exitNotFound:
			t.Errorf("the letter is still there: exit status %d\n%s", code, out)
		case redrives >= 0 && (json.Unmarshal([]byte(out), &now) != nil || now.Redrives != redrives):
			t.Errorf("exit status %d, %s; want %d redrives", code, out, redrives)
		}
	}
	redrive(exitOK, 0)
	redrive(exitRefused, 1, "--write")
	broken = false
	redrive(exitOK, -1, "--write")
	redrive(exitNotFound, -1, "--write")
}

func TestReplayedEditIsDescribedWithoutItsOrder(t *testing.T) {
	if got := describeEdit("o-1", transitions.EditResult{Verdict: transitions.Replayed}); got != "Replayed: order o-1" {
		t.Errorf("%q", got)
	}
}
