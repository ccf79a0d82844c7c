package transitions

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
)

// editWrite is what stays the same between two sendings of one edit.
type editWrite struct {
	edit    Edit
	content digest
	call    string
	at      time.Time
}

// draft is an UpdateItem that several hands write.
type draft struct {
	sets, removes, conditions []string // clauses
	names                     map[string]string
	values                    image
}

// name returns the placeholder of an attribute: most of the order's are reserved
// words of DynamoDB (ITEMS, TOTAL, COMMENT...).
func (d *draft) name(attribute string) string {
	placeholder := "#" + attribute
	d.names[placeholder] = attribute
	return placeholder
}

// value returns a placeholder of its own for the value.
func (d *draft) value(v types.AttributeValue) string {
	placeholder := ":v" + strconv.Itoa(len(d.values))
	d.values[placeholder] = v
	return placeholder
}

func (d *draft) set(clause string)     { d.sets = append(d.sets, clause) }
func (d *draft) remove(path string)    { d.removes = append(d.removes, path) }
func (d *draft) require(clause string) { d.conditions = append(d.conditions, clause) }

// appendTo adds values to the end of a list that may not be there yet.
func (d *draft) appendTo(list string, values ...types.AttributeValue) {
	path := d.name(list)
	d.set(path + " = list_append(if_not_exists(" + path + ", " + d.value(&types.AttributeValueMemberL{Value: []types.AttributeValue{}}) + "), " +
		d.value(&types.AttributeValueMemberL{Value: values}) + ")")
}

// draft begins the write of an edit: who may make it, and the trace that it leaves.
// With the order at hand, traces that are too old or too many go in the same write;
// without, a full memory fails the condition and the next attempt has the order.
func (o *Orders) draft(w editWrite, base *Order) *draft {
	d := &draft{names: map[string]string{}, values: image{}}
	d.require("attribute_exists(orderId)")

	states := make([]string, len(o.editable))
	for i, s := range o.editable {
		states[i] = d.value(dynamo.S(string(s)))
	}
	d.require("orderState IN (" + strings.Join(states, ", ") + ")")
	d.values[":version"] = dynamo.N(int64(o.def.Version()))
	d.require(o.ofVersion(0, d.values))

	if seen := w.edit.IfMatch; seen != nil {
		d.requireVersion(*seen)
	}
	version := "if_not_exists(contentVersion, " + d.value(dynamo.N(0)) + ") + " + d.value(dynamo.N(1))
	d.set("contentVersion = " + version)
	d.set("updatedAt = " + d.value(dynamo.N(w.at.UnixMilli())))
	d.trace(o.cfg, w, base, version)

	return d
}

// requireVersion pins the content to a version.
func (d *draft) requireVersion(v ContentVersion) {
	d.require(isOrAbsent("contentVersion", d.value(dynamo.N(int64(v))), v == 0))
}

func (d *draft) input(table string, id OrderID) *dynamodb.UpdateItemInput {
	update := "SET " + strings.Join(d.sets, ", ")
	if len(d.removes) > 0 {
		update += " REMOVE " + strings.Join(d.removes, ", ")
	}
	condition := strings.Join(d.conditions, " AND ")

	return &dynamodb.UpdateItemInput{
		TableName: &table, Key: image{"orderId": dynamo.S(string(id))},
		UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: d.names, ExpressionAttributeValues: d.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// maxItemBytes is DynamoDB's bound of an item. The bounds of lines, notes, addresses
// and traces add up to less than 310 KB, so an order of ours never comes near it; one
// to which others have added attributes may.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const maxItemBytes = 400 << 10

func itemTooLarge(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" &&
		strings.Contains(strings.ToLower(api.ErrorMessage()), "item size")
}
