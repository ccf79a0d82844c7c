package views

import (
	"fmt"
	"io"

	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

// PrintAdmin prints where a process serves its health and its metrics.
func PrintAdmin(out io.Writer, asJSON bool, admin *server.Admin) error {
	switch {
	case asJSON:
		return terminal.PrintJSON(out, map[string]string{"admin": admin.URL()})
	case admin == nil:
		return nil
	}

	_, err := fmt.Fprintf(out, "Health and metrics are at %s (`ratchet health --url %[1]s`).\n", admin.URL())

	return err
}
