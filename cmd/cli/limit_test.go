package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/server"
)

// TestEveryLimitIsBounded: no list takes 0 for "everything". listen ends after --limit notifications, and 0 is
// its documented default.
func TestEveryLimitIsBounded(t *testing.T) {
	checked := 0

	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if f := c.Flags().Lookup("limit"); f != nil && !strings.HasPrefix(c.CommandPath(), "ratchet listen") {
			checked++

			for _, text := range []string{"0", "-1", "many", "100000000"} {
				if err := f.Value.(interface{ Unwrap() pflag.Value }).Unwrap().Set(text); err == nil {
					t.Errorf("%s --limit %s is accepted", c.CommandPath(), text)
				}
			}
		}

		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(server.Parts{}))

	if checked < 10 {
		t.Errorf("only %d commands have a limit", checked)
	}
}
