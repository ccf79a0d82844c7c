package inventory

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TableInput describes the inventory's table: key sku.
func TableInput(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("sku"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("sku"), KeyType: types.KeyTypeHash}},
	}
}

// orderKey is where an order's reservation lies among the SKUs.
func orderKey(order string) string { return "order#" + order }

func key(sku string) image { return image{"sku": str(sku)} }

func reservation(order, status string, lines []Line) image {
	list := make([]types.AttributeValue, len(lines))
	for i, l := range lines {
		list[i] = &types.AttributeValueMemberM{Value: image{"sku": str(l.SKU), "quantity": num(l.Quantity)}}
	}
	return image{"sku": str(orderKey(order)), "status": str(status), "lines": &types.AttributeValueMemberL{Value: list}}
}

func linesOf(item image) []Line {
	list, _ := item["lines"].(*types.AttributeValueMemberL)
	if list == nil {
		return nil
	}
	var lines []Line
	for _, v := range list.Value {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			lines = append(lines, Line{SKU: text(m.Value, "sku"), Quantity: number(m.Value, "quantity")})
		}
	}
	return lines
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func text(item image, name string) string {
	v, _ := item[name].(*types.AttributeValueMemberS)
	if v == nil {
		return ""
	}
	return v.Value
}

func number(item image, name string) int64 {
	v, _ := item[name].(*types.AttributeValueMemberN)
	if v == nil {
		return 0
	}
	n, _ := strconv.ParseInt(v.Value, 10, 64) // we wrote it
	return n
}
