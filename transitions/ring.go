package transitions

import (
	"cmp"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// ringSize is how many slots the ring of an order has. It is part of the data format.
const ringSize = 8

// The ring is the order's attribute "recent", a map with up to four members for each
// slot k = transitionId mod ringSize:
//
//	s<k>  "<id> <event> <to> <epoch ms, base 36> <call>[ <flags>]", a string. The flags are small letters. Behind
//	      them, in base 32, is the digest of the changes of own attributes, if the request had any
//	f<k>  the state that the transition left, copied by the same write; absent for placing
//	r<k>  the digest of its request id; absent if the caller sent no request id
//	c<k>  the code of its cause; absent if it has none
//
// Event and From are the whole content of a request. The ring holds them in full, so that
// requests are compared and not hashes. A slot has to be short: a write unit is 1 KB, and
// there are eight slots. It is one string because one update cannot set a map and a member
// of the map.
var ringNames = func() (names struct{ slot, from, request, code [ringSize]string }) {
	for k := range ringSize {
		n := strconv.Itoa(k)
		names.slot[k], names.from[k], names.request[k], names.code[k] = "s"+n, "f"+n, "r"+n, "c"+n
	}

	return names
}()

// Flags of a slot.
const (
	flagAssigned = 'a' // the id was assigned, not given
	flagNarrowed = 'f' // the request named the state that it left
)

// slot returns the transition as the member s<k>, without its source and its request id,
// which have members of their own.
func (t Transition) slot() types.AttributeValue {
	// Most slots fit, so that rendering allocates only the final string.
	var buf [128]byte
	text := strconv.AppendInt(buf[:0], int64(t.ID), 10)
	text = append(append(text, ' '), t.Event...)
	text = append(append(text, ' '), t.To...)
	text = strconv.AppendInt(append(text, ' '), t.At.UnixMilli(), 36)
	text = append(append(text, ' '), t.call...)

	end := len(text)
	for _, f := range [...]struct {
		set  bool
		flag byte
	}{
		{t.assigned, flagAssigned},
		{t.narrowed, flagNarrowed},
	} {
		if !f.set {
			continue
		}

		// A slot without flags ends after the call id, without a space.
		if len(text) == end {
			text = append(text, ' ')
		}
		text = append(text, f.flag)
	}

	// Capital letters and digits, so that a program of an earlier version sees no flags in them.
	if t.own != (digest{}) {
		if len(text) == end {
			text = append(text, ' ')
		}
		text = ownEncoding.AppendEncode(text, t.own[:])
	}

	return dynamo.S(string(text))
}

// ownEncoding is how a slot has a digest.
var ownEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// addTo sets the members of the transition's slot in the attribute recent.
func (t Transition) addTo(recent image) {
	k := t.ID % ringSize

	// The journal holds no call ids, and a transition that another program has made has no
	// event. A slot must not have empty parts, so these become dashes.
	t.call, t.Event = cmp.Or(t.call, "-"), cmp.Or(t.Event, "-")
	recent[ringNames.slot[k]] = t.slot()

	// The slot's earlier transition may have left members that this one does not set.
	delete(recent, ringNames.from[k])
	delete(recent, ringNames.request[k])
	delete(recent, ringNames.code[k])

	if t.Cause.Code != "" {
		recent[ringNames.code[k]] = dynamo.S(t.Cause.Code)
	}

	if t.From != "" {
		recent[ringNames.from[k]] = dynamo.S(string(t.From))
	}

	if t.request != (digest{}) {
		recent[ringNames.request[k]] = t.request.value()
	}
}

// errSlot: a slot of the ring does not have the format that this package writes.
var errSlot = errors.New(`is not "<id> <event> <to> <epoch ms, base 36> <call> [flags]"`)

// parseSlot reads the member s<k>. The transition has no source, no request id and no code yet.
func parseSlot(text string) (Transition, error) {
	var field [6]string
	n, rest, more := 0, text, true
	for ; more && n < len(field); n++ {
		field[n], rest, more = strings.Cut(rest, " ")
		if field[n] == "" {
			return Transition{}, errSlot
		}
	}

	id, errID := strconv.ParseInt(field[0], 10, 64)
	at, errAt := strconv.ParseInt(field[3], 36, 64)
	// more says that text is left after the sixth field.
	if more || n < 5 || errID != nil || errAt != nil || id < 1 {
		return Transition{}, errSlot
	}

	has := func(flag byte) bool { return strings.IndexByte(field[5], flag) >= 0 }

	own, err := ownEncoding.DecodeString(strings.TrimLeft(field[5], "abcdefghijklmnopqrstuvwxyz"))
	if err != nil || len(own) != 0 && len(own) != len(digest{}) {
		return Transition{}, errSlot
	}
	var changes digest
	copy(changes[:], own)

	return Transition{
		ID:       TransitionID(id),
		Event:    workflow.Event(field[1]),
		To:       workflow.State(field[2]),
		At:       time.UnixMilli(at).UTC(),
		call:     field[4],
		assigned: has(flagAssigned),
		narrowed: has(flagNarrowed),
		own:      changes,
	}, nil
}

// ring reads the members of the attribute recent. It goes through them once, which is faster
// than to look for each of 32 names.
func (r *reader) ring(recent image) (ring [ringSize]Transition, broken [ringSize]bool) {
	for name := range recent {
		// Other members are ignored, like unknown attributes of the item.
		if len(name) != 2 || name[1] < '0' || name[1] >= '0'+ringSize {
			continue
		}

		k := name[1] - '0'
		slot := reader{}

		switch t := &ring[k]; name[0] {
		case 's':
			// A map has no order: the slot's other members may have been read already.
			from, request, code := t.From, t.request, t.Cause.Code

			var err error
			if *t, err = parseSlot(slot.text(recent, name)); err != nil {
				slot.err = fmt.Errorf("attribute recent.%s %w", name, err)
			}
			t.From, t.request, t.Cause.Code = from, request, code
		case 'f':
			t.From = workflow.State(slot.text(recent, name))
		case 'r':
			t.request = slot.digest(recent, name)
		case 'c':
			t.Cause.Code = slot.text(recent, name)
		}

		if slot.err != nil {
			r.err, broken[k] = cmp.Or(r.err, slot.err), true
		}
	}

	for k := range ring {
		if ring[k].ID == 0 || broken[k] {
			ring[k] = Transition{} // the slot is empty, whatever its other members say
		}
	}

	return ring, broken
}
