// Package file reads workflow definitions and migrations from YAML or JSON, and writes
// definitions as YAML. Every error of reading names the file and the line.
//
// A definition:
//
//	name: order
//	version: 1
//	place: place
//	initial: PENDING
//	states:
//	  - {state: PENDING, doc: "placed, not yet paid"}
//	  - {state: PAID, terminal: true}
//	transitions:
//	  - event: pay
//	    from: [PENDING]
//	    to: PAID
//	    guards:
//	      - {name: total-covered, attribute: captured, op: ">=", other: total}
//
// Time makes a transition with after: a while after the order has entered the state, or at the time in an
// attribute, see [workflow.After]. An event that keeps the state starts all its timers again with restart:
//
//	transitions:
//	  - {event: expire, from: [PENDING], to: EXPIRED, after: 24h}
//	  - {event: remind, from: [PAID], to: PAID, after: {attribute: metadata.renewsAt, delay: -3d}}
//	  - {event: extend, from: [PENDING], to: PENDING, restart: true}
//
// What parcels, edits and `orders watch` do with orders is part of a definition, too. Without these fields they do
// nothing, see [workflow.Spec] and [workflow.Shipping]:
//
//	editable: [PENDING]
//	settled: [DELIVERED]
//	shipping:
//	  awaits: [PAID]
//	  left: ship
//	  delivered: deliver
//	  returned: [return]
//
// [Schema] describes the file for editors. The operand of a guard is value, other (an attribute) or request, see
// [workflow.Guard]. Mappings between versions, see [workflow.Migration]:
//
//	migrations:
//	  - from: 1
//	    to: 2
//	    states: {ON_HOLD: HELD}
//
// A file has at most 4 MiB and one document. YAML aliases are refused.
package file
