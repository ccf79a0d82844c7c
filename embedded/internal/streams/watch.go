package streams

import (
	"fmt"
	"slices"
)

// Watch returns a channel that receives a value soon after records have become readable in
// the stream. One value may stand for several records, so a watcher reads until there are
// no more. stop ends the watch; the channel is never closed.
func (s *Service) Watch(arn string) (hints <-chan struct{}, stop func(), err error) {
	st, err := s.streamOf(&arn)
	if err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", arn, err)
	}

	hint := make(chan struct{}, 1)
	st.editWatchers(func(all []chan struct{}) []chan struct{} { return append(all, hint) })

	return hint, func() {
		st.editWatchers(func(all []chan struct{}) []chan struct{} {
			return slices.DeleteFunc(all, func(c chan struct{}) bool { return c == hint })
		})
	}, nil
}

// editWatchers replaces the list of watchers with the result of edit, which gets a copy of the
// list.
func (s *Stream) editWatchers(edit func([]chan struct{}) []chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()

	// A copy, because wake reads the list without the lock.
	var all []chan struct{}
	if old := s.watchers.Load(); old != nil {
		all = slices.Clone(*old)
	}

	all = edit(all)
	s.watchers.Store(&all)
}

// wake notifies the watchers of new records.
func (s *Stream) wake() {
	all := s.watchers.Load()
	if all == nil {
		return
	}

	for _, hint := range *all {
		select {
		case hint <- struct{}{}:
		default: // the watcher has not taken the last value yet, which covers this record, too
		}
	}
}
