package server

import (
	"context"
	"fmt"
	"strings"

	"ratchet/once/inventory"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
)

// codeOutOfStock is the code of a refusal for want of pieces, as in causes.
const codeOutOfStock = "out-of-stock"

func (b *Backend) assembleRefusals() (err error) {
	b.Refusals, err = refusals.New(refusals.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Refusals, Log: b.log})
	return err
}

// noteRefusal notes a refused request of an order. It drops the name of an unknown event: callers could
// send any number of names.
func (b *Backend) noteRefusal(r transitions.Refusal) {
	event := string(r.Event)
	if r.Verdict == transitions.Illegal {
		event = "other"
	}

	b.Refusals.Note(refusals.Refusal{Order: string(r.OrderID), Event: event, Code: r.Verdict.String(), Text: r.Text, Source: r.Source})
}

// noteOutOfStock notes that pieces for more lines of an order were missing. The remaining stock is read
// when the refusal is written.
func (b *Backend) noteOutOfStock(edit transitions.Edit, lines []inventory.Line) {
	b.Refusals.Note(refusals.Refusal{
		Order:  string(edit.OrderID),
		Event:  "add_items",
		Code:   codeOutOfStock,
		Source: edit.Cause.Source,
		Text:   "out of stock",
		Describe: func(ctx context.Context) string {
			return b.describeShortage(ctx, edit.OrderID, lines)
		},
	})
}

// maxNamedSKUs is how many missing SKUs a refusal names.
const maxNamedSKUs = 3

// describeShortage names the SKUs that are short, as "out of stock: mug, wanted 2, 1 left".
func (b *Backend) describeShortage(ctx context.Context, id transitions.OrderID, lines []inventory.Line) string {
	wanted := map[string]int64{}
	var skus []string

	// Two lines may have one SKU; the stock is short for their sum.
	for _, line := range lines {
		if wanted[line.SKU] == 0 {
			skus = append(skus, line.SKU)
		}
		wanted[line.SKU] += line.Quantity
	}

	var short []string
	for _, sku := range skus {
		level, _, err := b.Stock.Level(ctx, sku)
		if err != nil || level.Available >= wanted[sku] {
			continue // it has changed since, or cannot be read
		}

		name := sku
		// The stock of a tenant has the tenant's prefix, which its people do not see.
		if tenant, _, found := strings.Cut(string(id), ":"); found {
			name = strings.TrimPrefix(sku, tenant+":")
		}

		if short = append(short, fmt.Sprintf("%s, wanted %d, %d left", name, wanted[sku], level.Available)); len(short) == maxNamedSKUs {
			break
		}
	}

	if len(short) == 0 {
		return "out of stock"
	}

	return "out of stock: " + strings.Join(short, "; ")
}
