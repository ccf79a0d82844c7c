package cli

import (
	"context"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

// TestDeadLettersOfAHandlerThatIsOffAreShown: workers with other settings have written them.
// The advice that is printed can be followed without such workers.
func TestDeadLettersOfAHandlerThatIsOffAreShown(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		return commandtest.UnreadableLetter(ctx, b, "refund", "o-1")
	})

	for command, want := range map[string]string{
		"deadletters list":  "letter-of-o-1",
		"executions repair": "try: ratchet deadletters get refund letter-of-o-1 --refund-returns\n",
		"status":            "`ratchet deadletters list refund --refund-returns`",
	} {
		out, _ := printed(t, s, strings.Fields(command)...)
		if text := out.String(); !strings.Contains(text, want) || strings.Contains(text, "handler lists") {
			t.Errorf("%s printed\n%s\nwant %s, and nothing of the other handler that is off", command, text, want)
		}
	}

	if out, code := printed(t, s, "deadletters", "get", "refund", "letter-of-o-1", "--refund-returns"); code != exit.OK {
		t.Errorf("the command that was shown: exit status %d\n%s", code, out.String())
	}
}
