package workflow

import "slices"

// Part is a part of an aggregate's content that a definition lists in [Spec].Content. A part that the
// definition does not list is refused when an aggregate is placed or edited.
type Part string

// The parts. Notes, state and history are not among them: every aggregate has them.
const (
	PartItems           Part = "items"
	PartTotal           Part = "total"
	PartCustomer        Part = "customer"
	PartShippingAddress Part = "shippingAddress"
	PartBillingAddress  Part = "billingAddress"
	PartReference       Part = "reference"
	PartMetadata        Part = "metadata"
)

// Parts returns all parts, in the order of tables and documents.
func Parts() []Part {
	return []Part{
		PartItems,
		PartTotal,
		PartCustomer,
		PartShippingAddress,
		PartBillingAddress,
		PartReference,
		PartMetadata,
	}
}

// Has reports whether aggregates of the definition have the part. Without a list in the spec
// they have every part.
func (d *Definition) Has(p Part) bool {
	// An empty list allows no part, nil allows all.
	return d.spec.Content == nil || slices.Contains(d.spec.Content, p)
}

func (d *Definition) checkContent() error {
	for i, p := range d.spec.Content {
		switch {
		case !slices.Contains(Parts(), p):
			return specError("content", 0, "content: %q is no part of an aggregate; the parts are %v", p, Parts())
		case slices.Contains(d.spec.Content[:i], p):
			return specError("content", 0, "content: %s is listed twice", p)
		}
	}

	return nil
}
