package main

import (
	"testing"

	"ratchet/tests/examples"
)

func TestMain(m *testing.M) { examples.Main(m, map[string]func(){"bank": main}) }

func TestTheCommentSaysWhatHappens(t *testing.T) {
	examples.Follow(t, "bank",
		examples.Step{Command: "dev", Prints: `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		examples.Step{Command: "orders create o-1 --item mug:2:1250 --stock 10", Prints: `^Applied: order o-1 is PENDING `},
		examples.Step{Command: "orders watch o-1", Prints: `(?s)place +PENDING\n.*pay +PAYMENT_RECEIVED\n.*deliver +DELIVERED\n$`},
		examples.Step{Command: "curl -H 'Authorization: Bearer example' 127.0.0.1:8720/operations", Prints: `^{"key":"o-1\.[0-9a-v]{13}/charge","kind":"charge","amount":2500,"currency":"EUR"}\n$`},
	)
}
