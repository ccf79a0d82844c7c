package api

import (
	"testing"

	"pgregory.net/rapid"

	"ratchet/api/auth"
)

// TestStoredIDsAreTheirTenantsAlone: two pairs of tenant and id never make one stored
// id, nobody else's tenant owns it, and its own gets the id back.
func TestStoredIDsAreTheirTenantsAlone(t *testing.T) {
	names := rapid.OneOf(rapid.Just(string(auth.DefaultTenant)), rapid.StringMatching(`[a-z][a-z0-9-]{0,19}`))
	ids := rapid.StringMatching(`[A-Za-z0-9_.-]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		one, other := tenant(names.Draw(t, "one")), tenant(names.Draw(t, "other"))
		id, otherID := ids.Draw(t, "id"), ids.Draw(t, "other id")
		stored := one.storedID(id)
		if back, own := one.ownID(stored); !own || back != id {
			t.Fatalf("%s %s is stored as %s and comes back as %s", one, id, stored, back)
		}

		if one == other {
			return
		}

		if _, own := other.ownID(stored); own || other.storedID(otherID) == stored {
			t.Fatalf("%s of %s is %s's, too", stored, one, other)
		}
	})
}
