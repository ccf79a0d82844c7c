package settings

import (
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/embedded/embeddedtest"
	"ratchet/operate/audit"
	"ratchet/server"
)

func TestTheResultOfAnActIsItsExitStatus(t *testing.T) {
	for _, row := range []struct {
		err    error
		result audit.Result
		code   string
	}{
		{nil, audit.Done, ""},
		{exit.UsageError("x"), audit.Refused, "invalid"},
		{exit.With(exit.Refused, nil), audit.Refused, "refused"},
		{exit.ErrNotFound, audit.Refused, "not_found"},
		{exit.With(exit.Failure, nil), audit.Failed, "exit_1"},
	} {
		if result, code := resultOf(row.err); result != row.result || code != row.code {
			t.Errorf("%v: %s %q, want %s %q", row.err, result, code, row.result, row.code)
		}
	}
}

// TestWithoutItsRowNothingIsDone: without a row, the act is refused before anything is written.
func TestWithoutItsRowNothingIsDone(t *testing.T) {
	b, err := server.Embed(server.Config{Data: t.TempDir(), Notify: "none"}.WithDefaults(), embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	s := &Settings{Act: &audit.Entry{Act: "keys revoke"}}
	called := false

	err = s.Audited(t.Context(), b, func(*server.Backend) error {
		called = true
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "nothing was done") || called {
		t.Errorf("without the table: %v, called: %t", err, called)
	}
}
