package destination

import (
	"context"
	"fmt"
	"net/mail"
	"strings"

	"ratchet/internal/templates"
	"ratchet/notify"
	"ratchet/transitions"
)

// orders has the method of *transitions.Orders that this package calls.
type orders interface {
	Get(context.Context, transitions.OrderID) (order *transitions.Order, found bool, err error)
}

// recipient has the fields of an order that the template of the address can use.
type recipient struct {
	Shipping, Billing map[string]string
	Customer          string
}

// customers sends e-mails to the customers of orders. The address is not stored in a delivery: each
// attempt reads it from the order.
type customers struct {
	server    MailServer
	orders    orders
	to        *templates.Template
	templates mailTemplates
}

func (o Opener) customers(to string, texts mailTemplates) (notify.Destination, error) {
	if o.Orders == nil {
		return nil, fmt.Errorf("%w: mailto: orders cannot be read here", ErrUnsupported)
	}

	parsed, err := templates.Parse("to", to, templates.Options{})
	if err != nil {
		return nil, fmt.Errorf("mailto: %w", err)
	}

	// Parse does not find a mistake in a field's name, so the template is executed once.
	if _, err := execute(parsed, recipient{}); err != nil {
		return nil, fmt.Errorf("mailto: %w", err)
	}

	return customers{*o.Mail, o.Orders, parsed, texts}, nil
}

// Send sends an e-mail to the address in the message's order. The error is notify.ErrSkipped if the
// order has no address, or an address that is invalid or unknown to the server, and
// notify.ErrRecipient if the server refuses the address for another reason. Answers and errors
// contain the codes of the server and not its texts, so none of them shows the address.
func (c customers) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	to, err := c.address(ctx, m.OrderID)
	if err != nil {
		return notify.Answer{}, err
	}

	answer, err := mailbox{c.server, to, c.templates}.Send(ctx, m)
	if err != nil {
		return conclude(err)
	}

	return answer, nil
}

// address returns the address of the order's customer.
func (c customers) address(ctx context.Context, id transitions.OrderID) (string, error) {
	order, found, err := c.orders.Get(ctx, id)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the order's address: %w", err)
	case !found:
		return "", fmt.Errorf("%w: there is no such order", notify.ErrSkipped)
	}

	to, err := execute(c.to, recipient{order.Shipping, order.Billing, order.Customer})
	if err != nil { // without its text, which may show the address
		return "", fmt.Errorf("%w: the template of the address fails for this order", notify.ErrSkipped)
	}

	switch to = strings.TrimSpace(to); {
	case to == "":
		return "", fmt.Errorf("%w: the order has no address", notify.ErrSkipped)
	// Checked at each message, because the address comes from an order, and its customer may have
	// written it.
	case !isMailbox(to):
		return "", fmt.Errorf("%w: the order's address is not one of an e-mail", notify.ErrSkipped)
	}

	return to, nil
}

// maxMailbox is the longest address: RFC 5321, 4.5.3.1.3, without the brackets.
const maxMailbox = 254

// isMailbox reports whether a text from an order is one address, like ada@example.com. Its
// characters cannot end a header or a command of SMTP.
func isMailbox(text string) bool {
	const allowed = ".!#$%&'*+/=?^_`{|}~-@"
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(allowed, r) {
			return false
		}
	}

	parsed, err := mail.ParseAddress(text)

	return err == nil && parsed.Address == text && len(text) <= maxMailbox
}
