package dynamo

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Update builds one conditional update. The methods that add a clause return the Update, so that
// they can be chained. In a clause, #name stands for the attribute name, also if DynamoDB reserves
// the name. An Update is not safe for concurrent use.
type Update struct {
	table      string
	key        Item
	conditions []string

	sets, removes, adds, deletes []string

	names  map[string]string
	values Item

	// room holds the first clauses of most updates, so that they need no allocations of
	// their own.
	room struct{ conditions, sets [6]string }
}

// NewUpdate returns an update of the item with the key.
func NewUpdate(table string, key Item) *Update {
	u := &Update{table: table, key: key}
	// The slices use the array inside of u, so an Update must not be copied.
	u.conditions, u.sets = u.room.conditions[:0], u.room.sets[:0]

	return u
}

// Name returns the placeholder of an attribute, for names that DynamoDB reserves.
func (u *Update) Name(attribute string) string {
	placeholder := "#" + attribute
	u.Alias(placeholder, attribute)

	return placeholder
}

// Alias gives the attribute a placeholder that the clauses name, for names that cannot
// stand behind a # themselves, such as "once#count".
func (u *Update) Alias(placeholder, attribute string) *Update {
	if u.names == nil {
		u.names = map[string]string{}
	}
	u.names[placeholder] = attribute

	return u
}

// Value returns a new placeholder of the value.
func (u *Update) Value(v types.AttributeValue) string {
	// Numbered, so that two values never share a placeholder.
	placeholder := ":v" + strconv.Itoa(len(u.values))
	u.Bind(placeholder, v)

	return placeholder
}

// Bind gives the value a placeholder that the clauses name, such as ":now".
func (u *Update) Bind(placeholder string, v types.AttributeValue) *Update {
	if u.values == nil {
		u.values = Item{}
	}
	u.values[placeholder] = v

	return u
}

// If adds a condition, which may contain AND and OR. All conditions have to hold.
func (u *Update) If(condition string) *Update {
	u.conditions = append(u.conditions, condition)
	return u
}

// Set adds an assignment, such as "updatedAt = :now".
func (u *Update) Set(assignment string) *Update {
	u.sets = append(u.sets, assignment)
	return u
}

// Add adds a number to an attribute, or members to a set, such as "tries :one".
func (u *Update) Add(clause string) *Update {
	u.adds = append(u.adds, clause)
	return u
}

// Remove removes the attribute at the path.
func (u *Update) Remove(path string) *Update {
	u.removes = append(u.removes, path)
	return u
}

// Delete deletes members from a set, such as "tags :old".
func (u *Update) Delete(clause string) *Update {
	u.deletes = append(u.deletes, clause)
	return u
}

// IfEquals adds the condition that the attribute has the value. IfEquals and the methods below take
// a plain attribute name, also one that DynamoDB reserves.
func (u *Update) IfEquals(attribute string, v types.AttributeValue) *Update {
	return u.If(u.Name(attribute) + " = " + u.Value(v))
}

// IfPresent adds the condition that the item has the attribute.
func (u *Update) IfPresent(attribute string) *Update {
	return u.If("attribute_exists(" + u.Name(attribute) + ")")
}

// IfAbsent adds the condition that the item does not have the attribute.
func (u *Update) IfAbsent(attribute string) *Update {
	return u.If("attribute_not_exists(" + u.Name(attribute) + ")")
}

// SetValue assigns the value to the attribute.
func (u *Update) SetValue(attribute string, v types.AttributeValue) *Update {
	return u.Set(u.Name(attribute) + " = " + u.Value(v))
}

// RemoveAttribute removes the attribute.
func (u *Update) RemoveAttribute(attribute string) *Update {
	return u.Remove(u.Name(attribute))
}

// Part returns the update as one part of a transaction.
func (u *Update) Part() *types.Update {
	expression, condition := u.expressions()

	return &types.Update{
		TableName:                           &u.table,
		Key:                                 u.key,
		ConditionExpression:                 condition,
		UpdateExpression:                    expression,
		ExpressionAttributeNames:            u.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Input returns the update as an UpdateItem that answers with the new image, or with the
// old one when the condition fails ([FailedCondition]).
func (u *Update) Input() *dynamodb.UpdateItemInput {
	expression, condition := u.expressions()

	return &dynamodb.UpdateItemInput{
		TableName:                           &u.table,
		Key:                                 u.key,
		ConditionExpression:                 condition,
		UpdateExpression:                    expression,
		ExpressionAttributeNames:            u.names,
		ExpressionAttributeValues:           u.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// expressions returns the update expression and the condition. The condition is nil if
// there is none: DynamoDB refuses an empty expression.
func (u *Update) expressions() (expression, condition *string) {
	// The names are collected from the finished texts: DynamoDB refuses a name that no expression
	// uses.
	text := u.expression()
	u.addNames(text)

	if len(u.conditions) == 0 {
		return &text, nil
	}

	all := u.condition()
	u.addNames(all)

	return &text, &all
}

// condition joins the conditions with AND.
func (u *Update) condition() string {
	if len(u.conditions) == 1 {
		return u.conditions[0]
	}

	const and = " AND "

	size := 0
	for _, condition := range u.conditions {
		size += len("()") + len(condition) + len(and)
	}

	var b strings.Builder
	b.Grow(size)

	for i, condition := range u.conditions {
		if i > 0 {
			b.WriteString(and)
		}

		// DynamoDB refuses parentheses around an operand that needs none.
		if needsParentheses(condition) {
			b.WriteByte('(')
			b.WriteString(condition)
			b.WriteByte(')')
		} else {
			b.WriteString(condition)
		}
	}

	return b.String()
}

// needsParentheses reports whether the outermost operator of a condition is OR, so that it
// must be enclosed to be joined with AND. DynamoDB refuses redundant parentheses.
func needsParentheses(condition string) bool {
	depth := 0
	for i := range len(condition) {
		switch c := condition[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		// An OR inside parentheses does not bind the rest.
		case depth == 0 && c == ' ' && strings.HasPrefix(condition[i:], " OR "):
			return true
		}
	}

	return false
}

func (u *Update) expression() string {
	sections := [...]struct {
		keyword string
		clauses []string
	}{{"SET ", u.sets}, {"REMOVE ", u.removes}, {"ADD ", u.adds}, {"DELETE ", u.deletes}}

	size := 0
	for _, section := range sections {
		size += len(" ") + len(section.keyword)
		for _, clause := range section.clauses {
			size += len(", ") + len(clause)
		}
	}

	var b strings.Builder
	b.Grow(size)

	for _, section := range sections {
		// A keyword stands once, before the first clause of its section.
		for i, clause := range section.clauses {
			switch {
			case i > 0:
				b.WriteString(", ")
			case b.Len() > 0:
				b.WriteByte(' ')
				b.WriteString(section.keyword)
			default:
				b.WriteString(section.keyword)
			}
			b.WriteString(clause)
		}
	}

	return b.String()
}

// addNames defines the placeholders of attributes that the expression uses. DynamoDB
// refuses both undefined and unused ones.
func (u *Update) addNames(expression string) {
	for {
		begin := strings.IndexByte(expression, '#')
		if begin < 0 {
			return
		}
		// A name ends at the first character that DynamoDB does not allow in a placeholder.
		expression = expression[begin:]

		end := strings.IndexFunc(expression[1:], func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) + 1
		if end == 0 {
			end = len(expression)
		}

		// Alias has defined names that cannot stand behind a # themselves.
		if placeholder := expression[:end]; u.names[placeholder] == "" {
			u.Alias(placeholder, placeholder[1:])
		}
		expression = expression[end:]
	}
}
