package reports

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ratchet/internal/ids"
	"ratchet/shipping"
	"ratchet/transitions"
)

// parcelsEffect is the last part of the shipment in a report of [Receiver.ApplyParcels], which is about
// no shipment of the carrier.
const parcelsEffect = "parcels"

// keyOf returns the parts of the effect key that the report names as its shipment,
// orderId/incarnation/transitionId/effect. It reports false if the key is not of the report's order.
func keyOf(r shipping.Report) (life transitions.Incarnation, transition, effect string, ofOrder bool) {
	rest, ofOrder := strings.CutPrefix(r.Shipment, ids.Encode(r.OrderID)+"/")
	first, rest, _ := strings.Cut(rest, "/")
	transition, effect, _ = strings.Cut(rest, "/")

	return transitions.Incarnation(first), transition, effect, ofOrder
}

// isShipment reports whether the report names a shipment of its order.
func isShipment(r shipping.Report) bool {
	life, _, effect, ofOrder := keyOf(r)

	return ofOrder && life != "" && shipping.IsEffect(effect)
}

// isOfParcels reports whether ApplyParcels has made the report. A report of the carrier never passes for
// one: Receive refuses it.
func isOfParcels(r shipping.Report) bool { return strings.HasSuffix(r.Shipment, "/"+parcelsEffect) }

// isOf reports whether the report is about a transition that the order has made: not one of another order
// with this id, and not one that was forgotten when the order's table was restored.
func isOf(r shipping.Report, order *transitions.Order) bool {
	life, transition, effect, ofOrder := keyOf(r)
	if effect == parcelsEffect {
		return ofOrder && life == order.Incarnation
	}

	id, err := strconv.ParseInt(transition, 10, 64)

	return ofOrder && err == nil && life == order.LifeAt(transitions.TransitionID(id))
}

// errRenewed says that a report is to be judged again, because the order that it was judged by lives another
// life by now.
var errRenewed = errors.New("the order was renewed or placed again meanwhile")

// isSameLife reports whether the order, nil if it is gone, lives as it did when it was read.
func isSameLife(read, order *transitions.Order) bool {
	return order == nil || order.Incarnation == read.Incarnation
}

// parcelsShipment is the shipment in a report of ApplyParcels. It names the life, so that a report which
// waits does not move the order's next life.
func parcelsShipment(order *transitions.Order) string {
	return fmt.Sprintf("%s/%s/0/%s", ids.Encode(string(order.ID)), order.Incarnation, parcelsEffect)
}
