package transitions

import (
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// editWrite is what stays the same between two sendings of one edit.
type editWrite struct {
	edit    Edit
	content digest
	call    string
	at      time.Time
}

// draft is the update of one edit: the edit adds its change to what every edit writes.
type draft struct {
	*dynamo.Update

	totals bool // the definition has totals, which follow the lines
}

// draft begins the write of an edit: when it may be made, and the trace that it leaves.
// With the order at hand, traces that are too old or too many go in the same write.
// Without it, a full memory fails the condition, and the next attempt has the order.
func (o *Orders) draft(w editWrite, base *Order) draft {
	d := draft{dynamo.NewUpdate(o.cfg.Table, orderKey(w.edit.OrderID)), o.def.Has(workflow.PartTotal)}
	d.If("attribute_exists(orderId)")

	states := make([]string, len(o.editable))
	for i, s := range o.editable {
		states[i] = d.Value(dynamo.S(string(s)))
	}
	d.If("orderState IN (" + strings.Join(states, ", ") + ")")

	for name, v := range o.versions.values {
		d.Bind(name, v)
	}
	d.If(o.versions.condition)

	if seen := w.edit.IfMatch; seen != nil {
		d.requireVersion(*seen)
	}

	version := "if_not_exists(contentVersion, " + d.Value(dynamo.N(0)) + ") + " + d.Value(dynamo.N(1))
	d.Set("contentVersion = " + version)
	d.Set("updatedAt = " + d.Value(dynamo.Millis(w.at)))
	d.leaveTrace(o.cfg, w, base, version)
	d.leaveCause(w.edit)

	return d
}

// requireVersion pins the content to a version.
func (d draft) requireVersion(v int64) {
	d.If(equalsOrAbsent("contentVersion", d.Value(dynamo.N(v)), v == 0))
}

// appendTo adds values to the end of a list that may not be there yet.
func (d draft) appendTo(list string, values ...types.AttributeValue) {
	path := d.Name(list)
	none := d.Value(&types.AttributeValueMemberL{Value: []types.AttributeValue{}})
	added := d.Value(&types.AttributeValueMemberL{Value: values})
	d.Set(path + " = list_append(if_not_exists(" + path + ", " + none + "), " + added + ")")
}

// maxItemBytes is DynamoDB's bound of an item. The bounds of lines, notes, addresses
// and traces add up to less than 310 KB, so an order of ours never comes near it. One to
// which other programs have added attributes may.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const maxItemBytes = 400 << 10

func itemTooLarge(err error) bool {
	var api smithy.APIError

	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" &&
		strings.Contains(strings.ToLower(api.ErrorMessage()), "item size")
}
