package orders

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/transitions"
	"ratchet/workflow"
)

// newOrderFlags are the flags for the parts of an order.
type newOrderFlags struct {
	items    []string
	currency string
	total    int64
	customer string

	reference                   string
	shipping, billing, metadata []string

	own []string

	cause func() transitions.Cause
}

func (f *newOrderFlags) addTo(c *cobra.Command) {
	flags := c.Flags()
	f.cause = arguments.ReasonFlags(c)
	flags.StringArrayVar(&f.items, "item", nil, "SKU:QUANTITY:PRICE, the price of one piece in minor units; repeat for more")
	flags.StringVar(&f.currency, "currency", "EUR", "ISO 4217 code, if the definition has a total")
	flags.Int64Var(&f.total, "total", 0, "what the customer pays, in minor units; default: the sum of the items")
	flags.StringVar(&f.customer, "customer", "", "whose order it is: an id of your system, no personal data")
	flags.StringVar(&f.reference, "reference", "", "the order's number in your system")
	flags.StringArrayVar(&f.shipping, "shipping", nil, "FIELD=TEXT of the shipping address; repeat for more")
	flags.StringArrayVar(&f.billing, "billing", nil, "FIELD=TEXT of the billing address; repeat for more")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "NAME=TEXT for your own systems; repeat for more")
	flags.StringArrayVar(&f.own, "set", nil, setFlag)
}

// order returns the order of the flags without its total, which needs the definition.
func (f *newOrderFlags) order(id string) (transitions.NewOrder, error) {
	order := transitions.NewOrder{ID: transitions.OrderID(id), Customer: f.customer, Reference: f.reference, Cause: f.cause()}

	var faults [4]error
	order.Shipping, faults[0] = parseTexts("shipping", f.shipping)
	order.Billing, faults[1] = parseTexts("billing", f.billing)
	order.Metadata, faults[2] = parseTexts("metadata", f.metadata)
	order.Own, faults[3] = parseOwn(f.own)

	// The first fault is enough: the flags are corrected one by one.
	if err := cmp.Or(faults[:]...); err != nil {
		return order, err
	}

	for _, text := range f.items {
		item, err := arguments.ParseItem(text)
		if err != nil {
			return order, err
		}
		order.Items = append(order.Items, item)
	}

	return order, order.Validate()
}

// parseTexts parses NAME=TEXT. Its errors do not repeat the texts, which may be personal data.
func parseTexts(flag string, pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil //nolint:nilnil // the flag was not given
	}

	texts := map[string]string{}
	for i, pair := range pairs {
		name, text, found := strings.Cut(pair, "=")
		if !found {
			return nil, exit.UsageError("--%s number %d: must be NAME=TEXT", flag, i+1)
		}

		// The second value would silently win.
		if _, twice := texts[name]; twice {
			return nil, exit.UsageError("--%s number %d: %s was given before", flag, i+1, name)
		}
		texts[name] = text
	}

	return texts, nil
}

// setTotal gives the order the total that the definition requires, and checks the whole order. The
// definition does not decide about a repeat: that has the content that the order was placed with under an
// earlier one.
func (f *newOrderFlags) setTotal(c *cobra.Command, order *transitions.NewOrder, orders *transitions.Orders) error {
	placed, exists, err := orders.Get(c.Context(), order.ID)
	if err != nil {
		return err
	}

	if exists && f.setTotalOf(c, order, placed) {
		return nil
	}
	given, d := c.Flags().Changed, orders.Definition()

	if !d.Has(workflow.PartTotal) {
		// A flag without a meaning for this definition is a mistake, and is not ignored.
		for _, name := range []string{"currency", "total"} {
			if given(name) {
				return exit.UsageError("%s: the definition %s has no total", name, d.Name())
			}
		}

		return order.ValidateFor(d)
	}

	if len(order.Items) == 0 && !given("total") {
		return exit.UsageError("an order needs at least one --item SKU:QUANTITY:PRICE, or --total")
	}

	order.Total = f.totalOf(c, order.Items)

	return order.ValidateFor(d)
}

// totalOf returns the total of the flags, or the sum of the items.
func (f *newOrderFlags) totalOf(c *cobra.Command, items []transitions.Item) transitions.Money {
	total := transitions.Money{Amount: f.total, Currency: f.currency}
	if !c.Flags().Changed("total") {
		for _, item := range items {
			// No overflow: Validate has bounded quantities, prices and the number of lines.
			total.Amount += item.Quantity * item.Price
		}
	}

	return total
}

// setTotalOf reports whether the flags describe the order that was placed, and gives the order its total.
func (f *newOrderFlags) setTotalOf(c *cobra.Command, order *transitions.NewOrder, placed *transitions.Order) bool {
	with := *order
	with.Total = f.totalOf(c, order.Items)

	if placed.PlacedWith(with) {
		*order = with
		return true
	}

	// A flag about a total asks for one.
	return !c.Flags().Changed("total") && !c.Flags().Changed("currency") && placed.PlacedWith(*order)
}
