package lanes

// SetPaused notes whether the handler is paused.
func (s *Scheduler) SetPaused(handler int, paused bool) {
	if s.Paused[handler].Swap(paused) == paused {
		return
	}
	name := s.Cfg.Handlers[handler].Name

	if paused {
		s.Cfg.Log.Warn("the handler is paused; its records wait in the retry queue", "handler", name)
		return
	}

	s.Cfg.Log.Info("the handler is resumed", "handler", name)
	s.queues.TryAll(handler)
}
