package lanes

import (
	"ratchet/streams"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// isRepaired reports whether a Rebuild has queued this version of the record's item, or a newer
// one, for the handler. It reads the mark only for a record that was created before the marks last
// moved, or up to retryqueue.MarkSlack later.
func (s *Scheduler) isRepaired(shard *Shard, h *streams.Handler, r streams.Record) (bool, error) {
	markedAt := FromUnixMilli(s.MarkedAt.Load())
	// Before any Rebuild this costs no read.
	if markedAt.IsZero() || h.Version == nil || h.Unordered || r.CreatedAt.After(markedAt.Add(retryqueue.MarkSlack)) {
		return false, nil
	}

	ctx, cancel := shard.WithinLease()
	defer cancel()

	return s.Cfg.Retries.IsMarked(ctx, h, store.HashOf(store.ItemKey(r)), r)
}
