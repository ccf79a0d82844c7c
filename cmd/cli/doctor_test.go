package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/operate/doctor"
	"ratchet/server"
)

func runDoctor(t *testing.T, s *settings, args ...string) (out string, exit int) {
	t.Helper()

	command := doctorCommand(s)
	s.creates = mayCreateData(command) // as before every command

	var text bytes.Buffer
	command.SetArgs(args)
	command.SetOut(&text)
	command.SilenceErrors, command.SilenceUsage = true, true
	exit = exitStatus(command.ExecuteContext(t.Context()), &text)

	return text.String(), exit
}

func TestDoctor(t *testing.T) {
	s := ordersAt(t, func(context.Context, *server.Backend) error { return nil })

	out, exit := runDoctor(t, s)
	if exit != exitOK || !strings.Contains(out, "ok: table ratchet-orders: as `ratchet init` creates it") || !strings.Contains(out, "0 failures, 0 warnings, 0 could not be made") {
		t.Errorf("a healthy installation: exit status %d\n%s", exit, out)
	}

	// Other commands would create the table again.
	cfg, log, err := s.load()
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
		out, exit = runDoctor(t, s)
		if exit != exitFailure || !strings.Contains(out, "! failure: table ratchet-actions: does not exist\n  -> `ratchet init` creates it\n") {
			t.Errorf("a missing table: exit status %d\n%s", exit, out)
		}
	}

	for _, row := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"--only", "stream,fly"}, exitUsage, ""},
		{[]string{"--only", "stream"}, exitFailure, "ok: table ratchet-endpoints: as `ratchet init` creates it; allowed: "},
		{[]string{"--only", "stream"}, exitFailure, "ok: table ratchet-api-keys: as `ratchet init` creates it\n"},
	} {
		out, exit = runDoctor(t, s, row.args...)
		if exit != row.exit || !strings.Contains(out, row.want) {
			t.Errorf("%v: exit status %d\n%s", row.args, exit, out)
		}
	}

	s.json = true
	out, exit = runDoctor(t, s)

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

	if exit != exitFailure || len(failures) != 1 || failures[0].Subject != "table ratchet-actions" {
		t.Errorf("JSON: exit status %d, %+v", exit, failures)
	}
}

func TestDoctorCreatesNoStore(t *testing.T) {
	s := ordersAt(t, func(context.Context, *server.Backend) error { return nil })

	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), t.TempDir()} {
		if err := s.flags.Set("data", dir); err != nil {
			t.Fatal(err)
		}

		out, exit := runDoctor(t, s)
		if exit != exitFailure || !strings.Contains(out, "! failure: data directory: not found: there is no data in") {
			t.Errorf("exit status %d\n%s", exit, out)
		}

		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("it created %v", entries)
		}
	}
}
