package main

import (
	"testing"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"subscription": main}) }

func TestTheCommentSaysWhatHappens(t *testing.T) {
	examples.Follow(t, "subscription",
		examples.Step{Command: "dev", Prints: `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		examples.Step{Command: "orders create sub-1", Prints: `^Applied: order sub-1 is TRIAL `},
		examples.Step{Command: "orders apply sub-1 end", Prints: `^Applied: order sub-1 is ENDED `},
		examples.Step{Command: "orders history sub-1", Prints: `end +TRIAL +ENDED`},
	)
}
