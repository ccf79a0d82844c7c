package transitions

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// An order remembers its edits in the map processedEvents. Each edit leaves two
// members: <digest of the event id>, a map of when, what and by which call, and
// <digest>v, the contentVersion that it made. The version stands beside the map
// because one update cannot compute a member of a map that it is just setting.
const (
	processedEvents = "processedEvents"
	versionSuffix   = "v"
	perEdit         = 2 // members that one edit leaves
	// maxForgotten bounds how many traces one write forgets: expressions have 4 KB.
	maxForgotten = 16
)

// editTrace is what the order remembers of one edit.
type editTrace struct {
	key     string
	at      int64 // epoch ms
	content digest
	call    string
	version int64
}

// traceKey is the member that the edit of the event id leaves.
func traceKey(event digest) string { return base64.RawURLEncoding.EncodeToString(event[:]) }

// outdated returns the keys of the traces that may go before one more is written:
// those older than the age, and when the map is full the oldest quarter; oldest first.
func (o *Order) outdated(now time.Time, memory int, age time.Duration) []string {
	var all []editTrace
	for key, v := range o.edits {
		if m, ok := v.(*types.AttributeValueMemberM); ok { // the versions are numbers
			all = append(all, editTrace{key: key, at: dynamo.Number(m.Value, "at"), version: dynamo.Number(o.edits, key+versionSuffix)})
		}
	}
	// Versions order the edits of one order exactly; clocks of different machines do not.
	slices.SortFunc(all, func(a, b editTrace) int {
		return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key))
	})

	surplus := 0
	if len(all) >= memory {
		surplus = len(all) - memory + max(1, memory/4)
	}

	limit := now.Add(-age).UnixMilli()
	var keys []string
	for i, e := range all {
		if i < surplus || e.at < limit {
			keys = append(keys, e.key)
		}
	}

	return keys[:min(len(keys), maxForgotten)]
}

// leaveTrace adds the edit's own trace to the draft. It refuses an edit that has left one
// already or finds the memory full. When the order is known, the same write forgets
// outdated traces.
func (d draft) leaveTrace(cfg Config, w editWrite, base *Order, version string) {
	key := traceKey(w.edit.EventID.digest())
	d.Alias("#edit", key).Alias("#version", key+versionSuffix)
	d.If("attribute_not_exists(#processedEvents.#edit)")
	d.Set("#processedEvents.#edit = " + d.Value(dynamo.M(image{
		"at": dynamo.Millis(w.at),
		"h":  w.content.value(),
		"c":  dynamo.S(w.call),
	})))
	d.Set("#processedEvents.#version = " + version)

	room := cfg.EditMemory * perEdit
	if base != nil {
		for i, old := range base.outdated(w.at, cfg.EditMemory, cfg.EditAge) {
			name := "#o" + strconv.Itoa(i)
			d.Alias(name, old).Alias(name+versionSuffix, old+versionSuffix)
			// Only what is really there makes room: another edit may have been faster.
			d.If("attribute_exists(#processedEvents." + name + ")")
			d.Remove("#processedEvents." + name)
			d.Remove("#processedEvents." + name + versionSuffix)
			room += perEdit
		}
	}
	d.If("attribute_not_exists(#processedEvents) OR size(#processedEvents) < " + d.Value(dynamo.N(int64(room))))
}
