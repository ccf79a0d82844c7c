package settings

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
)

// TestProgressIsALineEveryTwoSeconds: it goes on while the command counts nothing. A command of
// less than two seconds shows none, and with --quiet no command does.
func TestProgressIsALineEveryTwoSeconds(t *testing.T) {
	for _, row := range []struct {
		name  string
		quiet bool
		takes time.Duration
		want  string
	}{
		{name: "a long command", takes: 7 * time.Second, want: "1 order read (2s)\n1 order read (4s)\n1 order read (6s)\n"},
		{name: "a short command", takes: 1900 * time.Millisecond},
		{name: "a quiet command", takes: 7 * time.Second, quiet: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Settings{Quiet: row.quiet}

				var errs bytes.Buffer
				c := s.Long(&cobra.Command{Use: "read", RunE: func(*cobra.Command, []string) error {
					s.Progress.Print("%d order read", 1)
					time.Sleep(row.takes)

					return nil
				}}, "reading")
				c.SetErr(&errs)
				c.SetArgs(nil)

				if err := c.Execute(); err != nil {
					t.Fatal(err)
				}

				if errs.String() != row.want {
					t.Errorf("%q, want %q", errs.String(), row.want)
				}
			})
		})
	}
}
