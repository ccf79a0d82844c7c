package ids_test

import (
	"encoding/hex"
	"testing"

	"ratchet/internal/ids"
)

// Digests are stored with orders, requests and transfers, so they stay what they are.
func TestADigestStaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}

	for _, row := range []struct {
		texts []string
		want  string
	}{
		{nil, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{[]string{"a", "bc"}, "3fafa1cf2f19a7c1129beb20cf0983f73a489a221fc0dd2f16d1be292d089205"},
		{[]string{"ab", "c"}, "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f"},
		{[]string{"abc"}, "c3494ca1a2cf8eeb8a11ded316fb55b83c3bbbedb6313cd50415251e5d09e12f"},
		{[]string{"abc", ""}, "f5a934b5ab96157b46905e4dec48ff8175fe8926c36ec293b98c8fbd0886171b"},
	} {
		got := hex.EncodeToString(ids.Digest(row.texts...))
		if got != row.want || seen[got] {
			t.Errorf("%q: %s, want %s", row.texts, got, row.want)
		}
		seen[got] = true
	}
}
