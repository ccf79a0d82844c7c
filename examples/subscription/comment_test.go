package main

import (
	"testing"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"subscription": main}) }

func TestTheCommentSaysWhatHappens(t *testing.T) {
	examples.Follow(t, "subscription",
		examples.Step{Command: "dev", Prints: `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		examples.Step{Command: "orders create sub-1 --set card=yes --set trialEndsAt=2026-01-31T12:00:00Z", Prints: `^Applied: order sub-1 is TRIAL `},
		examples.Step{Command: "orders history sub-1", Prints: `begin +TRIAL +ACTIVE`},
		examples.Step{Command: "orders edit set-own sub-1 --set endsAt=2026-02-28T12:00:00Z", Prints: `sub-1`},
		examples.Step{Command: "orders get sub-1", Prints: `ENDED`},
	)
}
