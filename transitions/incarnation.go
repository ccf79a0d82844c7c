package transitions

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"time"
)

// Incarnation names one life of an order: 13 characters of 0-9 a-v, which sort by the time at which
// the life began. An order that another program has created, and that has no attribute of this name,
// has the incarnation "0".
type Incarnation string

const (
	incarnationAttribute = "incarnation"
	// adoptedIncarnation is the incarnation of an order without the attribute.
	adoptedIncarnation Incarnation = "0"
)

// newIncarnation returns the name of a life that begins at the time: its milliseconds and 16 random
// bits, so that two lives that begin at once differ.
func newIncarnation(at time.Time) Incarnation {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16|mrand.Uint64()&0xffff) //nolint:gosec // not a secret

	return Incarnation(base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding).EncodeToString(id[:]))
}

// EffectKey names the effect of one handler about one transition of the order, the same in every
// process and at all times: orderId/incarnation/transitionId/handler.
func (o *Order) EffectKey(t TransitionID, handler string) string {
	return fmt.Sprintf("%s/%s/%d/%s", o.ID, o.Incarnation, t, handler)
}
