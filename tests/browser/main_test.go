//go:build browser

package browser

import (
	"testing"

	"ratchet/cmd/cli"
	"ratchet/server"
	"ratchet/tests/program"
)

// TestMain lets a test start the program, without a build of its own.
func TestMain(m *testing.M) {
	program.Main(m, map[string]func(){"ratchet": func() { cli.Main(server.Parts{}) }})
}
