package transitions

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// mapped is a client for which every order has Ratchet's names: it writes each request about the table of orders
// as its mapping says, and reads each image back. A part of a transaction is written so where it is made (see
// Orders.part), because a transaction may be another package's.
type mapped struct {
	DynamoDB

	mapping Mapping
	table   string
}

// is reports whether a request is about the table of orders.
func (c mapped) is(table *string) bool { return table != nil && *table == c.table }

// image returns an item of the table that the caller has asked for by its key.
func (c mapped) image(item image, key image) image {
	img, _ := c.mapping.image(item, OrderID(dynamo.Text(key, orderIDAttribute)))

	return img
}

// refusal gives the image in a failed condition Ratchet's names.
func (c mapped) refusal(err error, key image) error {
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		failed.Item = c.image(failed.Item, key)
	}

	return err
}

func (c mapped) GetItem(ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if !c.is(in.TableName) {
		return c.DynamoDB.GetItem(ctx, in, options...)
	}

	w, request := c.mapping.writing(in.ExpressionAttributeNames), *in
	request.Key = c.mapping.key(in.Key)
	request.ProjectionExpression = w.expression(in.ProjectionExpression)
	request.ExpressionAttributeNames = w.names()

	out, err := c.DynamoDB.GetItem(ctx, &request, options...)
	if err == nil {
		out.Item = c.image(out.Item, in.Key)
	}

	return out, err
}

func (c mapped) PutItem(ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if !c.is(in.TableName) {
		return c.DynamoDB.PutItem(ctx, in, options...)
	}

	w, request := c.mapping.writing(in.ExpressionAttributeNames), *in
	request.Item = c.mapping.item(in.Item)
	request.ConditionExpression = w.expression(in.ConditionExpression)
	request.ExpressionAttributeNames = w.names()

	out, err := c.DynamoDB.PutItem(ctx, &request, options...)

	return out, c.refusal(err, in.Item)
}

func (c mapped) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if !c.is(in.TableName) {
		return c.DynamoDB.UpdateItem(ctx, in, options...)
	}

	w, request := c.mapping.writing(in.ExpressionAttributeNames), *in
	request.Key = c.mapping.key(in.Key)
	request.ConditionExpression, request.UpdateExpression = w.expression(in.ConditionExpression), w.expression(in.UpdateExpression)
	request.ExpressionAttributeNames = w.names()

	out, err := c.DynamoDB.UpdateItem(ctx, &request, options...)
	if err == nil {
		out.Attributes = c.image(out.Attributes, in.Key)
	}

	return out, c.refusal(err, in.Key)
}

// Scan reads orders only. DynamoDB charges for the other entities, too: a filter does not make a read cheaper.
// The keys at which pages begin and end are the table's, because a page may end at another entity.
func (c mapped) Scan(ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if !c.is(in.TableName) {
		return c.DynamoDB.Scan(ctx, in, options...)
	}

	w, request := c.mapping.writing(in.ExpressionAttributeNames), *in
	request.ProjectionExpression = w.projection(in.ProjectionExpression) // first: it looks at what is used
	request.FilterExpression = w.expression(in.FilterExpression)
	request.ExpressionAttributeValues = maps.Clone(in.ExpressionAttributeValues)
	request.FilterExpression, request.ExpressionAttributeValues = w.onlyOrders(request.FilterExpression, request.ExpressionAttributeValues)
	request.ExpressionAttributeNames = w.names()

	out, err := c.DynamoDB.Scan(ctx, &request, options...)
	if err != nil {
		return nil, err
	}

	orders := out.Items[:0]
	for _, item := range out.Items {
		if img, ok := c.mapping.image(item, ""); ok {
			orders = append(orders, img)
		}
	}
	out.Items = orders

	return out, nil
}

// key returns the table's key of an order.
func (m Mapping) key(key image) image { return m.ItemKey(OrderID(dynamo.Text(key, orderIDAttribute))) }

// part returns a part of a transaction about an order as the table has it.
func (m Mapping) part(p types.TransactWriteItem) types.TransactWriteItem {
	if m.isDefault() {
		return p
	}

	switch {
	case p.Put != nil:
		w, put := m.writing(p.Put.ExpressionAttributeNames), *p.Put
		put.Item, put.ConditionExpression = m.item(put.Item), w.expression(put.ConditionExpression)
		put.ExpressionAttributeNames = w.names()
		p.Put = &put
	case p.Update != nil:
		w, update := m.writing(p.Update.ExpressionAttributeNames), *p.Update
		update.Key, update.ConditionExpression = m.key(update.Key), w.expression(update.ConditionExpression)
		update.UpdateExpression, update.ExpressionAttributeNames = w.expression(update.UpdateExpression), w.names()
		p.Update = &update
	case p.ConditionCheck != nil:
		w, check := m.writing(p.ConditionCheck.ExpressionAttributeNames), *p.ConditionCheck
		check.Key, check.ConditionExpression = m.key(check.Key), w.expression(check.ConditionExpression)
		check.ExpressionAttributeNames = w.names()
		p.ConditionCheck = &check
	}

	return p
}

// writer writes the expressions of one request with the table's names. Each name becomes a placeholder, because
// it may be reserved, or have a dot.
type writer struct {
	mapping Mapping
	given   map[string]string // placeholders of the request as it came
	used    map[string]string // those of the request as it is sent
	by      map[string]string // placeholders that were made, by the name they stand for
}

func (m Mapping) writing(given map[string]string) *writer {
	return &writer{mapping: m, given: given, used: map[string]string{}, by: map[string]string{}}
}

// names returns the placeholders of the expressions, nil for none: DynamoDB refuses an empty map.
func (w *writer) names() map[string]string {
	if len(w.used) == 0 {
		return nil
	}

	return w.used
}

// attribute returns the placeholder of an attribute that has the name in an image.
func (w *writer) attribute(inImage string) string { return w.placeholder(w.mapping.name(inImage)) }

func (w *writer) placeholder(name string) string {
	if p := w.by[name]; p != "" {
		return p
	}

	p := "#" + strconv.Itoa(len(w.by))
	w.by[name], w.used[p] = p, name

	return p
}

// words are the words of expressions that are no names. Functions are known by the parenthesis behind them.
var words = map[string]bool{"SET": true, "REMOVE": true, "ADD": true, "DELETE": true, "AND": true, "OR": true, "NOT": true, "IN": true, "BETWEEN": true}

// expression returns the expression with a placeholder for each attribute. It reads what this package and its
// callers write: names of attributes stand for themselves or behind "#", and a name behind a dot is one of a
// member, which the mapping does not change.
func (w *writer) expression(text *string) *string {
	if text == nil {
		return nil
	}

	var b strings.Builder
	b.Grow(len(*text))

	for rest, before := *text, byte(0); rest != ""; {
		end := 1
		for end < len(rest) && isWord(rest[end]) {
			end++
		}
		token := rest[:end]

		switch first := token[0]; {
		case first == '#' && before == '.':
			w.used[token] = w.given[token]
			b.WriteString(token)
		case first == '#':
			b.WriteString(w.attribute(w.given[token]))
		case !isLetter(first):
			// An operator, or a value with its colon. Only one byte is read of an operator.
			if first != ':' {
				token = token[:1]
			}
			b.WriteString(token)
		case before == '.', words[token], strings.HasPrefix(rest[end:], "("):
			b.WriteString(token)
		default:
			b.WriteString(w.attribute(token))
		}

		before, rest = token[len(token)-1], rest[len(token):]
	}

	written := b.String()

	return &written
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func isWord(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

// projection is expression of a projection, with the key, which tells orders from other entities.
func (w *writer) projection(text *string) *string {
	if text == nil {
		return nil
	}
	shown := *w.expression(text)

	for _, key := range []string{w.mapping.partition(), w.mapping.SortKey} {
		// DynamoDB refuses a path that stands in a projection twice.
		if key != "" && w.by[key] == "" {
			shown += ", " + w.placeholder(key)
		}
	}

	return &shown
}

// onlyOrders adds to a filter that the item is an order, as far as a filter can tell.
func (w *writer) onlyOrders(filter *string, values image) (*string, image) {
	if values == nil {
		values = image{}
	}

	var all []string
	add := func(name, pattern string, placeholder string) {
		begin, _, hasID := strings.Cut(pattern, idPart)
		if name == "" || begin == "" {
			return
		}

		condition := w.placeholder(name) + " = " + placeholder
		if hasID {
			condition = "begins_with(" + w.placeholder(name) + ", " + placeholder + ")"
		}
		all, values[placeholder] = append(all, condition), dynamo.S(begin)
	}
	add(w.mapping.partition(), w.mapping.keyPattern(), ":keyBegin")
	add(w.mapping.SortKey, w.mapping.Sort, ":sortBegin")

	if len(all) == 0 {
		if len(values) == 0 {
			values = nil
		}

		return filter, values
	}
	text := strings.Join(all, " AND ")

	switch {
	case filter == nil:
	// DynamoDB refuses parentheses around what needs none.
	case strings.Contains(*filter, " OR "):
		text += " AND (" + *filter + ")"
	default:
		text += " AND " + *filter
	}

	return &text, values
}
