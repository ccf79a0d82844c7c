package transitions

import (
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// The bounds of an order's content. An order that has reached all of them is smaller
// than 330 KB with everything that transitions add. DynamoDB's limit is 400 KB.
const (
	maxAdded     = 100                   // lines in one AddItems
	maxNotes     = 100                   // notes in an order
	maxNoteBytes = 1000                  // of a note's text
	maxByBytes   = 128                   // of a note's author
	maxFields    = 32                    // of an address
	maxFieldText = 512                   // bytes of one field
	maxAddress   = 4 << 10               // bytes of an address, names and texts
	maxQuantity  = 1_000_000             // of an edited line
	maxPrice     = 1_000_000_000         // minor units, of one piece of an edited line
	maxAmount    = 1_000_000_000_000_000 // minor units, of a total after an edit; exact in JSON
)

// The two kinds of addresses of an order.
const (
	shippingAddress = "shipping"
	billingAddress  = "billing"
)

func addressAttribute(kind string) string { return kind + "Address" }

// Address is where goods or bills are sent: 1 to 32 fields, at most 4 KB together. The
// caller chooses the names of the fields (1 to 64 characters of A-Z a-z 0-9 _ . -) and
// their meaning; each has up to 512 bytes of text. An address is stored unchanged. It
// prints as "[address]", so that no log or error shows where a person lives.
type Address map[string]string

func (Address) String() string { return "[address]" }

// GoString hides the address from %#v.
func (Address) GoString() string { return "[address]" }

// LogValue hides the address from slog.
func (Address) LogValue() slog.Value { return slog.StringValue("[address]") }

// Note is a remark about an order. It prints as "[note]", because people write names into
// notes.
type Note struct {
	// At is when it was added; AddNote sets it.
	At time.Time `json:"at,omitzero"`
	// By says who wrote it: up to 128 bytes, may be empty.
	By string `json:"by,omitempty"`
	// Text is 1 to 1,000 bytes of UTF-8.
	Text string `json:"text"`
}

func (Note) String() string { return "[note]" }

// GoString hides the note from %#v.
func (Note) GoString() string { return "[note]" }

// LogValue hides the note from slog.
func (Note) LogValue() slog.Value { return slog.StringValue("[note]") }

// fieldRule matches the name of an address's field.
var fieldRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })

// The reasons why an edit is refused although the order is in the right state.
const (
	noSuchLine    = "the order has no line with this sku"
	negativeTotal = "the total would be below 0"
	noTotal       = "the order has no total that could be adjusted"
)

// validate checks a line of an edit. Its ErrInvalidRequest names the first field that
// breaks a rule.
func (i Item) validate(field string) error {
	switch {
	case !skuRule().MatchString(i.SKU):
		return fmt.Errorf("%w: %s.sku: 1 to 128 printable ASCII characters without spaces", ErrInvalidRequest, field)
	case i.Quantity < 1 || i.Quantity > maxQuantity:
		return fmt.Errorf("%w: %s.quantity %d: 1 to %d", ErrInvalidRequest, field, i.Quantity, maxQuantity)
	case i.Shipped != 0:
		return fmt.Errorf("%w: %s.shipped: is counted from parcels and cannot be set", ErrInvalidRequest, field)
	case i.Price < 0 || i.Price > maxPrice:
		return fmt.Errorf("%w: %s.price %d: minor units, 0 to %d", ErrInvalidRequest, field, i.Price, maxPrice)
	}

	return nil
}

func (i Item) value() types.AttributeValue {
	return dynamo.M(image{"sku": dynamo.S(i.SKU), "quantity": dynamo.N(i.Quantity), "price": dynamo.N(i.Price)})
}

// cost returns the price of all pieces of the line. It returns a LimitError if that is
// more than any total may be: Create sets no upper bound for quantity and price.
func (i Item) cost() (int64, error) {
	if i.Price > 0 && i.Quantity > maxAmount/i.Price {
		return 0, &LimitError{What: "total.amount", Limit: maxAmount}
	}

	return i.Quantity * i.Price, nil
}

// parts returns the fields of the line, for a digest.
func (i Item) parts() []string {
	return []string{i.SKU, strconv.FormatInt(i.Quantity, 10), strconv.FormatInt(i.Price, 10)}
}

// moveTotal adds delta to the order's total, which must stay between 0 and maxAmount. If
// the order is known and its total does not allow that, moveTotal returns the refusal.
// Without the order (nil) only the condition of the write decides. Without totals in the
// definition there is nothing to do.
func (d draft) moveTotal(order *Order, delta int64) (Verdict, string, error) {
	if !d.totals {
		return 0, "", nil
	}

	if order != nil {
		if err := order.Readable("total"); err != nil {
			return 0, "", err
		}

		switch amount := order.Total.Amount; {
		case order.Total.Currency == "":
			return WrongState, noTotal, nil
		case delta < 0 && amount < -delta:
			return WrongState, negativeTotal, nil
		case delta > 0 && amount > maxAmount-delta: // the sum might overflow
			return 0, "", &LimitError{What: "total.amount", Limit: maxAmount}
		}
	}

	// A condition cannot calculate, so the sum is compared by moving delta to the other
	// side.
	amount := d.Name("total") + "." + d.Name("amount")
	switch {
	case delta < 0:
		d.If(amount + " >= " + d.Value(dynamo.N(-delta)))
	case delta > 0:
		d.If(amount + " <= " + d.Value(dynamo.N(maxAmount-delta)))
	default:
		// The SET needs a number even if it adds nothing.
		d.If("attribute_exists(" + amount + ")")
	}
	d.Set(amount + " = " + amount + " + " + d.Value(dynamo.N(delta)))

	return 0, "", nil
}

// addItems is the change of [Orders.AddItems].
type addItems struct{ lines []Item }

func (c *addItems) validate() error {
	if len(c.lines) == 0 || len(c.lines) > maxAdded {
		return fmt.Errorf("%w: items: %d lines, 1 to %d at once", ErrInvalidRequest, len(c.lines), maxAdded)
	}

	for i, line := range c.lines {
		if err := line.validate("items[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}

	return checkSKUs(c.lines)
}

func (c *addItems) content() digest {
	var parts []string
	for _, line := range c.lines {
		parts = append(parts, line.parts()...)
	}

	return digestOf(parts...)
}

func (c *addItems) blind() bool { return true }

func (c *addItems) plan(order *Order, d draft) (Verdict, string, error) {
	if err := order.readableForEdit("items"); err != nil {
		return 0, "", err
	}

	room := maxItems - len(c.lines)
	if order != nil && len(order.Items) > room {
		return 0, "", &LimitError{What: "items", Limit: maxItems}
	}

	// A condition cannot count SKUs. It allows as many lines as SKUs; for more lines, the SKUs are
	// counted here, and the write is made only if the lines are still the same.
	if few := maxSKUs - countSKUs(c.lines); order == nil || len(order.Items) <= few {
		room = min(room, few)
	} else {
		if countSKUs(order.Items, c.lines) > maxSKUs {
			return 0, "", &LimitError{What: "items: different SKUs", Limit: maxSKUs}
		}
		d.requireVersion(order.ContentVersion)
	}

	d.requireOwnList("items", "sku")
	items := d.Name("items")
	d.If("(attribute_not_exists(" + items + ") OR size(" + items + ") <= " + d.Value(dynamo.N(int64(room))) + ")")

	var delta int64
	values := make([]types.AttributeValue, len(c.lines))
	for i, line := range c.lines {
		values[i] = line.value()

		cost, err := line.cost()
		if err != nil {
			return 0, "", err
		}
		delta += cost // cannot overflow: at most 100 times maxAmount
	}

	if delta > maxAmount {
		return 0, "", &LimitError{What: "total.amount", Limit: maxAmount}
	}
	d.appendTo("items", values...)

	return d.moveTotal(order, delta)
}

// pin adds the condition that the order's line i is still this one, and returns the
// line's path. Other edits may have removed lines since the order was read.
func (d draft) pin(i int, line Item) string {
	path := d.Name("items") + "[" + strconv.Itoa(i) + "]"
	d.If(path + "." + d.Name("sku") + " = " + d.Value(dynamo.S(line.SKU)))
	d.If(path + "." + d.Name("quantity") + " = " + d.Value(dynamo.N(line.Quantity)))
	d.If(path + "." + d.Name("price") + " = " + d.Value(dynamo.N(line.Price)))

	return path
}

// changeItem is the change of [Orders.ChangeItem].
type changeItem struct{ line Item }

func (c *changeItem) validate() error { return c.line.validate("item") }
func (c *changeItem) content() digest { return digestOf(c.line.parts()...) }
func (c *changeItem) blind() bool     { return false }

func (c *changeItem) plan(order *Order, d draft) (Verdict, string, error) {
	if err := order.readableForEdit("items"); err != nil {
		return 0, "", err
	}

	i := slices.IndexFunc(order.Items, func(l Item) bool { return l.SKU == c.line.SKU })
	if i < 0 {
		return NotFound, noSuchLine, nil
	}
	// The index i is valid for this version only: another edit may remove a line before it.
	d.requireVersion(order.ContentVersion)
	old := order.Items[i]

	before, err := old.cost()
	if err != nil {
		return 0, "", err
	}

	after, err := c.line.cost()
	if err != nil {
		return 0, "", err
	}
	path := d.pin(i, old)
	d.Set(path + "." + d.Name("quantity") + " = " + d.Value(dynamo.N(c.line.Quantity)))
	d.Set(path + "." + d.Name("price") + " = " + d.Value(dynamo.N(c.line.Price)))

	return d.moveTotal(order, after-before)
}

// removeItem is the change of [Orders.RemoveItem].
type removeItem struct{ sku string }

func (c *removeItem) validate() error {
	if !skuRule().MatchString(c.sku) {
		return fmt.Errorf("%w: sku: 1 to 128 printable ASCII characters without spaces", ErrInvalidRequest)
	}

	return nil
}

func (c *removeItem) content() digest { return digestOf(c.sku) }
func (c *removeItem) blind() bool     { return false }

// maxRemoved is the largest number of lines that a single write removes. Expressions are limited
// to 4 KB.
const maxRemoved = 20

func (c *removeItem) plan(order *Order, d draft) (Verdict, string, error) {
	if err := order.readableForEdit("items"); err != nil {
		return 0, "", err
	}

	var delta int64
	removed := 0
	for i, line := range order.Items {
		if line.SKU != c.sku {
			continue
		}

		if removed++; removed > maxRemoved {
			return 0, "", &LimitError{What: "lines with one sku that can be removed at once", Limit: maxRemoved}
		}

		cost, err := line.cost()
		if err != nil {
			return 0, "", err
		}
		// Every index refers to the list before the write: DynamoDB removes all of them at once.
		d.Remove(d.pin(i, line))
		delta -= cost
	}

	if removed == 0 {
		return NotFound, noSuchLine, nil
	}
	d.requireVersion(order.ContentVersion)

	return d.moveTotal(order, delta)
}

// setAddress is the change of [Orders.SetAddress].
type setAddress struct {
	kind    string
	address Address
}

func (c *setAddress) validate() error {
	if c.kind != shippingAddress && c.kind != billingAddress {
		return fmt.Errorf("%w: address kind %q: must be %s or %s", ErrInvalidRequest, clip(c.kind), shippingAddress, billingAddress)
	}

	return c.address.validate("address")
}

// validate returns an error that names the first rule that the address breaks. Errors do not
// repeat the texts.
func (a Address) validate(field string) error {
	if len(a) == 0 || len(a) > maxFields {
		return fmt.Errorf("%w: %s: %d fields, 1 to %d", ErrInvalidRequest, field, len(a), maxFields)
	}

	size := 0
	for name, text := range a {
		switch {
		case !fieldRule().MatchString(name):
			return fmt.Errorf("%w: %s: names of fields have 1 to 64 characters of A-Z a-z 0-9 _ . -", ErrInvalidRequest, field)
		case len(text) > maxFieldText || !utf8.ValidString(text):
			return fmt.Errorf("%w: %s.%s: UTF-8, at most %d bytes", ErrInvalidRequest, field, name, maxFieldText)
		}
		size += len(name) + len(text)
	}

	if size > maxAddress {
		return fmt.Errorf("%w: %s: %d bytes, at most %d", ErrInvalidRequest, field, size, maxAddress)
	}

	return nil
}

func (c *setAddress) content() digest {
	parts := []string{c.kind}
	for _, name := range slices.Sorted(maps.Keys(c.address)) {
		parts = append(parts, name, c.address[name])
	}

	return digestOf(parts...)
}

func (c *setAddress) blind() bool { return true }

func (c *setAddress) plan(order *Order, d draft) (Verdict, string, error) {
	// An address of another program's form is not replaced.
	if err := order.readableForEdit(addressAttribute(c.kind)); err != nil {
		return 0, "", err
	}

	d.requireOwn(addressAttribute(c.kind), "M")
	d.Set(d.Name(addressAttribute(c.kind)) + " = " + d.Value(textsValue(c.address)))

	return 0, "", nil
}

// textsValue returns a map of strings as an attribute.
func textsValue(texts map[string]string) types.AttributeValue {
	fields := make(image, len(texts))
	for name, text := range texts {
		fields[name] = dynamo.S(text)
	}

	return dynamo.M(fields)
}

// addNote is the change of [Orders.AddNote].
type addNote struct{ note Note }

func (c *addNote) validate() error {
	switch {
	case c.note.Text == "" || len(c.note.Text) > maxNoteBytes || !utf8.ValidString(c.note.Text):
		return fmt.Errorf("%w: note.text: UTF-8, 1 to %d bytes", ErrInvalidRequest, maxNoteBytes)
	case len(c.note.By) > maxByBytes || !utf8.ValidString(c.note.By):
		return fmt.Errorf("%w: note.by: UTF-8, at most %d bytes", ErrInvalidRequest, maxByBytes)
	}

	return nil
}

func (c *addNote) content() digest { return digestOf(c.note.By, c.note.Text) }
func (c *addNote) blind() bool     { return true }

func (c *addNote) plan(order *Order, d draft) (Verdict, string, error) {
	if err := order.readableForEdit("notes"); err != nil {
		return 0, "", err
	}

	if order != nil && len(order.Notes) >= maxNotes {
		return 0, "", &LimitError{What: "notes", Limit: maxNotes}
	}
	// The condition repeats the check: the order may not be known, or have more notes by now.
	d.requireOwnList("notes", "text")
	notes := d.Name("notes")
	d.If("(attribute_not_exists(" + notes + ") OR size(" + notes + ") < " + d.Value(dynamo.N(maxNotes)) + ")")
	d.appendTo("notes", dynamo.M(image{"at": dynamo.N(c.note.At.UnixMilli()), "by": dynamo.S(c.note.By), "text": dynamo.S(c.note.Text)}))

	return 0, "", nil
}
