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

// processedEdit is the trace of one edit.
type processedEdit struct {
	key     string
	at      int64 // epoch ms
	content digest
	call    string
	version ContentVersion
}

// traceKey is the member that the edit of the event id leaves.
func traceKey(event digest) string { return base64.RawURLEncoding.EncodeToString(event[:]) }

// processed finds the trace of an event id, as long as the order remembers it.
func (o *Order) processed(event digest) (processedEdit, bool) {
	key := traceKey(event)

	m, ok := o.edits[key].(*types.AttributeValueMemberM)
	if !ok {
		return processedEdit{}, false
	}
	r := reader{}
	e := processedEdit{key: key, at: r.number(m.Value, "at"), content: r.digest(m.Value, "h"), call: r.optional(m.Value, "c"),
		version: ContentVersion(r.number(o.edits, key+versionSuffix))}
	// A trace that cannot be read still tells that the edit was made.
	return e, true
}

// outdated returns the keys of the traces that may go before one more is written:
// those older than the age, and when the map is full the oldest quarter; oldest first.
func (o *Order) outdated(now time.Time, memory int, age time.Duration) []string {
	var all []processedEdit
	for key, v := range o.edits {
		if m, ok := v.(*types.AttributeValueMemberM); ok { // the versions are numbers
			all = append(all, processedEdit{key: key, at: dynamo.Number(m.Value, "at"), version: ContentVersion(dynamo.Number(o.edits, key+versionSuffix))})
		}
	}
	// Versions order the edits of one order exactly; clocks of different machines do not.
	slices.SortFunc(all, func(a, b processedEdit) int {
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

// trace writes the edit's own trace into the draft, refuses an edit that has left one
// already or finds the memory full, and forgets outdated ones when the order is known.
func (d *draft) trace(cfg Config, w editWrite, base *Order, version string) {
	memory := d.name(processedEvents)
	key := traceKey(w.edit.EventID.digest())
	d.names["#edit"], d.names["#version"] = key, key+versionSuffix
	d.require("attribute_not_exists(" + memory + ".#edit)")
	d.set(memory + ".#edit = " + d.value(dynamo.M(image{
		"at": dynamo.N(w.at.UnixMilli()), "h": w.content.value(), "c": dynamo.S(w.call)})))
	d.set(memory + ".#version = " + version)

	room := cfg.EditMemory * perEdit
	if base != nil {
		for i, old := range base.outdated(w.at, cfg.EditMemory, cfg.EditAge) {
			name := "#o" + strconv.Itoa(i)
			d.names[name], d.names[name+versionSuffix] = old, old+versionSuffix
			// Only what is really there makes room: another edit may have been faster.
			d.require("attribute_exists(" + memory + "." + name + ")")
			d.remove(memory + "." + name)
			d.remove(memory + "." + name + versionSuffix)
			room += perEdit
		}
	}
	d.require("(attribute_not_exists(" + memory + ") OR size(" + memory + ") < " + d.value(dynamo.N(int64(room))) + ")")
}
