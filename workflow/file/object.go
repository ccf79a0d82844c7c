package file

import (
	"ratchet/workflow"
	"ratchet/workflow/internal/document"
)

// object is one kind of map in a file. The reader and the schema both follow its fields, so a field cannot be
// in one of them only.
type object[T any] struct {
	what   string // in errors
	fields []field[T]
	// rules are further members of the schema.
	rules map[string]any
}

type field[T any] struct {
	name, doc string
	required  bool
	schema    map[string]any
	read      func(p *parser, into *T, m document.Member)
}

func (o object[T]) read(p *parser, n *document.Node) (v T) {
	var required []string
	for _, f := range o.fields {
		if f.required {
			required = append(required, f.name)
		}
	}

	p.Fields(n, o.what, required, func(m document.Member) bool {
		for _, f := range o.fields {
			if f.name == m.Name {
				f.read(p, &v, m)
				return true
			}
		}

		return false
	})

	return v
}

func definitionObject() object[workflow.Spec] {
	type spec = workflow.Spec

	return object[spec]{what: "the definition", fields: []field[spec]{
		{"$schema", "Where editors find this schema. Ratchet does not read it.", false, map[string]any{"type": "string"}, func(p *parser, _ *spec, m document.Member) { p.String(m.Value, m.Name) }},
		{"name", "The name of the definition and, behind the prefix, of the state machine.", true, textSchema(), func(p *parser, s *spec, m document.Member) { s.Name = p.Name(m.Value, m.Name) }},
		{"version", "Counts from 1 and rises with each change. It is stored with every order.", true, map[string]any{"type": "integer", "minimum": 1},
			func(p *parser, s *spec, m document.Member) { s.Version = int(p.Int(m.Value, m.Name)) }},
		{"place", "The event that creates an order.", true, nameSchema(), func(p *parser, s *spec, m document.Member) { s.Place = workflow.Event(p.Name(m.Value, m.Name)) }},
		{"initial", "The state of a new order.", true, nameSchema(), func(p *parser, s *spec, m document.Member) { s.Initial = workflow.State(p.Name(m.Value, m.Name)) }},
		{"content", "The parts that an order has. Without the list it has all of them; an empty list allows none. An order with a total costs money.", false, listSchema(map[string]any{"enum": workflow.Parts()}),
			func(p *parser, s *spec, m document.Member) { s.Content = names[workflow.Part](p, m) }},
		{"states", "Every state once, in the order of diagrams and tables.", true, filledSchema(stateObject().schema()),
			func(p *parser, s *spec, m document.Member) { s.States = list(p, m, "state", stateObject()) }},
		{"transitions", "Every move but the creation.", true, listSchema(transitionObject().schema()),
			func(p *parser, s *spec, m document.Member) {
				s.Transitions = list(p, m, "transition", transitionObject())
			}},
		{"editable", "The states in which lines, addresses and notes may be edited.", false, listSchema(nameSchema()),
			func(p *parser, s *spec, m document.Member) { s.Editable = names[workflow.State](p, m) }},
		{"settled", "The states whose orders have ended well and need no execution any more, beside the terminal ones. `orders watch` ends in them.", false, listSchema(nameSchema()),
			func(p *parser, s *spec, m document.Member) { s.Settled = names[workflow.State](p, m) }},
		{"shipping", "How parcels and a carrier's reports move orders. Without it, they move none.", false, shippingObject().schema(),
			func(p *parser, s *spec, m document.Member) { s.Shipping = shippingObject().read(p, m.Value) }},
	}}
}

func stateObject() object[workflow.StateSpec] {
	type state = workflow.StateSpec

	return object[state]{what: "a state", fields: []field[state]{
		{"state", "The name of the state.", true, nameSchema(), func(p *parser, s *state, m document.Member) { s.State = workflow.State(p.Name(m.Value, m.Name)) }},
		{"terminal", "No event leaves the state.", false, map[string]any{"type": "boolean"}, func(p *parser, s *state, m document.Member) { s.Terminal = p.Bool(m.Value, m.Name) }},
		{"doc", "One sentence for tables and diagrams.", false, textSchema(), func(p *parser, s *state, m document.Member) { s.Doc = p.Name(m.Value, m.Name) }},
	}}
}

func transitionObject() object[workflow.Transition] {
	type transition = workflow.Transition

	return object[transition]{what: "a transition", fields: []field[transition]{
		{"event", "The event that makes the move.", true, nameSchema(), func(p *parser, t *transition, m document.Member) { t.Event = workflow.Event(p.Name(m.Value, m.Name)) }},
		{"from", "The states that the event leaves.", true, filledSchema(nameSchema()), func(p *parser, t *transition, m document.Member) { t.From = names[workflow.State](p, m) }},
		{"to", "The state to which it leads.", true, nameSchema(), func(p *parser, t *transition, m document.Member) { t.To = workflow.State(p.Name(m.Value, m.Name)) }},
		{"guards", "Conditions on the order's data that must all hold.", false, listSchema(guardObject().schema()), func(p *parser, t *transition, m document.Member) {
			if p.Want(m.Value, document.List, m.Name) {
				for _, item := range m.Value.Items {
					t.Guards = append(t.Guards, p.guard(item))
				}
			}
		}},
		{"after", "When time makes the move: a duration from entering the state, like 90m, 24h or 14d, or a time in an attribute of the order.", false, momentSchema(),
			func(p *parser, t *transition, m document.Member) { t.After = p.after(m) }},
		{"restart", "The event keeps the state and starts all timers of the state again.", false, map[string]any{"type": "boolean"},
			func(p *parser, t *transition, m document.Member) { t.Restart = p.Bool(m.Value, m.Name) }},
	}}
}

func afterObject() object[workflow.After] {
	type after = workflow.After

	return object[after]{what: "after", fields: []field[after]{
		{"attribute", "The path of an attribute that holds a time: text like 2026-12-24T18:00:00Z, or a number of seconds or milliseconds since 1970.", true, pathSchema(),
			func(p *parser, a *after, m document.Member) { a.Attribute = p.Name(m.Value, m.Name) }},
		{"delay", "How long after the time in the attribute. Negative: before it.", false, delaySchema(), func(p *parser, a *after, m document.Member) { a.Delay = p.delay(m) }},
	}}
}

func guardObject() object[workflow.Guard] {
	type guard = workflow.Guard

	return object[guard]{what: "a guard", rules: operandRules(), fields: []field[guard]{
		{"name", "Names the guard in refusals.", true, nameSchema(), func(p *parser, g *guard, m document.Member) { g.Name = p.Name(m.Value, m.Name) }},
		{"attribute", "The path of an attribute of the order, like payment.captured or items[0].sku, or its size, like size(items).", true, pathSchema(),
			func(p *parser, g *guard, m document.Member) { g.Attribute = p.Name(m.Value, m.Name) }},
		{"op", "The comparison. exists and missing have no operand.", true, map[string]any{"enum": operations}, func(p *parser, g *guard, m document.Member) { g.Op = workflow.Op(p.Name(m.Value, m.Name)) }},
		{"other", "The operand: another attribute of the order.", false, pathSchema(), func(p *parser, g *guard, m document.Member) { g.Other = p.Name(m.Value, m.Name) }},
		{"request", "The operand: a value that comes with the request.", false, nameSchema(), func(p *parser, g *guard, m document.Member) { g.Request = p.Name(m.Value, m.Name) }},
		{"value", "The operand: a string, a whole number, a truth value, or for in a list.", false, constantSchema(), func(p *parser, g *guard, m document.Member) { g.Value = p.constant(m.Value) }},
	}}
}

func shippingObject() object[workflow.Shipping] {
	type shipping = workflow.Shipping

	event := func(name, doc string, of func(*shipping) *workflow.Event) field[shipping] {
		return field[shipping]{name, doc, false, nameSchema(), func(p *parser, s *shipping, m document.Member) { *of(s) = workflow.Event(p.Name(m.Value, m.Name)) }}
	}

	return object[shipping]{what: "shipping", fields: []field[shipping]{
		{"awaits", "The states in which an order waits for its shipment.", false, listSchema(nameSchema()), func(p *parser, s *shipping, m document.Member) { s.Awaits = names[workflow.State](p, m) }},
		{"held", "The states of an order that waited for its shipment and is stopped.", false, listSchema(nameSchema()), func(p *parser, s *shipping, m document.Member) { s.Held = names[workflow.State](p, m) }},
		event("part", "The event of a parcel with which some pieces have left.", func(s *shipping) *workflow.Event { return &s.Part }),
		event("left", "The event of the report, or of the parcel, with which all pieces have left.", func(s *shipping) *workflow.Event { return &s.Left }),
		event("delivered", "The event of the report that the customer has the parcel.", func(s *shipping) *workflow.Event { return &s.Delivered }),
		{"returned", "The events of the report that the parcel came back, one after the other.", false, listSchema(nameSchema()), func(p *parser, s *shipping, m document.Member) { s.Returned = names[workflow.Event](p, m) }},
		event("canceled", "The event of the report that the carrier has canceled the shipment. Without it, a person decides.", func(s *shipping) *workflow.Event { return &s.Canceled }),
		event("stop", "The event that is proposed to this person, to end the order.", func(s *shipping) *workflow.Event { return &s.Stop }),
	}}
}

// list reads a list of objects and remembers the line of each.
func list[T any](p *parser, m document.Member, part string, o object[T]) (all []T) {
	if !p.Want(m.Value, document.List, m.Name) {
		return nil
	}

	for i, item := range m.Value.Items {
		p.mark(part, i, item.Line)
		all = append(all, o.read(p, item))
	}

	return all
}

// names reads a list of names. An empty list is not nil: an empty content allows no part, and nil all.
func names[T ~string](p *parser, m document.Member) []T {
	if !p.Want(m.Value, document.List, m.Name) {
		return nil
	}

	all := []T{}
	for _, item := range m.Value.Items {
		all = append(all, T(p.Name(item, m.Name)))
	}

	return all
}
