package api

import "ratchet/api/internal/input"

// mostScanned bounds how many stored things one page looks at.
const mostScanned = 2000

// fill makes a page of a stored list in which other tenants' things stand, too: list
// reads up to n from a place on, show turns one into an entry or leaves it out. bound is
// what the cursor is good for.
func fill[R, T any](s *service, in input.Page, bound []string, list func(after string, n int) ([]R, string, error), show func(R) (T, bool, error)) (entries []T, cursor string, err error) {
	next, p := s.cursors.open(in.Cursor, bound...)
	if p != nil {
		return nil, "", p
	}

	entries = []T{}
	for scanned := 0; len(entries) < in.Limit && scanned < mostScanned; {
		stored, after, err := list(next, in.Limit-len(entries))
		if err != nil {
			return nil, "", err
		}

		for _, r := range stored {
			entry, shown, err := show(r)
			if err != nil {
				return nil, "", err
			}

			if shown {
				entries = append(entries, entry)
			}
		}
		scanned += max(1, len(stored))

		if next = after; next == "" {
			break
		}
	}

	return entries, s.cursors.seal(next, bound...), nil
}
