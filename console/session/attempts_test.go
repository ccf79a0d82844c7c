package session_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/api/auth"
	"ratchet/console/session"
)

// TestRefusedLoginsAreLimitedInAll: an attacker with many addresses gets 200 refusals, and then 200 a minute. A person who has
// logged in with a key before gets in all the same, also through the proxy whose address the attacker has, until the key
// is not valid any more.
func TestRefusedLoginsAreLimitedInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := newKeys(t)
		l := newLogin(t, keys, nil)
		_, before := create(t, keys, "acme", auth.Read, time.Time{})
		_, never := create(t, keys, "acme", auth.Read, time.Time{})

		try := func(from, key string) error {
			r := request(t, first)
			r.RemoteAddr = from + ":4711"
			return l.WithKey(httptest.NewRecorder(), r, key)
		}

		if err := try("192.0.2.1", before); err != nil {
			t.Fatal(err)
		}

		// All of them through one proxy, and then from elsewhere.
		for range 10 {
			if err := try("192.0.2.1", "rk_nonsense"); !errors.Is(err, session.ErrRefused) {
				t.Fatal(err)
			}
		}

		for n := range 190 {
			if err := try(fmt.Sprintf("198.51.100.%d", n), "rk_nonsense"); !errors.Is(err, session.ErrRefused) {
				t.Fatalf("%d: %v", n, err)
			}
		}

		for _, from := range []string{"192.0.2.1", "203.0.113.1"} {
			if err := try(from, never); !errors.Is(err, session.ErrTooMany) {
				t.Errorf("a key that was not seen, from %s: %v", from, err)
			}

			if err := try(from, before); err != nil {
				t.Errorf("a key that was seen, from %s: %v", from, err)
			}
		}
		time.Sleep(time.Second)

		if err := try("203.0.113.1", never); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}
