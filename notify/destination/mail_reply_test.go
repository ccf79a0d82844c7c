package destination_test

import (
	"errors"
	"strings"
	"testing"

	"ratchet/notify"
)

// spellings are how a server may show the address ada.l@example.com of Ada.
const spellings = `<ADA.L@Example.com> ada.l "ada.l"@example.com Ada ada.l%40example.com YWRhLmxAZXhhbXBsZS5jb20= =?utf-8?q?ada=2El?= 5.1.1`

// TestARefusalOfOneCustomerSaysNothingAboutTheServer: which answers do, by command, code and enhanced
// status code. No answer and no error has a text of the server.
func TestARefusalOfOneCustomerSaysNothingAboutTheServer(t *testing.T) {
	const (
		skipped   = "skipped"         // there is no such mailbox
		recipient = "recipient"       // only this one, tried again
		missed    = "recipient ended" // only this one, not tried again
		rejected  = "rejected"        // not tried again, a failure of the endpoint
		failed    = "failed"          // tried again, a failure of the endpoint
	)

	for _, test := range []struct{ command, reply, want, shown string }{
		{"RCPT", "550", skipped, ""},
		{"RCPT", "551", skipped, ""},
		{"RCPT", "553", skipped, ""},
		{"RCPT", "556", skipped, ""},
		{"RCPT", "550 5.1.1", skipped, "5.1.1"},
		{"RCPT", "554 5.1.10", skipped, "5.1.10"},
		{"RCPT", "550 5.0.0", skipped, "5.0.0"},
		{"RCPT", "552", missed, ""},
		{"RCPT", "554", missed, ""},
		{"RCPT", "552 5.2.2", missed, "5.2.2"},
		{"RCPT", "554 5.2.1", missed, "5.2.1"},
		{"RCPT", "550 5.2.2", missed, "5.2.2"},
		{"RCPT", "450", recipient, ""},
		{"RCPT", "450 4.2.0", recipient, "4.2.0"},
		{"RCPT", "452 4.2.2", recipient, "4.2.2"},
		{"RCPT", "451 4.1.1", recipient, "4.1.1"},

		// About the rights of the sender, or about the server.
		{"RCPT", "550 5.7.1", rejected, "5.7.1"},
		{"RCPT", "554 5.7.1", rejected, "5.7.1"},
		{"RCPT", "553 5.1.7", rejected, "5.1.7"},
		{"RCPT", "553 5.1.8", rejected, "5.1.8"},
		{"RCPT", "552 5.3.4", rejected, "5.3.4"},
		{"RCPT", "503 5.5.1", rejected, "5.5.1"},
		{"RCPT", "530", rejected, ""},
		{"RCPT", "451", failed, ""},
		{"RCPT", "452", failed, ""},
		{"RCPT", "452 4.5.3", failed, "4.5.3"},
		{"RCPT", "450 4.7.1", failed, "4.7.1"},
		{"RCPT", "421 4.3.2", failed, "4.3.2"},
		{"RCPT", "550 4.2.2", skipped, ""}, // two classes: only the code counts

		{"MAIL", "550", rejected, ""},
		{"MAIL", "550 5.1.1", rejected, "5.1.1"},
		{"MAIL", "452 4.2.2", failed, "4.2.2"},
		{"DATA", "554", rejected, ""},
		{"DATA", "451", failed, ""},
		{".", "554", rejected, ""},
		{".", "552 5.3.4", rejected, "5.3.4"},
		{".", "550 5.7.1", rejected, "5.7.1"},
		{".", "550", rejected, ""},
		{".", "550 5.1.1", skipped, "5.1.1"},
		{".", "552 5.2.2", missed, "5.2.2"},
		{".", "452 4.2.2", recipient, "4.2.2"},
		{"MAIL", "", failed, ""},
		{"RCPT", "", failed, ""},
		{"RCPT", "what", failed, ""},
		{".", "", failed, ""},
	} {
		server, through := startMailServer(t)
		server.answers = map[string]string{test.command: test.reply}

		if test.reply != "" {
			server.answers[test.command] += " " + spellings
		}

		answer, err := sendToCustomer(t, through, orderOf("ada.l@example.com"))
		if err == nil {
			t.Fatalf("%s: %s: was sent", test.command, test.reply)
		}

		got := failed
		switch ended := errors.Is(err, notify.ErrRejected); {
		case errors.Is(err, notify.ErrSkipped):
			got = skipped
		case errors.Is(err, notify.ErrRecipient) && ended:
			got = missed
		case errors.Is(err, notify.ErrRecipient):
			got = recipient
		case ended:
			got = rejected
		}

		if got != test.want || answer.Text != test.shown {
			t.Errorf("%s: %s: %s (%v), %q, want %s, %q", test.command, test.reply, got, err, answer.Text, test.want, test.shown)
		}

		if code, _, _ := strings.Cut(test.reply, " "); len(code) == 3 && !strings.Contains(err.Error(), code) {
			t.Errorf("%s: %s: %v has no code", test.command, test.reply, err)
		}

		for _, part := range strings.Fields(spellings + " ada example") {
			if part != "5.1.1" && strings.Contains(strings.ToLower(answer.Text+" "+err.Error()), strings.ToLower(part)) {
				t.Errorf("%s: %s: shows %s in %q, %v", test.command, test.reply, part, answer.Text, err)
			}
		}
	}
}
