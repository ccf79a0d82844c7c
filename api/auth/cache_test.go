package auth

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"
)

// The cache keeps as many keys as it may, and no more.
func TestTheCacheIsBounded(t *testing.T) {
	c := newKeyCache()
	hash, until := sha256.Sum256([]byte("x")), time.Unix(100, 0)

	for i := range maxCached + 10 {
		c.put(fmt.Sprint(i), hash, Key{ID: fmt.Sprint(i)}, until)

		if want := min(i+1, maxCached); len(c.keys) != want {
			t.Fatalf("%d keys after %d, want %d", len(c.keys), i+1, want)
		}

		if key, found := c.get(fmt.Sprint(i), hash, until.Add(-1)); !found || key.ID != fmt.Sprint(i) {
			t.Fatalf("the newest key is not cached: %v", key)
		}
	}
}

func TestACachedKeyNeedsItsSecretAndItsTime(t *testing.T) {
	c := newKeyCache()
	hash, until := sha256.Sum256([]byte("x")), time.Unix(100, 0)
	c.put("id", hash, Key{ID: "id"}, until)

	for name, row := range map[string]struct {
		id   string
		hash [sha256.Size]byte
		now  time.Time
		want bool
	}{
		"in time":        {"id", hash, until.Add(-1), true},
		"too late":       {"id", hash, until, false},
		"another secret": {"id", sha256.Sum256([]byte("y")), until.Add(-1), false},
		"another id":     {"other", hash, until.Add(-1), false},
	} {
		if _, found := c.get(row.id, row.hash, row.now); found != row.want {
			t.Errorf("%s: found %v", name, found)
		}
	}
}
