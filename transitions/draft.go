package transitions

import (
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/workflow"
)

// editWrite holds everything about an edit that is the same in each attempt to send it.
type editWrite struct {
	edit    Edit
	content digest
	call    string
	at      time.Time
}

// draft is the update of one edit: the attributes that every edit writes, and the edit's own change.
type draft struct {
	*dynamo.Update

	totals bool // the definition has totals, which follow the lines
}

// draft begins the write of an edit with its condition and its trace. If the order is
// known, the same write removes outdated traces. Otherwise a full memory fails the
// condition, and the next attempt knows the order.
func (o *Orders) draft(w editWrite, base *Order) draft {
	d := draft{dynamo.NewUpdate(o.cfg.Table, orderKey(w.edit.OrderID)), o.def.Has(workflow.PartTotal)}
	d.If("attribute_exists(orderId)")

	states := make([]string, len(o.def.Editable()))
	for i, s := range o.def.Editable() {
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

	// An attribute of another program names no life.
	if life := w.edit.Incarnation; life != "" && (base == nil || base.Readable(incarnationAttribute) == nil) {
		d.If(isIn(life, d.Value(dynamo.S(string(life)))))
	}

	d.requireOwn("contentVersion", "N")
	d.requireOwn(processedEvents, "M")
	// An order that was never edited lacks the attribute. The trace gets the same expression, because
	// an update reads every attribute as it was before the write.
	version := "if_not_exists(contentVersion, " + d.Value(dynamo.N(0)) + ") + " + d.Value(dynamo.N(1))
	d.Set("contentVersion = " + version)

	// Another program's attribute of this name stays as it is (see foreign.go).
	if base == nil || !base.foreign().updated {
		d.If(ofType(updatedAtAttribute, d.Value(dynamo.S("N"))))
		d.Set("updatedAt = " + d.Value(dynamo.Millis(w.at)))
	}
	d.leaveTrace(o.cfg, w, base, version)
	d.leaveCause(w.edit, base)

	return d
}

// beginTraces gives an order that another program has created the map of traces, with the edit's own: one
// update cannot set a map and a member of it. The version in it is that of the order as it was read.
func (d draft) beginTraces(key string, w editWrite, base *Order) {
	d.IfAbsent(processedEvents)
	d.requireVersion(base.ContentVersion)
	d.SetValue(processedEvents, dynamo.M(image{
		key: dynamo.M(image{
			"at": dynamo.Millis(w.at),
			"h":  w.content.value(),
			"c":  dynamo.S(w.call),
		}),
		key + versionSuffix: dynamo.N(base.ContentVersion + 1),
	}))
}

// requireOwn requires that the attribute is absent or has the type that Ratchet writes. Otherwise it is
// another program's: the write is refused, and the image says so (see readableForEdit).
func (d draft) requireOwn(attribute, kind string) {
	d.If(ofType(d.Name(attribute), d.Value(dynamo.S(kind))))
}

// requireOwnList is requireOwn of a list of maps. The first map must have the member, which is a string: no
// condition can look at all of them.
func (d draft) requireOwnList(attribute, member string) {
	d.requireOwn(attribute, "L")

	first := d.Name(attribute) + "[0]"
	d.If("(attribute_not_exists(" + first + ") OR attribute_type(" + first + "." + d.Name(member) + ", " + d.Value(dynamo.S("S")) + "))")
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

// maxItemBytes is DynamoDB's limit on the size of an item. The bounds of lines, notes,
// addresses, traces, parcels and the ring add up to less than 330 KB, so an order of ours never comes near
// it. An order may exceed it if other programs have added attributes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const maxItemBytes = 400 << 10

// maxCollectionBytes is DynamoDB's limit on the items of one partition key in a table with a local index.
const maxCollectionBytes = 10 << 30

func itemTooLarge(err error) bool {
	var large *txn.ItemSizeError
	if errors.As(err, &large) {
		return large.Part == orderPart
	}

	var api smithy.APIError

	// Every invalid request has this code, so the message decides.
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" &&
		strings.Contains(strings.ToLower(api.ErrorMessage()), "item size")
}
