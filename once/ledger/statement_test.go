package ledger

import "testing"

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "0.0", "3.17", "-1.2", "1", "1.", ".", "99.1", "0.9223372036854775808"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			return
		}

		if back, err := parseCursor(c.String()); err != nil || back != c {
			t.Errorf("%q: %v reads as %v, %v", text, c, back, err)
		}
	})
}
