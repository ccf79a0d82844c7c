package workflow

import "slices"

// IsPaid reports whether every way to the state goes through the event pay: an order in the state has been paid,
// wherever that was. It is false for a definition without this event.
func (d *Definition) IsPaid(s State) bool {
	row, known := d.states[s]
	if !known || len(d.groups[Pay]) == 0 {
		return false
	}

	unpaid := make([]bool, len(d.spec.States))
	d.withoutPay(d.states[d.spec.Initial], unpaid)

	return !unpaid[row]
}

// withoutPay marks the states to which an order comes from the row without the event pay.
func (d *Definition) withoutPay(row int, reached []bool) {
	if reached[row] {
		return
	}
	reached[row] = true

	for _, event := range d.events {
		if event == Pay {
			continue
		}

		for _, g := range d.groups[event] {
			if slices.Contains(g.From, d.spec.States[row].State) {
				d.withoutPay(d.states[g.To], reached)
			}
		}
	}
}
