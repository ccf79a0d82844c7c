package transitions

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Mapping says how orders stand in their table, which may be another program's and may hold other entities.
// The zero value is Ratchet's own table: the key orderId, and attributes with the names of [Mapping.Fields].
// The names of the other tables of Ratchet never change.
type Mapping struct {
	// PartitionKey and SortKey are the names of the table's key attributes, which are strings. Default:
	// orderId, and no sort key.
	PartitionKey, SortKey string
	// Key is the value of the partition key: a text with {id} once, which stands for the order's id, such as
	// "ORDER#{id}". Default: {id}.
	Key string
	// Sort is the value of the sort key: a text that may have {id} once, such as "ORDER". It must be set if
	// SortKey is.
	Sort string
	// Prefix stands before the names of all fields that Attributes does not name.
	Prefix string
	// Attributes are the names of single fields, such as "orderState": "status".
	Attributes map[string]string
	// Keep are attributes of the caller's own that stay when a person is erased from an order, such as the keys of
	// indexes and the type of the entity. All other own attributes are removed.
	Keep []string
}

// idPart stands for the order's id in the patterns of a mapping.
const idPart = "{id}"

// fields are the attributes that Ratchet reads and writes, without the key.
var fields = []string{
	"orderState", "transitionId", previousStateAttribute, incarnationAttribute, versionAttribute, "createdAt",
	updatedAtAttribute, enteredAtAttribute, timersAttribute, recentAttribute, causeAttribute, editCauseAttribute, "items", "total",
	contentVersionAttribute, addressAttribute(shippingAddress), addressAttribute(billingAddress), "notes",
	customerAttribute, referenceAttribute, metadataAttribute, "placedBy", "placeHash", processedEvents,
	"parcels", erasedAtAttribute, livesAttribute, requestsAt, requestsAfter,
}

var isField = func() map[string]bool {
	set := map[string]bool{}
	for _, f := range fields {
		set[f] = true
	}

	return set
}()

// maxAttributeName is how many bytes the name of a mapped attribute has, DynamoDB's bound for those of keys and
// indexes.
const maxAttributeName = 255

// Fields returns the names of Ratchet's fields, as [Mapping].Attributes has them for keys, sorted.
func (m Mapping) Fields() []string { return slices.Sorted(slices.Values(fields)) }

// Validate returns an error that names every part that breaks a rule.
func (m Mapping) Validate() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("Mapping."+format, args...))
		}
	}

	require(strings.Count(m.keyPattern(), idPart) == 1, "Key %q: must have %s once", m.Key, idPart)
	require(strings.Count(m.Sort, idPart) <= 1, "Sort %q: may have %s once", m.Sort, idPart)
	require((m.SortKey == "") == (m.Sort == ""), "SortKey %q and Sort %q: both or neither", m.SortKey, m.Sort)
	require(m.SortKey != m.partition(), "SortKey: is the partition key")

	taken := map[string]string{m.partition(): "the partition key"}
	if m.SortKey != "" {
		taken[m.SortKey] = "the sort key"
	}

	for _, field := range slices.Sorted(maps.Keys(m.Attributes)) {
		require(isField[field], "Attributes: %q is no field: one of %s", field, strings.Join(m.Fields(), ", "))
		require(m.Attributes[field] != "", "Attributes[%s]: is empty", field)
	}

	for _, field := range fields {
		name := m.attribute(field)
		require(len(name) <= maxAttributeName, "the name of %s has %d bytes, at most %d", field, len(name), maxAttributeName)
		require(taken[name] == "", "%s has the name %q, which is that of %s", field, name, taken[name])
		taken[name] = field
	}

	return errors.Join(faults...)
}

// isDefault reports whether the table is Ratchet's own, so that nothing is to be translated.
func (m Mapping) isDefault() bool {
	return m.partition() == orderIDAttribute && m.SortKey == "" && m.keyPattern() == idPart && m.Prefix == "" && len(m.Attributes) == 0
}

const orderIDAttribute = "orderId"

func (m Mapping) partition() string {
	if m.PartitionKey == "" {
		return orderIDAttribute
	}

	return m.PartitionKey
}

func (m Mapping) keyPattern() string {
	if m.Key == "" {
		return idPart
	}

	return m.Key
}

// attribute returns the table's name of a field.
func (m Mapping) attribute(field string) string {
	if name := m.Attributes[field]; name != "" {
		return name
	}

	return m.Prefix + field
}

// field returns the field with the table's name, "" for another attribute.
func (m Mapping) field(name string) string {
	for field, its := range m.Attributes {
		if its == name {
			return field
		}
	}

	if field, ok := strings.CutPrefix(name, m.Prefix); ok && isField[field] && m.Attributes[field] == "" {
		return field
	}

	return ""
}

// ItemKey returns the key of the order's item.
func (m Mapping) ItemKey(id OrderID) map[string]types.AttributeValue {
	key := image{m.partition(): dynamo.S(strings.Replace(m.keyPattern(), idPart, string(id), 1))}
	if m.SortKey != "" {
		key[m.SortKey] = dynamo.S(strings.Replace(m.Sort, idPart, string(id), 1))
	}

	return key
}

// OrderOf returns the order's id in the key of an item or in an item. It reports false for an item of another
// entity.
func (m Mapping) OrderOf(item map[string]types.AttributeValue) (OrderID, bool) {
	id, ok := idIn(m.keyPattern(), item[m.partition()])
	if !ok || OrderID(id).Validate() != nil {
		return "", false
	}

	if m.SortKey == "" {
		return OrderID(id), true
	}

	if !strings.Contains(m.Sort, idPart) {
		return OrderID(id), dynamo.Text(item, m.SortKey) == m.Sort
	}
	other, ok := idIn(m.Sort, item[m.SortKey])

	return OrderID(id), ok && other == id
}

// TransitionOf returns the transitionId in an order's item, 0 for the item of another entity.
func (m Mapping) TransitionOf(item map[string]types.AttributeValue) TransitionID {
	if _, ofOrder := m.OrderOf(item); !ofOrder {
		return 0
	}

	return TransitionID(dynamo.Number(item, m.attribute("transitionId")))
}

// idIn returns what stands for the id in the value.
func idIn(pattern string, value types.AttributeValue) (string, bool) {
	text, ok := value.(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	before, after, _ := strings.Cut(pattern, idPart)

	rest, begins := strings.CutPrefix(text.Value, before)
	id, ends := strings.CutSuffix(rest, after)

	return id, begins && ends
}

// ownMark begins the name of another program's attribute in an image if a field has the attribute's name.
const ownMark = "own\x00"

// image returns an item with Ratchet's names. Attributes that are no fields keep theirs, with ownMark where a
// field has it. known is the order whose item it is, "" if the key in the item says it. It reports false for the
// item of another entity.
func (m Mapping) image(item image, known OrderID) (image, bool) {
	if m.isDefault() || len(item) == 0 {
		return item, true
	}

	id := known
	if id == "" {
		var ok bool
		if id, ok = m.OrderOf(item); !ok {
			return nil, false
		}
	}

	img := make(image, len(item)+1)
	for name, value := range item {
		switch field := m.field(name); {
		case field != "":
			img[field] = value
		case name == m.partition() || name == m.SortKey:
		case isField[name] || name == orderIDAttribute || strings.HasPrefix(name, ownMark):
			img[ownMark+name] = value
		default:
			img[name] = value
		}
	}
	img[orderIDAttribute] = dynamo.S(string(id))

	return img, true
}

// item is the inverse of image.
func (m Mapping) item(img image) image {
	if m.isDefault() || img == nil {
		return img
	}

	item := make(image, len(img)+1)
	for name, value := range img {
		if name != orderIDAttribute {
			item[m.name(name)] = value
		}
	}
	maps.Copy(item, m.ItemKey(OrderID(dynamo.Text(img, orderIDAttribute))))

	return item
}

// name returns the table's name of an attribute in an image.
func (m Mapping) name(inImage string) string {
	if own, marked := strings.CutPrefix(inImage, ownMark); marked {
		return own
	}

	switch {
	case inImage == orderIDAttribute:
		return m.partition()
	case isField[inImage]:
		return m.attribute(inImage)
	}

	return inImage
}

// OrdersTable describes a table of orders for this mapping: its key, and a stream with both images. A table that
// is there already is never created or altered.
func (m Mapping) OrdersTable(name string) *dynamodb.CreateTableInput {
	keys := []dynamo.Key{dynamo.TextKey(m.partition())}
	if m.SortKey != "" {
		keys = append(keys, dynamo.TextKey(m.SortKey))
	}

	in := dynamo.Table(name, keys...)
	in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}

	return in
}
