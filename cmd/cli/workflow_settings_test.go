package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/server"
)

// `workflow check` and `workflow show` are about what a process with the same settings would run, its times included.
func TestTheWorkflowIsThatOfTheSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ratchet.yaml")
	t.Setenv("RATCHET_CONFIG", file)

	output := func(settings string, args ...string) string {
		t.Helper()

		if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}

		var out bytes.Buffer
		root := newRoot(server.Parts{})
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&out)
		_ = root.ExecuteContext(t.Context()) // a machine that does not fit the definition is an error, and the report says so

		return out.String()
	}

	ticket, err := filepath.Abs("../../examples/ticket")
	if err != nil {
		t.Fatal(err)
	}
	own := "order-definition: " + ticket + "/workflow.yaml\n"
	adopt := filepath.Join(filepath.Dir(ticket), "adopt")
	adopted := "order-definition: " + adopt + "/workflow.yaml\nstate-machine: " + adopt + "/statemachine.asl.json\n"

	for _, row := range []struct {
		settings, want string
		args           []string
	}{
		{"expire-unpaid: 30m\n", "expire from time", []string{"workflow", "check"}},
		{"expire-unpaid: 30m\n", "expire from time", []string{"workflow", "check", "../../statemachine.asl.json"}},
		{"expire-unpaid: 30m\n", "expire after 30m", []string{"workflow", "show"}},
		{own, "19 errors", []string{"workflow", "check"}},
		{adopted, ": 7 states", []string{"workflow", "check"}},
		{own, " 0 errors", []string{"workflow", "check", ticket + "/statemachine.asl.json"}},
	} {
		if text := output(row.settings, row.args...); !strings.Contains(text, row.want) {
			t.Errorf("%v with %q does not say %q:\n%s", row.args, row.settings, row.want, text)
		}

		if text := output("prefix: x-\n", row.args...); strings.Contains(text, row.want) && !strings.Contains(row.settings, own) {
			t.Errorf("%v says %q without the setting", row.args, row.want)
		}
	}
}
