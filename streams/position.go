package streams

// Position is where reading starts in a stream that has no leases yet.
type Position int

const (
	// TrimHorizon starts with the oldest record that the stream still keeps.
	TrimHorizon Position = iota
	// Latest starts with the records written after the first worker started
	// (±1 s). Shards that are created later are always read from their first
	// record.
	Latest
)
