package main

import (
	"slices"
	"strings"
	"testing"

	"ratchet/cmd/cli"
	"ratchet/server"
	"ratchet/tests/examples"
	"ratchet/tests/program"
)

func TestMain(m *testing.M) {
	examples.Main(m, map[string]func(){"carrier": main, "ratchet": func() { cli.Main(server.Parts{}) }})
}

// TestTheCommentSaysWhatHappens starts the carrier and `ratchet dev` by the commands of the comment: an order is
// delivered by the carrier's signed reports.
func TestTheCommentSaysWhatHappens(t *testing.T) {
	const secret = "RATCHET_CARRIER_SECRET=carrier-secret-of-24-bytes"
	want := []string{
		"-callback-url http://127.0.0.1:8701/v1/callbacks/carrier -secret carrier-secret-of-24-bytes",
		secret + " ratchet dev --carrier http://127.0.0.1:8710",
	}

	commands := examples.Commands(t, "carrier")
	if !slices.Equal(commands, want) {
		t.Fatalf("the comment has the commands\n%s\nwant\n%s", strings.Join(commands, "\n"), strings.Join(want, "\n"))
	}

	api, address := program.FreeAddress(t), program.FreeAddress(t)
	ports := strings.NewReplacer("127.0.0.1:8701", api, "127.0.0.1:8710", address)

	e := examples.New(t, "ratchet")

	carrier := e.Serve(t, "carrier", ports.Replace(commands[0])+" -delay 10ms -listen "+address)
	if line := carrier.FirstLine(t); line != "carrier: http://"+address {
		t.Fatalf("the carrier printed %q", line)
	}

	dev := e.Serve(t, "ratchet", ports.Replace(strings.TrimPrefix(commands[1], secret+" ratchet ")), secret, "RATCHET_API_LISTEN="+api)
	dev.FirstLine(t)

	for _, s := range []examples.Step{
		{Command: "orders create o-1 --item mug:1:1250 --stock 10", Prints: `^Applied: order o-1 is PENDING `},
		{Command: "orders history o-1", Prints: `deliver +SHIPPED +DELIVERED`},
	} {
		e.Do(t, s)
	}

	dev.Interrupt(t)
	carrier.Interrupt(t)
}
