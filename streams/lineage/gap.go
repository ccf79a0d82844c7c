package lineage

import (
	"log/slog"

	"ratchet/streams"
)

// DeclareGap logs and reports a gap.
func DeclareGap(log *slog.Logger, events streams.Events, gap streams.Gap) {
	if gap.Reason == streams.GapQueue {
		log = log.With("handler", gap.Handler, "item", gap.Item)
	}
	log.Error("records were not read and cannot be read any more", "reason", gap.Reason, "stream", gap.Stream,
		"shard", gap.Shard, "from", gap.From, "to", gap.To, "since", gap.Since, "until", gap.Until)
	events.Gap(gap)
}
