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

// An order remembers its edits in the map processedEvents. Each edit adds two members:
//
//	<digest of the event id>   a map: time ("at"), digest of the content ("h"), call id ("c")
//	<digest of the event id>v  the contentVersion that the edit made
//
// The version is not in the map because one update cannot compute a member of a map that
// it sets.
const (
	processedEvents = "processedEvents"
	versionSuffix   = "v"
	perEdit         = 2 // members of one edit
	// maxForgotten is the largest number of traces that a single write removes. Expressions
	// are limited to 4 KB.
	maxForgotten = 16
)

// editTrace is the order's record of one edit.
type editTrace struct {
	key     string
	at      int64 // epoch ms
	content digest
	call    string
	version int64
}

// traceKey is the name of the member that records the edit with this digest.
func traceKey(event digest) string { return base64.RawURLEncoding.EncodeToString(event[:]) }

// Edits returns the edits of the content that the order remembers, by the version of the content that each made.
// An order forgets them by age and number.
func (o *Order) Edits() map[int64]time.Time {
	made := map[int64]time.Time{}
	for key, v := range o.edits {
		if m, ok := v.(*types.AttributeValueMemberM); ok { // the versions are numbers
			made[dynamo.Number(o.edits, key+versionSuffix)] = dynamo.Time(m.Value, "at")
		}
	}

	return made
}

// outdated returns the keys of the traces that the next write may remove, oldest first
// and at most maxForgotten: all traces older than age and, if there are memory traces or
// more, the oldest quarter.
func (o *Order) outdated(now time.Time, memory int, age time.Duration) []string {
	var all []editTrace
	for key, v := range o.edits {
		if m, ok := v.(*types.AttributeValueMemberM); ok { // the versions are numbers
			all = append(all, editTrace{key: key, at: dynamo.Number(m.Value, "at"), version: dynamo.Number(o.edits, key+versionSuffix)})
		}
	}
	// Sort by version: the clocks of different machines may disagree about the order.
	slices.SortFunc(all, func(a, b editTrace) int {
		return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key))
	})

	surplus := 0
	if len(all) >= memory {
		// A quarter is removed at once, so that the next edits find room without knowing the order.
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

// leaveTrace adds the edit's trace to the draft. The write's condition fails if the order
// has that trace already or has no room for it. If the order is known, the same write
// removes its outdated traces.
func (d draft) leaveTrace(cfg Config, w editWrite, base *Order, version string) {
	key := traceKey(w.edit.EventID.digest())
	if base != nil && base.edits == nil {
		d.beginTraces(key, w, base)
		return
	}
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
		old := base.outdated(w.at, cfg.EditMemory, cfg.EditAge)
		for i, key := range old {
			name := "#o" + strconv.Itoa(i)
			d.Alias(name, key).Alias(name+versionSuffix, key+versionSuffix)
			// If another edit has removed the trace meanwhile, removing it again makes no room.
			d.If("attribute_exists(#processedEvents." + name + ")")
			d.Remove("#processedEvents." + name)
			d.Remove("#processedEvents." + name + versionSuffix)
			room += perEdit
		}

		// The memory was larger before. It shrinks over several edits, each of which removes more than it
		// adds.
		if removed := len(old); removed > 1 {
			room = max(room, len(base.edits)+1)
		}
	}
	// size counts the members before the write, including the traces that this write removes, so
	// room is larger.
	d.If("attribute_not_exists(#processedEvents) OR size(#processedEvents) < " + d.Value(dynamo.N(int64(room))))
}
