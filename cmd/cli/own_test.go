package cli

import (
	"strings"
	"testing"
)

// Own attributes are placed, changed with a transition and by an edit, and shown, from the command line.
func TestOwnAttributesFromTheCommandLine(t *testing.T) {
	data := t.TempDir()
	run := func(status int, args ...string) string {
		t.Helper()

		out, got := runIn(t, data, args...)
		if got != status {
			t.Errorf("%q: exit status %d, want %d: %s", args, got, status, out)
		}

		return out
	}
	run(0, "orders", "create", "o-1", "--no-execution", "--total", "5", "--set", "color=dark red", "--set", `size={"N":"3"}`)
	run(0, "orders", "edit", "set-own", "o-1", "--set", "empty=", "--remove", "size", "--if", `size={"N":"3"}`)
	run(3, "orders", "apply", "o-1", "hold", "--set", "a=b", "--if", "color=blue")
	run(0, "orders", "apply", "o-1", "hold", "--set", `a={"L":[{"S":"x"}]}`, "--if", "color=dark red", "--if-missing", "a")

	shown := run(0, "orders", "get", "o-1")
	for _, want := range []string{"own color ", "dark red", "own empty", `{"a":{"L":[{"S":"x"}]}}`} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}

	if shown = run(0, "orders", "get", "o-1", "--json"); !strings.Contains(strings.Join(strings.Fields(shown), ""), `"color":{"S":"darkred"}`) {
		t.Errorf("as JSON:\n%s", shown)
	}

	for _, wrong := range [][]string{
		{"orders", "apply", "o-1", "release", "--set", "a"},
		{"orders", "apply", "o-1", "release", "--set", "a=1", "--set", "a=2"},
		{"orders", "apply", "o-1", "release", "--set", `a={"N":3}`},
		{"orders", "edit", "set-own", "o-1"},
	} {
		run(2, wrong...)
	}

	if out := run(2, "orders", "apply", "o-1", "release", "--set", "total=secret"); !strings.Contains(out, `own/set/total: attribute "total": is one of Ratchet's fields`) || strings.Contains(out, "secret") {
		t.Error(out)
	}
}
