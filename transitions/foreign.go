package transitions

import (
	"strings"

	"ratchet/internal/dynamo"
)

// An order may be the item of another program, which uses some names of this package for attributes of
// other types. A transition does not change the type of such an attribute. A write that does not know
// the order requires the types that it would write, which costs no read and no unit. If the order
// refuses, its image shows which attributes are another program's, and the next write leaves them out.

// foreign says which attributes of an order are another program's.
type foreign struct{ previous, updated, entered, version, cause bool }

func (o *Order) foreign() foreign {
	return foreign{
		previous: o.Readable(previousStateAttribute) != nil,
		updated:  o.Readable(updatedAtAttribute) != nil,
		entered:  o.Readable(enteredAtAttribute) != nil,
		version:  o.Readable(versionAttribute) != nil,
		cause:    o.Readable(causeAttribute) != nil,
	}
}

// ofType is the condition that an attribute is absent or has the type.
func ofType(attribute, placeholder string) string {
	return "(attribute_not_exists(" + attribute + ") OR attribute_type(" + attribute + ", " + placeholder + "))"
}

// ownTypes is the condition that the attributes which a transition sets beside the version, whose values
// are compared, are not another program's.
var ownTypes = " AND " + ofType(updatedAtAttribute, ":number") + " AND " + ofType(enteredAtAttribute, ":number") +
	" AND " + ofType(previousStateAttribute, ":text") + " AND " + ofType(causeAttribute, ":text")

// requestTypes is the same condition for what a writer with a table of requests sets. It needs both, so
// such an order is refused.
var requestTypes = " AND " + ofType(requestsAt, ":number") + " AND " + ofType(requestsAfter, ":number")

// types is the condition that the order has no other types of what this writer's transitions set.
func (o *Orders) types() string {
	if o.keepsRequests() {
		return ownTypes + requestTypes
	}

	return ownTypes
}

// bindTypes adds the values of the condition.
func bindTypes(values image) {
	values[":number"], values[":text"] = dynamo.S("N"), dynamo.S("S")
}

// without returns the update and the values without the attributes that are another program's.
func (f foreign) without(update *string, values image) *string {
	text := *update
	if f.previous {
		text = strings.Replace(text, previousStateAttribute+" = orderState, ", "", 1)
	}

	if f.updated {
		text = strings.Replace(text, updatedAtAttribute+" = :at, ", "", 1)
	}

	if f.entered {
		text = strings.Replace(text, enteredAtAttribute+" = :at, ", "", 1)
	}

	// The cause is the last attribute that is set or removed.
	if f.cause {
		text = strings.Replace(text, ", "+causeAttribute+" = :cause", "", 1)
		delete(values, ":cause")
		text = strings.TrimSuffix(strings.TrimSuffix(text, " REMOVE "+causeAttribute), ", "+causeAttribute)
	}

	// DynamoDB refuses values that no expression uses.
	if !strings.Contains(text, " = :at, ") {
		delete(values, ":at")
	}

	if f.version {
		text = strings.Replace(text, versionAttribute+" = :version, ", "", 1)
		delete(values, ":version")
	}

	return &text
}

// readableForEdit returns an ErrUnreadable if the order, nil if it is not known, has an attribute that
// an edit of these parts needs in a form that cannot be read.
func (o *Order) readableForEdit(attributes ...string) error {
	if o == nil {
		return nil
	}

	return o.Readable(append(attributes, processedEvents, contentVersionAttribute)...)
}
