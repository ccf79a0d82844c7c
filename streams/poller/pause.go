package poller

// setPaused notes whether the handler is paused.
func (s *laneScheduler) setPaused(handler int, paused bool) {
	if s.paused[handler].Swap(paused) == paused {
		return
	}
	name := s.cfg.Handlers[handler].Name

	if paused {
		s.cfg.Log.Warn("the handler is paused; its records wait in the retry queue", "handler", name)
		return
	}

	s.cfg.Log.Info("the handler is resumed", "handler", name)
	s.queues.TryAll(handler)
}
