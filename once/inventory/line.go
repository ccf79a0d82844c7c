package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Line is a number of pieces of one SKU.
type Line struct {
	// SKU has 1 to 128 bytes and does not begin with "order#".
	SKU string `json:"sku"`
	// Quantity is 1 to [MaxQuantity].
	Quantity int64 `json:"quantity"`
}

const (
	// maxLines is how many lines one reservation can have: as many as fit into one
	// transaction beside the reservation and its row in the due table.
	maxLines = 98
	// MaxQuantity bounds a line, so that no sum of lines overflows.
	MaxQuantity = 1_000_000_000

	// maxSKU and maxOrder bound the names of SKUs and reservations, in bytes. A reservation is named by
	// the id of its order, which has up to 256 bytes, and the order's incarnation.
	maxSKU   = 128
	maxOrder = 288
)

func (l Line) validate() error {
	switch {
	case l.SKU == "" || len(l.SKU) > maxSKU || strings.HasPrefix(l.SKU, orderPrefix):
		return fmt.Errorf("%w: sku: 1 to %d bytes, not beginning with %q", ErrInvalid, maxSKU, orderPrefix)
	case l.Quantity < 1 || l.Quantity > MaxQuantity:
		return fmt.Errorf("%w: quantity %d of sku: 1 to %d", ErrInvalid, l.Quantity, MaxQuantity)
	}

	return nil
}

// checkLines validates the lines and returns one line per SKU, because a transaction may
// write an item only once.
func checkLines(lines []Line) ([]Line, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("%w: no lines", ErrInvalid)
	}

	for _, l := range lines {
		if err := l.validate(); err != nil {
			return nil, err
		}
	}

	merged := sumBySKU(lines)
	if len(merged) > maxLines {
		return nil, fmt.Errorf("%w: %d different SKUs, at most %d", ErrInvalid, len(merged), maxLines)
	}

	return merged, nil
}

// sumBySKU adds up the lines of each SKU, in the order in which the SKUs first appear.
func sumBySKU(lines []Line) []Line {
	var sums []Line
	for _, l := range lines {
		if i := slices.IndexFunc(sums, func(s Line) bool { return s.SKU == l.SKU }); i >= 0 {
			sums[i].Quantity += l.Quantity
			continue
		}
		sums = append(sums, l)
	}

	return sums
}

// linesValue is the attribute value of lines; decodeLines reads it.
func linesValue(lines []Line) types.AttributeValue {
	list := make([]types.AttributeValue, len(lines))
	for i, l := range lines {
		list[i] = dynamo.M(dynamo.Item{"sku": dynamo.S(l.SKU), "quantity": dynamo.N(l.Quantity)})
	}

	return &types.AttributeValueMemberL{Value: list}
}

func decodeLines(v types.AttributeValue) (lines []Line) {
	list, ok := v.(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}

	for _, v := range list.Value {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			lines = append(lines, Line{SKU: dynamo.Text(m.Value, "sku"), Quantity: dynamo.Number(m.Value, "quantity")})
		}
	}

	return lines
}
