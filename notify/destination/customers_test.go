package destination_test

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"testing"

	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/transitions"
)

// book has the orders of a test.
type book map[transitions.OrderID]*transitions.Order

func (b book) Get(_ context.Context, id transitions.OrderID) (*transitions.Order, bool, error) {
	if b == nil {
		return nil, false, errors.New("no answer")
	}
	order, found := b[id]

	return order, found, nil
}

const customersOf = "mailto:{{or .Shipping.email .Billing.email}}"

// sendToCustomer sends the message to the customer of its order, which has the shipping address.
func sendToCustomer(t *testing.T, through destination.MailServer, orders book) (notify.Answer, error) {
	t.Helper()

	box, err := destination.Opener{Mail: &through, Orders: orders}.Open(notify.Endpoint{ID: "mail", Settings: notify.Settings{Destination: customersOf}})
	if err != nil {
		t.Fatal(err)
	}

	return box.Send(t.Context(), message)
}

func orderOf(address string) book {
	return book{message.OrderID: {ID: message.OrderID, Shipping: transitions.Address{"email": address, "name": "Ada"}}}
}

func TestAnEmailGoesToTheCustomerOfItsOrder(t *testing.T) {
	server, through := startMailServer(t)

	for _, address := range []string{"ada@example.com", " ada+orders@mail.example.co.uk\n", strings.Repeat("a", 60) + "@" + strings.Repeat("example.", 20) + "com"} {
		server.mails = nil

		if _, err := sendToCustomer(t, through, orderOf(address)); err != nil {
			t.Errorf("%q: %v", address, err)
			continue
		}
		address = strings.TrimSpace(address)

		got, err := mail.ReadMessage(strings.NewReader(server.mails[0]))
		if err != nil || got.Header.Get("To") != address || !strings.Contains(server.to, "<"+address+">") {
			t.Errorf("%q: %v, to %s, %v", address, got, server.to, err)
		}
	}
}

// TestAnOrderWithoutAnAddressIsSkipped: nothing is sent, and no error shows the order's data.
func TestAnOrderWithoutAnAddressIsSkipped(t *testing.T) {
	server, through := startMailServer(t)

	for _, address := range []string{
		"", "  ", "ada", "ada@", "@example.com", "ada@example.com, eve@example.com", "Ada <ada@example.com>",
		"ada@example.com\r\nBcc: eve@example.com", "ada@example.com\r\nDATA", "ada@example.com>\r\nRCPT TO:<eve@example.com", "ada@example.com\x00",
		`"ada eve"@example.com`, "ada@[169.254.169.254]", "\u00e4da@example.com", "ada@ex\u00e4mple.com", "ada@example.com\u2028Bcc: eve@example.com",
		strings.Repeat("a", 60) + "@" + strings.Repeat("example.", 25) + "com",
	} {
		answer, err := sendToCustomer(t, through, orderOf(address))
		if !errors.Is(err, notify.ErrSkipped) || len(address) > 3 && strings.Contains(err.Error(), address) || answer != (notify.Answer{}) {
			t.Errorf("%q: %+v, %v", address, answer, err)
		}
	}

	if _, err := sendToCustomer(t, through, book{}); !errors.Is(err, notify.ErrSkipped) {
		t.Errorf("no order: %v", err)
	}

	if _, err := sendToCustomer(t, through, nil); err == nil || errors.Is(err, notify.ErrSkipped) || errors.Is(err, notify.ErrRejected) {
		t.Errorf("an order that cannot be read: %v", err)
	}

	if server.to != "" || len(server.mails) != 0 {
		t.Errorf("sent to %q: %q", server.to, server.mails)
	}
}

func TestATemplateOfAnAddressIsCheckedBeforeItIsStored(t *testing.T) {
	through := destination.MailServer{URL: "smtp://mail.example.com:587", From: "a@example.com"}
	if err := through.Validate(); err != nil {
		t.Fatal(err)
	}

	for _, to := range []string{"{{.Nothing}}", "{{", "{{.Shipping.email", "{{call .Customer}}", "{{.OrderID}}@example.com"} {
		if err := (destination.Opener{Mail: &through, Orders: book{}}).Check(notify.Endpoint{Settings: notify.Settings{Destination: "mailto:" + to}}); !errors.Is(err, notify.ErrInvalid) {
			t.Errorf("to %q: %v", to, err)
		}
	}

	e := notify.Endpoint{Settings: notify.Settings{Destination: customersOf}}
	if err := (destination.Opener{Mail: &through}).Check(e); !errors.Is(err, notify.ErrInvalid) || !errors.Is(err, destination.ErrUnsupported) {
		t.Errorf("without orders: %v", err)
	}
}

func FuzzCustomersAddress(f *testing.F) {
	for _, seed := range []string{"ada@example.com", "a@b\r\nBcc: c@d", "@", "a@b>", `"a"@b`} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, address string) {
		through := destination.MailServer{URL: "smtp://127.0.0.1:1", From: "a@example.com"}
		if err := through.Validate(); err != nil {
			t.Fatal(err)
		}

		// No server listens: what is not skipped would have been sent.
		_, err := sendToCustomer(t, through, orderOf(address))
		if trimmed := strings.TrimSpace(address); !errors.Is(err, notify.ErrSkipped) && strings.ContainsFunc(trimmed, func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == ',' }) {
			t.Errorf("%q would be sent to: %v", address, err)
		}
	})
}
