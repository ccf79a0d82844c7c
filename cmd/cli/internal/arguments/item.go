package arguments

import (
	"errors"
	"strconv"
	"strings"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/transitions"
)

// ParseItem parses SKU:QUANTITY:PRICE. The SKU may contain colons.
func ParseItem(text string) (transitions.Item, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 3 {
		return transitions.Item{}, exit.UsageError("item %q: must be SKU:QUANTITY:PRICE", text)
	}

	// 32 bits, so that quantity times price fits into 64.
	quantity, err1 := strconv.ParseInt(parts[len(parts)-2], 10, 32)
	price, err2 := strconv.ParseInt(parts[len(parts)-1], 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return transitions.Item{}, exit.UsageError("item %q: quantity and price must be whole numbers below 2^31", text)
	}

	return transitions.Item{SKU: strings.Join(parts[:len(parts)-2], ":"), Quantity: quantity, Price: price}, nil
}
