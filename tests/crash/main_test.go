package crash

import (
	"flag"
	"testing"

	"ratchet/cmd/cli"
	"ratchet/server"
	"ratchet/tests/program"
)

// flagLoad multiplies the orders, payments and requests that are under way while processes are killed.
var flagLoad = flag.Int("load", 1, "so many times the orders, payments and requests of each test")

func TestMain(m *testing.M) {
	program.Main(m, map[string]func(){
		"ratchet":  func() { cli.Main(server.Parts{}) },
		"slowbank": func() { cli.Main(server.Parts{Bank: slowBank{}}) },
	})
}
