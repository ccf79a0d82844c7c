package api

import "ratchet/api/internal/input"

// maxScanned is how many stored things one page examines at most.
const maxScanned = 2000

// listPage returns one page of a stored list that also contains things of other tenants.
// read returns up to n things after a position. show turns a thing into an entry, or
// reports false to omit it. The cursor is bound to binding.
func listPage[R, T any](
	s *service,
	in input.Page,
	binding []string,
	read func(after string, n int) ([]R, string, error),
	show func(R) (T, bool, error),
) (entries []T, cursor string, err error) {
	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, "", p
	}

	entries = []T{} // not nil: a list is never null in JSON
	for scanned := 0; len(entries) < in.Limit && scanned < maxScanned; {
		things, next, err := read(position, in.Limit-len(entries))
		if err != nil {
			return nil, "", err
		}

		for _, thing := range things {
			entry, visible, err := show(thing)
			if err != nil {
				return nil, "", err
			}

			if visible {
				entries = append(entries, entry)
			}
		}

		// An empty read counts, so that the loop ends.
		scanned += max(1, len(things))

		if position = next; position == "" {
			break
		}
	}

	return entries, s.cursors.seal(position, binding...), nil
}
