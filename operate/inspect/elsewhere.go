package inspect

import (
	"ratchet/transitions"
	"ratchet/workflow"
)

// PaidElsewhere reports whether the transition shows that the money of its order was taken elsewhere, if there is no
// payment here: it brought an order here that had been paid, or another caller than an execution has paid the order.
func PaidElsewhere(d *workflow.Definition, t transitions.Transition) bool {
	if t.Event == workflow.Imported {
		return d.IsPaid(t.To) && (t.From == "" || !d.IsPaid(t.From))
	}

	return t.Event == workflow.Pay && d.IsPaid(t.To) && !t.IsBy(transitions.PaidRequest)
}

// ofElsewhere returns the moment at which an order without a payment here was paid, none if it was not.
func (e Explanation) ofElsewhere(d *workflow.Definition) (moments []Moment) {
	costsNothing := e.Order.Readable("total") == nil && e.Order.Total == transitions.Money{Currency: e.Order.Total.Currency} && e.Order.Total.Currency != ""
	if costsNothing {
		return nil
	}

	for _, s := range e.Steps {
		if PaidElsewhere(d, s.Transition) {
			moments = []Moment{{
				At: s.At, Kind: aboutPayment, Ref: Ref{Transition: s.ID, Status: "elsewhere"},
				What: "paid elsewhere: there is no payment here, and the money is given back where it was paid",
			}}
		}
	}

	return moments
}
