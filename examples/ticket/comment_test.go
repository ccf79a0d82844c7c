package main

import (
	"testing"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"ticket": main}) }

func TestTheCommentSaysWhatHappens(t *testing.T) {
	examples.Follow(t, "ticket",
		examples.Step{Command: "dev", Prints: `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		examples.Step{Command: "orders create ticket-1 --metadata topic=invoice", Prints: `^Applied: order ticket-1 is OPEN `},
		examples.Step{Command: "orders apply ticket-1 resolve", Prints: `^Applied: order ticket-1 is RESOLVED `},
		examples.Step{Command: "orders history ticket-1", Prints: `close +RESOLVED +CLOSED`},
	)
}
