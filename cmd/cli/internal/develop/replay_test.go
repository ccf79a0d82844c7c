package develop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
)

// TestAReplaySaysWhatIsWrongWithAFile: a file that another program exported gets a line number and a reason in words,
// and what can be used is sent.
func TestAReplaySaysWhatIsWrongWithAFile(t *testing.T) {
	const header = "order_id,order_status,order_purchase_timestamp,order_approved_at,order_delivered_carrier_date,order_delivered_customer_date\n"
	const placed = "created,2018-01-01 10:00:00,,,\n"

	for name, row := range map[string]struct {
		flag, file string
		status     int
		want       string // in the output or in the diagnosis
	}{
		"byte order mark":  {"--requests", "\xef\xbb\xbf{\"orderId\":\"a\",\"event\":\"place\"}\n", exit.OK, "1 order, 1 ended where"},
		"number as id":     {"--requests", `{"orderId":5,"event":"place"}`, exit.Usage, `line 1: orderId: is a number: write it as text, like "orderId":"17"`},
		"unknown member":   {"--requests", `{"id":"5"}`, exit.Usage, `line 1: not a request in JSON: unknown field "id"`},
		"an array":         {"--requests", `[{"orderId":"a"}]`, exit.Usage, "line 1: a JSON array: write one object a line"},
		"no object":        {"--requests", "\nplace a\n", exit.Usage, "line 2: not a JSON object"},
		"empty":            {"--requests", "", exit.Usage, "the file cannot be read: it is empty"},
		"a spreadsheet":    {"--requests", "PK\x03\x04", exit.Usage, "a spreadsheet: export it as text"},
		"UTF-16":           {"--orders", "\xff\xfeo\x00", exit.Usage, "it is in UTF-16"},
		"another header":   {"--orders", "id,status\n1,x\n", exit.Usage, "its header has no column order_id"},
		"semicolons":       {"--orders", strings.ReplaceAll(header, ",", ";"), exit.Usage, `separated by ";"`},
		"a repeated order": {"--orders", "\xef\xbb\xbf" + header + "a," + placed + "a," + placed, exit.Usage, "line 3: order a stands on line 2, too"},
		"too few columns":  {"--orders", header + "a\n", exit.Usage, "line 2: 1 column, and the header has 6"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "input")
			if err := os.WriteFile(file, []byte(row.file), 0o600); err != nil {
				t.Fatal(err)
			}

			s := &settings.Settings{Creates: true}
			s.Flags = s.SharedFlags(settings.FlagGroups...)

			c := replayCommand(s)
			c.SetArgs([]string{row.flag, file})

			var all bytes.Buffer
			c.SetOut(&all)
			c.SetErr(&all)
			c.SilenceErrors, c.SilenceUsage = true, true

			err := c.ExecuteContext(t.Context())
			fmt.Fprintln(&all, err)

			status := commandtest.ExitStatus(err, &all)
			if status != row.status || !strings.Contains(all.String(), row.want) {
				t.Errorf("exit status %d, want %d and %q:\n%s", status, row.status, row.want, &all)
			}
		})
	}
}
