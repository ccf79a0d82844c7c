package main

import (
	"testing"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"mugs": main}) }

func TestTheCommentSaysWhatHappens(t *testing.T) {
	examples.Follow(t, "mugs",
		examples.Step{Command: "dev", Prints: `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		examples.Step{Command: "orders create mugs-1 --item mug:2:1250 --stock 10", Prints: `^Applied: order mugs-1 is PLACED `},
		examples.Step{Command: "orders watch mugs-1", Prints: `accept +ACCEPTED\n.*send +SENT\n.*receive +RECEIVED`},
		examples.Step{Command: "orders history mugs-1", Prints: `receive +SENT +RECEIVED`},
	)
}
