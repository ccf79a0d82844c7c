package streams

import (
	"fmt"
	"slices"
)

// Watch returns a channel that receives a value soon after records have become
// readable in the stream. Several records may share one value: a watcher reads
// all there is after each. stop ends the watch; the channel is never closed.
func (s *Service) Watch(arn string) (hints <-chan struct{}, stop func(), err error) {
	st, err := s.named(&arn)
	if err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", arn, err)
	}
	hint := make(chan struct{}, 1)
	st.rewatch(func(all []chan struct{}) []chan struct{} { return append(all, hint) })

	return hint, func() {
		st.rewatch(func(all []chan struct{}) []chan struct{} {
			return slices.DeleteFunc(all, func(c chan struct{}) bool { return c == hint })
		})
	}, nil
}

func (s *Stream) rewatch(edit func([]chan struct{}) []chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()

	var all []chan struct{}
	if old := s.watchers.Load(); old != nil {
		all = slices.Clone(*old)
	}
	all = edit(all)
	s.watchers.Store(&all)
}

// wake tells the watchers that there are new records.
func (s *Stream) wake() {
	all := s.watchers.Load()
	if all == nil {
		return
	}

	for _, hint := range *all {
		select {
		case hint <- struct{}{}:
		default: // the last value is still to be taken
		}
	}
}
