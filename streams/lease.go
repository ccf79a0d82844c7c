package streams

// Attributes of a lease item.
const (
	leaseStream = "stream"
	leaseShard  = "shardId"
)
