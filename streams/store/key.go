package store

import (
	"regexp"
	"strings"

	"ratchet/internal/dynamo"
)

// Attributes of the rows of the dead-letter table.
const (
	Source = "source" // partition key, of a dead letter "streams/" and the handler's name
	ID     = "id"     // sort key
	Keys   = "keys"   // of the item
	Part   = "part"   // in the row of a part: gzipped JSON
)

// Expiry is the attribute for the dead-letter table's time to live.
const Expiry = "expireAt"

// SplitStreamARN returns the table's name and the label of a stream's ARN, which is
// arn:aws:dynamodb:<region>:<account>:table/<table>/stream/<label>.
func SplitStreamARN(arn string) (table, label string) {
	if i := strings.Index(arn, ":table/"); i >= 0 {
		arn = arn[i+len(":table/"):]
	}
	table, label, _ = strings.Cut(arn, "/stream/")

	return table, label
}

// RowKey is the key of any row of the dead-letter table.
func RowKey(source, id string) dynamo.Item {
	return dynamo.Item{Source: dynamo.S(source), ID: dynamo.S(id)}
}

// GroupPrefix begins the names under which a group stores its rows.
const GroupPrefix = "group/"

var GroupName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// GroupKey returns the name under which a group stores the rows of a stream, a table or a handler:
// for the group "" the name itself. leases.Read and lineage.CurrentStream take this name and not the
// stream's ARN or the table's name.
func GroupKey(group, name string) string {
	if group == "" {
		return name
	}

	return GroupPrefix + group + "/" + name
}
