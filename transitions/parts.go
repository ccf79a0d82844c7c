package transitions

import (
	"fmt"

	"ratchet/workflow"
)

// ValidateFor is Validate, and also compares the order's parts with the definition (see
// [workflow.Spec].Content): the definition must list every part of the order, and the order must have a
// total if the definition lists it.
func (n NewOrder) ValidateFor(d *workflow.Definition) error {
	if err := n.Validate(); err != nil {
		return err
	}

	return n.fits(d)
}

// fits compares the order's parts with the definition.
func (n NewOrder) fits(d *workflow.Definition) error {
	given := n.parts()
	for _, part := range workflow.Parts() {
		if given[part] && !d.Has(part) {
			return missingPart(d, part)
		}
	}

	if d.Has(workflow.PartTotal) && n.Total.Currency == "" {
		return errCurrency(n.Total)
	}

	return nil
}

// missingPart is the ErrInvalidRequest of a request with a part that the definition does not list.
func missingPart(d *workflow.Definition, p workflow.Part) error {
	return fmt.Errorf("%w: %s: the definition %s has no such part", ErrInvalidRequest, p, d.Name())
}

// partOf returns the part of the content that an edit changes, "" for none: every order may have
// notes.
func partOf(c change) workflow.Part {
	switch c := c.(type) {
	case *addItems, *changeItem, *removeItem:
		return workflow.PartItems
	case *setAddress:
		return workflow.Part(addressAttribute(c.kind))
	}

	return ""
}

// refusalOf says how the definition refuses every edit of this kind. It is answered only after the order has
// shown that the edit was not applied under an earlier definition.
func (o *Orders) refusalOf(c change) decision {
	if p := partOf(c); p != "" && !o.def.Has(p) {
		return decision{err: missingPart(o.def, p)}
	}

	if len(o.def.Editable()) == 0 {
		return decision{result: Result{Verdict: Illegal}}
	}

	return decision{}
}
