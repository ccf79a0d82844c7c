package console

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"ratchet/workflow/diagram"
)

// explanation is the part of the answer of GET /v1/orders/{orderId}/explanation that is shown.
type explanation struct {
	Order   *orderShown
	Steps   []struct{ Event, From, To string }
	Options []struct {
		Event, To string
		Legal     bool
		Needs     []string
	}
	Editable   bool
	Due        []struct{ Handler, Event, What, Error, Next string }
	Timeline   []moments
	Incomplete []string
	Unplaced   *struct {
		Cause    string
		Commands []string
	}
}

// moments is one line of the time line.
type moments struct {
	At                    moment
	Kind, What, Why, Next string
	Ref                   struct {
		TransitionID, Count, More                                                               int64
		Event, State, Code, Status, Handler, DeadLetter, Endpoint, Delivery, Payment, Execution string
		Needs                                                                                   []string
	}
}

// failed returns the end of the order's execution from which a person brings it on, nil if there is none.
func (e explanation) failed() *moments {
	for i := len(e.Timeline) - 1; i >= 0; i-- {
		if m := e.Timeline[i]; m.Kind == "execution" {
			if m.Next == "" {
				return nil
			}

			return &m
		}
	}

	return nil
}

// text is what has happened, with what was written about it.
func (m moments) text() string {
	if m.Why == "" {
		return m.What
	}

	return m.What + ": " + m.Why
}

// definition is the answer of GET /v1/workflow.
type definition struct {
	Name    string
	Version int
	Initial string
	Place   string
	States  []struct {
		State, Doc string
		Terminal   bool
	}
	// Transitions lead from each of several states to one.
	Transitions []struct {
		Event, To string
		From, If  []string
		After     struct{ Text string }
	}
	Machine *machine
	Check   *struct {
		Findings []struct{ Severity, Code, State, What string }
	}
}

// moves returns the transitions, in the order of the states that they leave.
func (d definition) moves() (all []diagram.Move) {
	for _, s := range d.States {
		for _, t := range d.Transitions {
			if slices.Contains(t.From, s.State) {
				all = append(all, diagram.Move{From: s.State, Event: t.Event, To: t.To, Guards: t.If, After: t.After.Text})
			}
		}
	}

	return all
}

// graph returns the definition as a graph.
func (d definition) graph() diagram.Graph {
	var states []diagram.Node
	for _, s := range d.States {
		n := diagram.Node{ID: s.State, Text: s.State, Doc: s.Doc}
		if s.Terminal {
			n.Shape = diagram.End
		}
		states = append(states, n)
	}

	return diagram.Of(fmt.Sprintf("%s, version %d", d.Name, d.Version), diagram.Move{Event: d.Place, To: d.Initial}, states, d.moves())
}

// paint colors the way that an order has taken, and where it may go.
func (e explanation) paint() diagram.Paint {
	p := diagram.Paint{Nodes: map[string]string{}, Edges: map[string]string{}, Docs: map[string]string{}, Marks: map[string]string{}, Numbers: map[string]string{}}
	if e.Order == nil {
		return p
	}

	for _, o := range e.Options {
		if o.Legal {
			p.Edges[diagram.EdgeID(e.Order.State, o.Event, o.To)] = "may"
		}
	}

	for i, s := range e.Steps {
		id := diagram.EdgeID(s.From, s.Event, s.To)
		p.Edges[id] = "taken"
		p.Nodes[s.To] = "been"

		p.Marks[id] = number(p.Marks[id], i)
	}
	p.Nodes[e.Order.State] = "present"

	return p
}

// number is the number of the i-th step. A way that goes round has several numbers, of which the last one is shown.
func number(before string, i int) string {
	if before == "" {
		return fmt.Sprint(i + 1)
	}

	return fmt.Sprint("…", i+1)
}

// orderMark changes with the order. The time line also has facts beside it, which are seen a little later.
func orderMark(ctx context.Context, v *visit) (string, error) {
	var o orderShown
	err := v.get(ctx, pathTo("/v1/orders/%s", v.request.PathValue("order")), &o)

	return fmt.Sprint(o.Incarnation, o.TransitionID, o.ContentVersion), err
}

func order(ctx context.Context, v *visit) (content, error) {
	id := v.request.PathValue("order")

	var e explanation

	raw, err := v.getRaw(ctx, pathTo("/v1/orders/%s/explanation", id), &e)
	if err != nil {
		return content{}, err
	}

	var d definition
	if err := v.get(ctx, "/v1/workflow", &d); err != nil {
		return content{}, err
	}

	var (
		later scheduledList
		parts = orderParts{raw: raw}
	)
	if e.Order != nil {
		if later, err = scheduledOf(ctx, v, id); err != nil {
			return content{}, err
		}

		if err := parts.read(ctx, v, id, e); err != nil {
			return content{}, err
		}
	}

	x, err := v.execution(ctx, e)
	if err != nil {
		return content{}, err
	}

	svg, unseen, err := v.pictures.paintOrder(d, e, x)
	if err != nil {
		return content{}, err
	}

	// The newest first: it is what the reader asks about.
	newest := slices.Clone(e.Timeline)
	slices.Reverse(newest)

	part, first := within(e.Timeline, v.query("from"), v.query("to"))

	return content{id, orderPage(v, id, e, d, later, x, svg, unseen, lanes(part, first), rows(v, id, e, newest), v.orderButtons(id, e, d), parts)}, nil
}

// orderParts are the parts of an order that have answers of their own.
type orderParts struct {
	payments    []paymentShown
	reservation *reservationShown
	raw         string // what the API says of the order
}

// read asks for the payments that the time line names, and for the reservation.
func (p *orderParts) read(ctx context.Context, v *visit, id string, e explanation) error {
	var asked []string
	for _, m := range e.Timeline {
		if of := m.Ref.Payment; of == "" || slices.Contains(asked, of) {
			continue
		}
		asked = append(asked, m.Ref.Payment)

		var one paymentShown
		if err := v.get(ctx, pathTo("/v1/payments/%s", m.Ref.Payment), &one); err == nil {
			p.payments = append(p.payments, one)
		} else if !isMissing(err) {
			return err
		}
	}

	var held reservationShown
	if err := v.get(ctx, pathTo("/v1/reservations/%s", id), &held); err == nil {
		p.reservation = &held
	} else if !isMissing(err) {
		return err
	}

	return nil
}

// row is a line of the time line with what a person may do about it.
type row struct {
	moments
	buttons []button
}

// rows returns the lines with their buttons.
func rows(v *visit, id string, e explanation, all []moments) (rows []row) {
	offered := map[string]bool{} // one button for what several lines are about

	for _, m := range all {
		r := row{moments: m}
		for _, b := range v.momentButtons(id, e, m) {
			if !offered[b.address] {
				offered[b.address] = true
				r.buttons = append(r.buttons, b)
			}
		}
		rows = append(rows, r)
	}

	return rows
}

// momentButtons are the acts on what a line is about.
func (v *visit) momentButtons(id string, e explanation, m moments) []button {
	ref := m.Ref

	switch {
	case ref.DeadLetter != "":
		return slices.Concat(v.button("redrive-letter", "handler", ref.Handler, "letter", ref.DeadLetter), v.button("discard-letter", "handler", ref.Handler, "letter", ref.DeadLetter))
	case ref.Delivery != "" && ref.Endpoint != "" && ref.Status != "PENDING" && e.Order != nil:
		return v.button("resend", "order", id, "transition", fmt.Sprint(ref.TransitionID), "endpoint", ref.Endpoint, "incarnation", e.Order.Incarnation)
	case ref.Payment != "":
		return slices.Concat(v.button("refund", "payment", ref.Payment, "order", id), v.button("void", "payment", ref.Payment, "order", id))
	case m.Kind == "task":
		return slices.Concat(v.button("complete-task", "order", id, "state", ref.State), v.button("fail-task", "order", id, "state", ref.State))
	}

	return nil
}

// orderButtons are the acts on the order itself: the events that are legal now, and what its state allows.
func (v *visit) orderButtons(id string, e explanation, d definition) (buttons []button) {
	if e.Order == nil {
		return slices.Concat(v.button("redrive-execution", "order", id), v.button("repair-execution", "order", id))
	}

	for _, o := range e.Options {
		if o.Legal {
			for _, b := range v.button("apply", "order", id, "event", o.Event) {
				b.grave = d.ends(o.Event)
				buttons = append(buttons, b)
			}
		}
	}

	if e.Editable {
		for _, name := range []string{"add-item", "add-note", "set-address", "set-own"} {
			buttons = append(buttons, v.button(name, "order", id)...)
		}
	}

	if d.isTerminal(e.Order.State) {
		return slices.Concat(buttons, v.replayButtons(id), v.button("erase", "order", id))
	}

	if e.carrierSpoke() {
		buttons = append(buttons, v.button("book-again", "order", id)...)
	}

	return slices.Concat(buttons, v.button("schedule", "order", id), v.button("redrive-execution", "order", id), v.button("repair-execution", "order", id), v.replayButtons(id))
}

// timerButtons lead to the event that time would request, if the order allows it now.
func (v *visit) timerButtons(id string, e explanation, t timer) (buttons []button) {
	for _, o := range e.Options {
		if o.Event == t.Event && o.Legal {
			buttons = v.button("apply", "order", id, "event", t.Event)
		}
	}

	for i := range buttons {
		buttons[i].title = "Apply now"
	}

	return buttons
}

// carrierSpoke reports whether there is a report of the carrier, or a shipment that was not booked.
func (e explanation) carrierSpoke() bool {
	return slices.ContainsFunc(e.Timeline, func(m moments) bool { return m.Kind == "carrier report" || m.Ref.Handler == "shipping" })
}

// replayButtons lead to the job that gives the changes of one order to handlers once more.
func (v *visit) replayButtons(id string) []button {
	buttons := v.button("streams-replay", idsValue, id)
	for i := range buttons {
		buttons[i].title = "Deliver its changes again"
	}

	return buttons
}

// itemButtons are the acts on a line of the order.
func (v *visit) itemButtons(id, sku string, quantity, price int64, editable bool) []button {
	if !editable {
		return nil
	}

	return slices.Concat(v.button("change-item", "order", id, "sku", sku, "quantity", fmt.Sprint(quantity), "price", fmt.Sprint(price)), v.button("remove-item", "order", id, "sku", sku))
}

func workflow(ctx context.Context, v *visit) (content, error) {
	var d definition
	if err := v.get(ctx, "/v1/workflow", &d); err != nil {
		return content{}, err
	}

	svg, err := v.pictures.paint(d.whole(), diagram.Paint{})
	if err != nil {
		return content{}, err
	}

	return content{"Workflow", workflowPage(d, svg)}, nil
}

func findingKind(severity string) string {
	if severity == "error" {
		return "bad"
	}

	return ""
}

// contentPart is a part of an order with a name for each value.
type contentPart struct {
	title string
	facts []fact
}

// content returns the addresses and the metadata, without those that the order does not have.
func (o *orderShown) content() (parts []contentPart) {
	for _, part := range []struct {
		title  string
		values map[string]string
	}{{"Shipping address", o.ShippingAddress}, {"Billing address", o.BillingAddress}, {"Metadata", o.Metadata}} {
		var all []fact
		for _, name := range slices.Sorted(maps.Keys(part.values)) {
			all = append(all, fact{name, part.values[name]})
		}

		if len(all) > 0 {
			parts = append(parts, contentPart{part.title, all})
		}
	}

	return parts
}
