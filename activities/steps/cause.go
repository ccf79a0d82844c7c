package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ratchet/payments"
	"ratchet/transitions"
)

// The codes of the causes for which steps cancel or refuse an order.
const (
	codeOutOfStock = "out-of-stock"
	codeDeclined   = "payment-declined"
	codeVoided     = "payment-voided"
)

// causeOf is the cause of a transition of the order's execution. The code may be empty.
func causeOf(id transitions.OrderID, code, text string) transitions.Cause {
	return transitions.Cause{Code: code, Text: text, Actor: "execution:" + string(id), Source: "execution"}
}

// maxNamedSKUs bounds the missing SKUs that the text of a cause names. The text is cut to 128 bytes
// anyway, and a request with a text of more than 1,000 bytes is invalid.
const maxNamedSKUs = 3

// outOfStock is the cause of the cancellation of an order whose pieces are missing, such as "out of
// stock: mug, wanted 2, 1 left". The text names the first three SKUs that are short. The stock is read
// after the refusal, so other orders may have changed it. A SKU whose stock cannot be read is left out.
func (s *Steps) outOfStock(ctx context.Context, order *transitions.Order) transitions.Cause {
	wanted := map[string]int64{}
	var skus []string

	for _, item := range order.Items {
		if wanted[item.SKU] == 0 {
			skus = append(skus, item.SKU)
		}
		// Two lines may have the same SKU, and the stock is refused for their sum.
		wanted[item.SKU] += item.Quantity
	}

	var short []string
	for _, sku := range skus {
		if len(short) == maxNamedSKUs {
			break
		}

		level, _, err := s.cfg.Stock.Level(ctx, sku)
		if err != nil || level.Available >= wanted[sku] {
			continue
		}

		short = append(short, fmt.Sprintf("%s, wanted %d, %d left", ownName(order.ID, sku), wanted[sku], level.Available))
	}

	text := "out of stock"
	if len(short) > 0 {
		text += ": " + strings.Join(short, "; ")
	}

	return causeOf(order.ID, codeOutOfStock, text)
}

// ownName returns the SKU as the order's tenant knows it: without the tenant's name and the colon.
func ownName(id transitions.OrderID, sku string) string {
	tenant, _, found := strings.Cut(string(id), ":")
	if !found {
		return sku
	}

	return strings.TrimPrefix(sku, tenant+":")
}

// notPaid is the cause of a payment that failed for good.
func notPaid(id transitions.OrderID, reason error) transitions.Cause {
	if errors.Is(reason, payments.ErrVoided) {
		return causeOf(id, codeVoided, "the payment was voided")
	}

	return causeOf(id, codeDeclined, "the payment was declined")
}
