package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/operate/doctor"
	"ratchet/server"
)

func runDoctor(t *testing.T, s *settings.Settings, args ...string) (out string, code int) {
	t.Helper()

	command := doctorCommand(s)
	s.Use(command) // as before every command

	var text bytes.Buffer
	command.SetArgs(args)
	command.SetOut(&text)
	command.SilenceErrors, command.SilenceUsage = true, true
	code = commandtest.ExitStatus(command.ExecuteContext(t.Context()), &text)

	return text.String(), code
}

func TestDoctor(t *testing.T) {
	s := commandtest.OrdersAt(t, func(context.Context, *server.Backend) error { return nil })

	out, code := runDoctor(t, s)
	if code != exit.OK || !strings.Contains(out, "ok: table ratchet-orders: as `ratchet init` creates it") || !strings.Contains(out, "0 failures, 0 warnings, 0 could not be made") {
		t.Errorf("a healthy installation: exit status %d\n%s", code, out)
	}

	// Other commands would create the table again.
	cfg, log, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}

	b, err := server.Connect(t.Context(), cfg, log, server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := b.DynamoDB.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &b.Tables.Actions}); err != nil {
		t.Fatal(err)
	}

	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the first run does not create it
		out, code = runDoctor(t, s)
		if code != exit.Failure || !strings.Contains(out, "! failure: table ratchet-actions: does not exist\n  -> `ratchet init` creates it\n") {
			t.Errorf("a missing table: exit status %d\n%s", code, out)
		}
	}

	for _, row := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--only", "stream,fly"}, exit.Usage, ""},
		{[]string{"--only", "stream"}, exit.Failure, "ok: table ratchet-endpoints: as `ratchet init` creates it; allowed: "},
		{[]string{"--only", "stream"}, exit.Failure, "ok: table ratchet-api-keys: as `ratchet init` creates it\n"},
	} {
		out, code = runDoctor(t, s, row.args...)
		if code != row.code || !strings.Contains(out, row.want) {
			t.Errorf("%v: exit status %d\n%s", row.args, code, out)
		}
	}

	s.JSON = true
	out, code = runDoctor(t, s)

	var failures []doctor.Check
	for line := range strings.Lines(out) {
		var c doctor.Check
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%q: %v", line, err)
		}

		if c.Result != doctor.OK {
			failures = append(failures, c)
		}
	}

	if code != exit.Failure || len(failures) != 1 || failures[0].Subject != "table ratchet-actions" {
		t.Errorf("JSON: exit status %d, %+v", code, failures)
	}
}

func TestDoctorCreatesNoStore(t *testing.T) {
	s := commandtest.OrdersAt(t, func(context.Context, *server.Backend) error { return nil })

	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), t.TempDir()} {
		if err := s.Flags.Set("data", dir); err != nil {
			t.Fatal(err)
		}

		out, code := runDoctor(t, s)
		if code != exit.Failure || !strings.Contains(out, "! failure: data directory: not found: there is no data in") {
			t.Errorf("exit status %d\n%s", code, out)
		}

		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("it created %v", entries)
		}
	}
}
