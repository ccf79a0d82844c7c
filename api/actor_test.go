package api

import (
	"strings"
	"testing"

	"ratchet/transitions"
)

// TestEveryCallerHasAnActor: the id of a caller that is no actor is a digest, which differs from caller
// to caller, so that no transition is refused for who asks.
func TestEveryCallerHasAnActor(t *testing.T) {
	known := map[string]string{}

	for _, id := range []string{
		"key:2vq0", "oidc:" + strings.Repeat("a", 59), "oidc:" + strings.Repeat("a", 60), "oidc:" + strings.Repeat("b", 60), "oidc:ada lovelace", "oidc:ada\u00a0lovelace",
	} {
		actor := actorOf(id)
		if err := (transitions.Cause{Actor: actor}).Validate(); err != nil {
			t.Errorf("%s: %v", id, err)
		}

		if fits := len(id) <= 64 && !strings.ContainsAny(id, " \u00a0"); (actor == id) != fits {
			t.Errorf("%s is %s", id, actor)
		}

		if !strings.HasPrefix(actor, id[:strings.Index(id, ":")]) || known[actor] != "" {
			t.Errorf("%s is %s, as is %s", id, actor, known[actor])
		}
		known[actor] = id
	}
}
