package api

import (
	"testing"

	"pgregory.net/rapid"

	"ratchet/api/auth"
)

// Two different pairs of tenant and id never have the same stored id, no other tenant owns
// it, and its own tenant gets the id back.
func TestStoredIDsOfTenantsNeverCollide(t *testing.T) {
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
			t.Fatalf("stored id %s of tenant %s also belongs to tenant %s", stored, one, other)
		}
	})
}
