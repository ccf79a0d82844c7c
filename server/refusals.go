package server

import (
	"context"
	"fmt"
	"strings"

	"ratchet/once/inventory"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
)

// codeOutOfStock is the code of a refusal because pieces are missing. The causes of transitions use the
// same code.
const codeOutOfStock = "out-of-stock"

func (b *Backend) assembleRefusals() (err error) {
	b.Refusals, err = refusals.New(refusals.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Refusals, Log: b.log})
	return err
}

// noteRefusal notes a refused request of an order. An unknown event is noted as "other", because callers
// could send any number of names.
func (b *Backend) noteRefusal(r transitions.Refusal) {
	event := string(r.Event)
	if r.Verdict == transitions.Illegal {
		event = "other"
	}

	b.Refusals.Note(refusals.Refusal{Order: string(r.OrderID), Event: event, Code: r.Verdict.String(), Text: r.Text, Source: r.Source})
}

// noteOutOfStock notes that lines were not added to an order because pieces were missing. The text with
// the stock that is left is made when the refusal is written.
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
			continue // the stock has changed after the refusal, or cannot be read
		}

		name := sku
		// The SKUs of a tenant begin with the tenant's name, which is not shown to the tenant itself.
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
