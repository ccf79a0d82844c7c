// Package due keeps tables of rows that are due at a time, and sweeps them.
//
// A row is a hint: something of its subject may be due at its time. The function that handles the row looks at
// the subject and decides by that. So a row may be late, stale or there twice, and only a missing one does harm.
//
// A row has the partition key "kind#shard" and the sort key "time#subject#detail". The 16 shards of a kind share
// the writes; the sort key orders the rows of a shard by time. A row is written and deleted alone ([Table.Write],
// [Table.Delete]) or in the transaction that changes its subject ([Table.PutPart], [Table.DeletePart]).
// [Table.Sweep] hands the rows whose time has come to a function, oldest first. Any number of sweeps may run at once.
package due

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

const (
	shardKey = "shard"
	timeKey  = "due"
	attempts = "attempts"
	revision = "revision"

	// shards is how many partitions each kind has.
	shards = 16
)

// Row says that something of a subject may be due.
type Row struct {
	Kind string // a short word without #
	At   time.Time
	// Subject names what is due, and Detail a part of it, or is "". Both are any text. With kind and time
	// they are the row's key.
	Subject, Detail string
	// Attempts is how often the row was postponed.
	Attempts int
	// Revision is a whole number of up to 38 digits that grows with each change of the subject, or "". A row is not
	// deleted for an older revision than the one that wrote it.
	Revision string

	read dynamo.Item // the key, if the row was read
}

// TableInput describes a table of rows: keys shard and due.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(shardKey), dynamo.TextKey(timeKey))
}

// KeyNames are the names of a table's key attributes.
func KeyNames() []string { return []string{shardKey, timeKey} }

// key returns the key of the row.
func (r Row) key() dynamo.Item {
	if r.read != nil {
		return r.read
	}

	return dynamo.Item{
		shardKey: dynamo.S(partition(r.Kind, dynamo.Shard(r.Subject, shards))),
		timeKey:  dynamo.S(moment(r.At) + "#" + escape.Replace(r.Subject) + "#" + escape.Replace(r.Detail)),
	}
}

// item returns the row as it is stored.
func (r Row) item() dynamo.Item {
	item := maps.Clone(r.key())
	if r.Attempts > 0 {
		item[attempts] = dynamo.N(int64(r.Attempts))
	}

	if r.Revision != "" {
		item[revision] = &types.AttributeValueMemberN{Value: r.Revision}
	}

	return item
}

// The subject and the detail may have the character that separates the parts of a key.
var (
	escape   = strings.NewReplacer("~", "~0", "#", "~1")
	unescape = strings.NewReplacer("~0", "~", "~1", "#")
)

func partition(kind string, shard int) string { return kind + "#" + strconv.Itoa(shard) }

// moment writes a time so that texts sort like times.
func moment(at time.Time) string { return fmt.Sprintf("%015d", at.UnixMilli()) }

// parse reads an item. It reports false for one that this package did not write.
func parse(item dynamo.Item) (r Row, ok bool) {
	kind, _, _ := strings.Cut(dynamo.Text(item, shardKey), "#")

	parts := strings.Split(dynamo.Text(item, timeKey), "#")
	if len(parts) != 3 {
		return r, false
	}

	ms, err := strconv.ParseInt(parts[0], 10, 64)
	r = Row{
		Kind: kind, At: time.UnixMilli(ms).UTC(),
		Subject: unescape.Replace(parts[1]), Detail: unescape.Replace(parts[2]),
		Attempts: int(dynamo.Number(item, attempts)),
		Revision: number(item[revision]),
		read:     dynamo.Item{shardKey: item[shardKey], timeKey: item[timeKey]},
	}

	return r, err == nil
}

// number returns the text of a number, "" for anything else.
func number(v types.AttributeValue) string {
	n, isNumber := v.(*types.AttributeValueMemberN)
	if !isNumber {
		return ""
	}

	return n.Value
}
