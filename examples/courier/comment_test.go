package main

import (
	"testing"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"courier": main}) }

func TestTheCommentSaysWhatHappens(t *testing.T) {
	examples.Follow(t, "courier",
		examples.Step{Command: "dev", Prints: `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		examples.Step{Command: "orders create o-1 --item mug:2:1250 --stock 10", Prints: `^Applied: order o-1 is PENDING `},
		examples.Step{Command: "ls .labels", Prints: `(?m)^\w+\.begin$`},
		examples.Step{Command: "pick-up o-1", Prints: `^$`},
		examples.Step{Command: "orders apply o-1 ship", Prints: `^Applied: order o-1 is SHIPPED `},
	)
}
