package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Line is a number of pieces of one SKU.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// Level is what a SKU has, in pieces.
type Level struct {
	SKU       string `json:"sku"`
	Available int64  `json:"available"`
	Reserved  int64  `json:"reserved"`
	Committed int64  `json:"committed"`
}

// Status is what has become of a reservation.
type Status string

// The statuses.
const (
	Reserved  Status = "RESERVED"
	Committed Status = "COMMITTED"
	Released  Status = "RELEASED"
	Expired   Status = "EXPIRED"
)

// Reservation is what an order has reserved.
type Reservation struct {
	Order  string `json:"order"`
	Status Status `json:"status"`
	// Lines are what it holds, or held when it was committed or released. One SKU may be
	// in several.
	Lines []Line `json:"lines,omitempty"`
	// ExpiresAt is when a reserved one runs out; zero for never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

const (
	// MaxLines is how many lines one reservation can have: what one transaction takes,
	// less the reservation and its expiry.
	MaxLines = 98
	// MaxQuantity bounds a line, so that no sum of lines overflows.
	MaxQuantity = 1_000_000_000

	maxName     = 128
	orderPrefix = "order#"
)

type image = dynamo.Item

const (
	skuKey   = "sku"
	shardKey = "shard"
	dueKey   = "due"
)

// TableInput describes the inventory's table: key sku.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(skuKey))
}

// DueTableInput describes the table of reservations that expire: keys shard and due.
func DueTableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(shardKey), dynamo.TextKey(dueKey))
}

// orderKey is where an order's reservation lies among the SKUs.
func orderKey(order string) string { return orderPrefix + order }

func key(sku string) image { return image{skuKey: dynamo.S(sku)} }

// record is a reservation as it is stored.
type record struct {
	Reservation
	// version counts the changes of its lines.
	version int64
	// base is the digest of what Reserve reserved; nil when lines were only added.
	base []byte
}

// lapsed: the reservation has run out, and whether it was swept yet is chance.
func (r record) lapsed(now time.Time) bool {
	return r.Status == Reserved && !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

func decode(item image) record {
	r := record{version: dynamo.Number(item, "version"), base: dynamo.Bytes(item, "base")}
	r.Status = Status(dynamo.Text(item, "status"))
	if ms := dynamo.Number(item, "expiresAt"); ms != 0 {
		r.ExpiresAt = time.UnixMilli(ms).UTC()
	}

	if list, ok := item["lines"].(*types.AttributeValueMemberL); ok {
		for _, v := range list.Value {
			if m, ok := v.(*types.AttributeValueMemberM); ok {
				r.Lines = append(r.Lines, Line{SKU: dynamo.Text(m.Value, "sku"), Quantity: dynamo.Number(m.Value, "quantity")})
			}
		}
	}

	return r
}

func linesValue(lines []Line) types.AttributeValue {
	list := make([]types.AttributeValue, len(lines))
	for i, l := range lines {
		list[i] = dynamo.M(image{"sku": dynamo.S(l.SKU), "quantity": dynamo.N(l.Quantity)})
	}

	return &types.AttributeValueMemberL{Value: list}
}

// merge checks the lines and adds up those of a SKU: a transaction takes an item once.
func merge(lines []Line) ([]Line, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("%w: no lines", ErrInvalid)
	}

	for _, l := range lines {
		if err := validate(l); err != nil {
			return nil, err
		}
	}

	out := sum(lines)
	if len(out) > MaxLines {
		return nil, fmt.Errorf("%w: %d different SKUs, at most %d", ErrInvalid, len(out), MaxLines)
	}

	return out, nil
}

func sum(lines []Line) []Line {
	var out []Line
	for _, l := range lines {
		if i := slices.IndexFunc(out, func(o Line) bool { return o.SKU == l.SKU }); i >= 0 {
			out[i].Quantity += l.Quantity
			continue
		}
		out = append(out, l)
	}

	return out
}

func validate(l Line) error {
	switch {
	case l.SKU == "" || len(l.SKU) > maxName || strings.HasPrefix(l.SKU, orderPrefix):
		return fmt.Errorf("%w: sku: 1 to %d bytes, not beginning with %q", ErrInvalid, maxName, orderPrefix)
	case l.Quantity < 1 || l.Quantity > MaxQuantity:
		return fmt.Errorf("%w: quantity %d of sku: 1 to %d", ErrInvalid, l.Quantity, MaxQuantity)
	}

	return nil
}

func checkOrder(order string) error {
	if order == "" || len(order) > maxName {
		return fmt.Errorf("%w: order: 1 to %d bytes", ErrInvalid, maxName)
	}
	return nil
}
