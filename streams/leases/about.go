package leases

import (
	"strings"

	"ratchet/internal/dynamo"
)

// IsAbout reports whether a row of the lease table says something of the stream, or of no stream: the leases of the
// retry queues have the pauses of their handlers. After a table was restored, its former stream is gone,
// and so is the row that says which stream is read.
func IsAbout(row dynamo.Item, streamARN string) bool {
	key := dynamo.Text(row, streamKey)
	// The name of a group may stand before all names.
	if rest, grouped := strings.CutPrefix(key, "group/"); grouped {
		_, key, _ = strings.Cut(rest, "/")
	}

	if strings.HasPrefix(key, "table/") {
		return dynamo.Text(row, "streamArn") == streamARN
	}

	return strings.Contains(key, streamARN) || strings.HasPrefix(key, "retries/")
}

// KeyOf returns the key of a row of the lease table.
func KeyOf(row dynamo.Item) dynamo.Item {
	return Key(dynamo.Text(row, streamKey), dynamo.Text(row, ShardKey))
}
