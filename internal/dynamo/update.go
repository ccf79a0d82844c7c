package dynamo

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Update builds one conditional update. The methods that add a clause return the Update,
// so that they can be chained. In a clause, #name stands for the attribute name, which may
// be one that DynamoDB reserves. An Update is not safe for concurrent use.
type Update struct {
	table      string
	key        Item
	conditions []string

	sets, removes, adds, deletes []string

	names  map[string]string
	values Item
}

// NewUpdate returns an update of the item with the key.
func NewUpdate(table string, key Item) *Update { return &Update{table: table, key: key} }

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

// IfEquals adds the condition that the attribute has the value. Like the methods below, it
// takes a plain attribute name, which may be one that DynamoDB reserves.
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
	expression, condition := u.expression(), u.condition()

	return &types.Update{
		TableName:                           &u.table,
		Key:                                 u.key,
		ConditionExpression:                 condition,
		UpdateExpression:                    &expression,
		ExpressionAttributeNames:            u.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Input returns the update as an UpdateItem that answers with the new image, or with the
// old one when the condition fails ([FailedCondition]).
func (u *Update) Input() *dynamodb.UpdateItemInput {
	part := u.Part()

	return &dynamodb.UpdateItemInput{
		TableName:                           part.TableName,
		Key:                                 part.Key,
		ConditionExpression:                 part.ConditionExpression,
		UpdateExpression:                    part.UpdateExpression,
		ExpressionAttributeNames:            part.ExpressionAttributeNames,
		ExpressionAttributeValues:           part.ExpressionAttributeValues,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: part.ReturnValuesOnConditionCheckFailure,
	}
}

// condition is nil without conditions: DynamoDB refuses an empty expression.
func (u *Update) condition() *string {
	if len(u.conditions) == 0 {
		return nil
	}

	parts := u.conditions
	if len(parts) > 1 {
		parts = make([]string, len(u.conditions))
		for i, condition := range u.conditions {
			parts[i] = parenthesized(condition)
		}
	}

	all := strings.Join(parts, " AND ")
	u.addNames(all)

	return &all
}

// parenthesized encloses a condition whose outermost operator is OR, so that it can be
// joined with AND. It leaves every other one alone, because DynamoDB refuses redundant
// parentheses.
func parenthesized(condition string) string {
	depth := 0
	for i, c := range condition {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && strings.HasPrefix(condition[i:], " OR "):
			return "(" + condition + ")"
		}
	}

	return condition
}

func (u *Update) expression() string {
	var b strings.Builder
	for _, section := range []struct {
		keyword string
		clauses []string
	}{{"SET ", u.sets}, {"REMOVE ", u.removes}, {"ADD ", u.adds}, {"DELETE ", u.deletes}} {
		if len(section.clauses) == 0 {
			continue
		}

		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(section.keyword + strings.Join(section.clauses, ", "))
	}

	expression := b.String()
	u.addNames(expression)

	return expression
}

// addNames defines the placeholders of attributes that the expression uses. DynamoDB
// refuses both undefined and unused ones.
func (u *Update) addNames(expression string) {
	for {
		_, rest, found := strings.Cut(expression, "#")
		if !found {
			return
		}

		end := strings.IndexFunc(rest, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		if end < 0 {
			end = len(rest)
		}

		if placeholder := "#" + rest[:end]; u.names[placeholder] == "" {
			u.Name(rest[:end])
		}
		expression = rest[end:]
	}
}
