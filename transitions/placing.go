package transitions

import (
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// The bounds of an order's metadata. They are part of the 330 KB that an order may have.
const (
	maxMetadata      = 20      // members
	maxMetadataText  = 200     // bytes of one text
	maxMetadataBytes = 2 << 10 // names and texts together
	maxPlacedBy      = 512     // bytes; the ARN of an execution is shorter
)

// The attributes that only placing sets.
const (
	customerAttribute  = "customer"
	referenceAttribute = "reference"
	metadataAttribute  = "metadata"
)

// Metadata are remarks of the caller's systems about an order: at most 20 members with names of 1
// to 40 characters of A-Z a-z 0-9 _ . - and texts of up to 200 bytes of UTF-8, together at most
// 2 KB. It prints as "[metadata]", because callers may write anything into it.
type Metadata map[string]string

func (Metadata) String() string { return "[metadata]" }

// GoString hides the metadata from %#v.
func (Metadata) GoString() string { return "[metadata]" }

// LogValue hides the metadata from slog.
func (Metadata) LogValue() slog.Value { return slog.StringValue("[metadata]") }

var (
	nameRule     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`) }) // of a customer or a reference
	metadataRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`) })
)

// CheckCustomer returns an error that says the rule if the text cannot refer to a customer
// (see [NewOrder]). The error does not repeat the text, which may be personal data.
func CheckCustomer(text string) error { return checkName("customer", text) }

// CheckReference is CheckCustomer for the reference of an order.
func CheckReference(text string) error { return checkName("reference", text) }

func checkName(field, text string) error {
	if !nameRule().MatchString(text) {
		return fmt.Errorf("%s: 1 to 100 of A-Z a-z 0-9 . _ : -", field)
	}

	return nil
}

// validate names the first member that breaks a rule. Its errors do not repeat the texts.
func (m Metadata) validate() error {
	if len(m) > maxMetadata {
		return fmt.Errorf("%w: metadata: %d members, at most %d", ErrInvalidRequest, len(m), maxMetadata)
	}

	size := 0
	// Sorted, so that the same metadata always has the same error.
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch text := m[name]; {
		case !metadataRule().MatchString(name):
			return fmt.Errorf("%w: metadata: names have 1 to 40 characters of A-Z a-z 0-9 _ . -", ErrInvalidRequest)
		case len(text) > maxMetadataText || !utf8.ValidString(text):
			return fmt.Errorf("%w: metadata.%s: UTF-8, at most %d bytes", ErrInvalidRequest, name, maxMetadataText)
		}
		size += len(name) + len(m[name])
	}

	if size > maxMetadataBytes {
		return fmt.Errorf("%w: metadata: %d bytes, at most %d", ErrInvalidRequest, size, maxMetadataBytes)
	}

	return nil
}

// validateSettings checks the parts of the order other than its lines and its total.
func (n NewOrder) validateSettings() error {
	for _, name := range [][2]string{{customerAttribute, n.Customer}, {referenceAttribute, n.Reference}} {
		if name[1] == "" {
			continue
		}

		if err := checkName(name[0], name[1]); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidRequest, err)
		}
	}

	switch {
	case len(n.PlacedBy) > maxPlacedBy || !utf8.ValidString(n.PlacedBy):
		return fmt.Errorf("%w: placedBy: UTF-8, at most %d bytes", ErrInvalidRequest, maxPlacedBy)
	case n.Incarnation != "":
		if err := n.Incarnation.validate(); err != nil {
			return err
		}
	}

	for _, kind := range []string{shippingAddress, billingAddress} {
		if address := n.address(kind); len(address) > 0 {
			if err := address.validate(addressAttribute(kind)); err != nil {
				return err
			}
		}
	}

	return n.Metadata.validate()
}

func (n NewOrder) address(kind string) Address {
	if kind == billingAddress {
		return n.Billing
	}

	return n.Shipping
}

// parts says which parts the order has.
func (n NewOrder) parts() map[workflow.Part]bool {
	return map[workflow.Part]bool{
		workflow.PartItems:           len(n.Items) > 0,
		workflow.PartTotal:           n.Total != Money{},
		workflow.PartCustomer:        n.Customer != "",
		workflow.PartReference:       n.Reference != "",
		workflow.PartShippingAddress: len(n.Shipping) > 0,
		workflow.PartBillingAddress:  len(n.Billing) > 0,
		workflow.PartMetadata:        len(n.Metadata) > 0,
	}
}

// settings adds the parts of the order other than its lines and its total to the item.
func (n NewOrder) settings(item image) {
	for name, text := range map[string]string{
		customerAttribute:  n.Customer,
		referenceAttribute: n.Reference,
		"placedBy":         n.PlacedBy,
	} {
		if text != "" {
			item[name] = dynamo.S(text)
		}
	}

	for name, texts := range map[string]map[string]string{
		addressAttribute(shippingAddress): n.Shipping,
		addressAttribute(billingAddress):  n.Billing,
		metadataAttribute:                 n.Metadata,
	} {
		if len(texts) > 0 {
			item[name] = textsValue(texts)
		}
	}
}

// content returns the digest that must be equal when the order is placed again.
func (n NewOrder) content() digest {
	shipping, billing, metadata := textsDigest(n.Shipping), textsDigest(n.Billing), textsDigest(n.Metadata)

	parts := []string{
		fmt.Sprint(n.Total.Amount), n.Total.Currency, n.Customer, n.Reference,
		string(shipping[:]), string(billing[:]), string(metadata[:]),
	}
	for _, line := range n.Items {
		parts = append(parts, line.SKU, fmt.Sprint(line.Quantity), fmt.Sprint(line.Price))
	}

	// Orders that were placed without own attributes keep their digest. A line has three parts, so no line looks
	// like these.
	if len(n.Own) > 0 {
		attributes := digestOf(n.Own.flat()...)
		parts = append(parts, "own", string(attributes[:]))
	}

	return digestOf(parts...)
}

// textsDigest does not depend on the order of the members.
func textsDigest(texts map[string]string) digest {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		parts = append(parts, name, texts[name])
	}

	return digestOf(parts...)
}

// Content returns the order as it would be placed with its present content, without own attributes, some of which
// may be another program's.
func (o *Order) Content() NewOrder {
	return NewOrder{
		ID:        o.ID,
		Items:     o.Items,
		Total:     o.Total,
		Customer:  o.Customer,
		Reference: o.Reference,
		Shipping:  o.Shipping,
		Billing:   o.Billing,
		Metadata:  o.Metadata,
	}
}
