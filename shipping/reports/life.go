package reports

import (
	"fmt"
	"strconv"
	"strings"

	"ratchet/shipping"
	"ratchet/transitions"
)

// parcelsEffect is the last part of the shipment in a report of [Receiver.ApplyParcels], which is about
// no shipment of the carrier.
const parcelsEffect = "parcels"

// lifeOf returns the life of the order that the report's shipment names. The shipment is an effect key,
// orderId/incarnation/transitionId/shipping. lifeOf reports false if it is no key of the report's order.
func lifeOf(r shipping.Report) (transitions.Incarnation, bool) {
	rest, ofOrder := strings.CutPrefix(r.Shipment, r.OrderID+"/")
	life, effect, isKey := strings.Cut(rest, "/")
	_, effect, _ = strings.Cut(effect, "/")

	return transitions.Incarnation(life), ofOrder && isKey && life != "" && effect == shipping.Effect
}

// isOfParcels reports whether ApplyParcels has made the report. A report of the carrier never passes for
// one: Receive refuses it.
func isOfParcels(r shipping.Report) bool { return strings.HasSuffix(r.Shipment, "/"+parcelsEffect) }

// isOf reports whether the report is about a transition that the order has made: not one of another order
// with this id, and not one that was forgotten when the order's table was restored.
func isOf(r shipping.Report, order *transitions.Order) bool {
	rest, ofOrder := strings.CutPrefix(r.Shipment, r.OrderID+"/")
	life, rest, _ := strings.Cut(rest, "/")
	number, effect, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(number, 10, 64)

	if effect == parcelsEffect {
		return ofOrder && life == string(order.Incarnation)
	}

	return ofOrder && err == nil && life == string(order.LifeAt(transitions.TransitionID(id)))
}

// parcelsShipment is the shipment in a report of ApplyParcels. It names the life, so that a report which
// waits does not move the order's next life.
func parcelsShipment(order *transitions.Order) string {
	return fmt.Sprintf("%s/%s/0/%s", order.ID, order.Incarnation, parcelsEffect)
}
