package main

import (
	"testing"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"screening": main}) }

func TestTheCommentSaysWhatHappens(t *testing.T) {
	examples.Follow(t, "screening",
		examples.Step{Command: "dev", Prints: `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		examples.Step{Command: "orders create o-1 --item mug:1:1250 --stock 100", Prints: `^Applied: order o-1 is PENDING `},
		examples.Step{Command: "orders create o-2 --item mug:60:1250", Prints: `^Applied: order o-2 is PENDING `},
		examples.Step{Command: "orders history o-2", Prints: `cancel +PENDING +CANCELLED`},
	)
}
