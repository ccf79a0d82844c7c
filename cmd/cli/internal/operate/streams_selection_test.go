package operate

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
)

// TestReplayAndRebuildOfOrders: both take the same selection. No worker runs, so the stream has no
// handled records.
func TestReplayAndRebuildOfOrders(t *testing.T) {
	s := commandtest.OrdersAt(t, commandtest.PlaceAndPay)

	for _, c := range []struct {
		about string
		args  string
		exit  int
		want  []string // lines, or their beginnings
	}{
		{about: "a replay needs a selection", args: "replay", exit: exit.Usage, want: []string{"replay takes at least one of --since, --order and --handler"}},
		{about: "the bound of a replay", args: "replay --order o-1 --max-waiting 0", exit: exit.Usage, want: []string{"max-waiting 0: 1 to 100000"}},
		{about: "the bound of a rebuild", args: "rebuild --rate 1001", exit: exit.Usage, want: []string{"rate 1001: 1 to 1000"}},
		{about: "no time", args: "rebuild --since yesterday", exit: exit.Usage, want: []string{`since "yesterday": `}},
		{about: "no handler", args: "rebuild --handler nobody", exit: exit.Usage, want: []string{`handler "nobody": one of journal, `}},
		{about: "a replay", args: "replay --order o-1", want: []string{
			"0 changes of ",
			"the stream has no changes that were handled",
			"effects that have happened are not repeated; a replay with --again repeats notifications",
		}},
		{about: "a rebuild of one handler", args: "rebuild --order o-1 --handler notify --dry-run", want: []string{
			"1 order read, 2 changes proved, 2 deliveries not queued (dry run)",
			"effects that have happened are not repeated; a replay with --again repeats notifications",
		}},
		{about: "a rebuild", args: "rebuild --since 1h --handler notify", want: []string{"queued: 1 order (job "}},
		{about: "a replay from the journal", args: "replay --order o-1 --handler notify --from-journal --again", want: []string{
			"queued: 1 order (job ",
		}},
	} {
		t.Run(c.about, func(t *testing.T) {
			var out bytes.Buffer
			command := streamsCommand(s)
			command.SetArgs(strings.Fields(c.args))
			command.SetOut(&out)
			command.SetErr(io.Discard) // on a busy machine it gets the progress, too
			command.SilenceErrors, command.SilenceUsage = true, true

			err := command.ExecuteContext(t.Context())
			if err != nil {
				fmt.Fprintln(&out, err)
			}

			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if exit := commandtest.ExitStatus(err, &bytes.Buffer{}); exit != c.exit || len(lines) != len(c.want) {
				t.Fatalf("exit status %d\n%s", exit, &out)
			}

			for i, want := range c.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is %q, want %q", i, lines[i], want)
				}
			}
		})
	}
}
