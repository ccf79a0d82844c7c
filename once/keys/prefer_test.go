package keys_test

import (
	"testing"
	"time"

	"ratchet/once/keys"
)

func TestThePreferredWaitOfARequest(t *testing.T) {
	for _, row := range []struct {
		fields []string
		want   time.Duration
		found  bool
	}{
		{nil, 0, false},
		{[]string{"respond-async"}, 0, false},
		{[]string{"wait=10"}, 10 * time.Second, true},
		{[]string{"respond-async, Wait = 0"}, 0, true},
		{[]string{"return=minimal", `wait="5"; x=y`}, 5 * time.Second, true},
		{[]string{"wait=1, wait=2"}, time.Second, true},
		{[]string{"wait=-1"}, 0, false},
		{[]string{"wait"}, 0, false},
		{[]string{"wait=99999999999999999999"}, 0, false},
	} {
		got, found := keys.PreferredWait(row.fields)
		if found != row.found || found && got != row.want {
			t.Errorf("%q: %s, %t", row.fields, got, found)
		}
	}
}
