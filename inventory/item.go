package inventory

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/attribute"
)

// TableInput describes the inventory's table: key sku.
func TableInput(name string) *dynamodb.CreateTableInput {
	return attribute.Table(name, attribute.TextKey("sku"))
}

// orderKey is where an order's reservation lies among the SKUs.
func orderKey(order string) string { return "order#" + order }

func key(sku string) image { return image{"sku": attribute.S(sku)} }

func reservation(order, status string, lines []Line) image {
	list := make([]types.AttributeValue, len(lines))
	for i, l := range lines {
		list[i] = &types.AttributeValueMemberM{Value: image{"sku": attribute.S(l.SKU), "quantity": attribute.N(l.Quantity)}}
	}
	return image{"sku": attribute.S(orderKey(order)), "status": attribute.S(status), "lines": &types.AttributeValueMemberL{Value: list}}
}

func linesOf(item image) []Line {
	list, _ := item["lines"].(*types.AttributeValueMemberL)
	if list == nil {
		return nil
	}
	var lines []Line
	for _, v := range list.Value {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			lines = append(lines, Line{SKU: attribute.Text(m.Value, "sku"), Quantity: attribute.Number(m.Value, "quantity")})
		}
	}
	return lines
}
