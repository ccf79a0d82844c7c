package dynamodb

import "ratchet/embedded/internal/dynamodb/tables"

// ReplaceStream disables the stream of a table and enables another one with the same view in its
// place, as two calls of UpdateTable do. It fails if the table has no stream.
func (s *Service) ReplaceStream(table string) error {
	s.tables.DDL.Lock()
	defer s.tables.DDL.Unlock()

	t, err := s.tables.Existing(&table)
	if err != nil {
		return err
	}

	spec := tables.StreamSpecification{}

	// Without a stream the first of the two changes fails.
	if stream := t.State().Stream; stream != nil {
		spec.StreamViewType = string(stream.View())
	}

	for _, enabled := range []bool{false, true} {
		next := *t.State()
		spec.StreamEnabled = &enabled

		if err := s.switchStream(t, &next, &spec); err != nil {
			return err
		}
	}

	return nil
}
