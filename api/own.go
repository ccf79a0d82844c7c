package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/internal/input"
	"ratchet/transitions"
)

// Package transitions has the same bounds.
const (
	maxOwnSet   = 50
	maxOwnNames = 20
)

// ownValues are own attributes that a caller sends.
type ownValues transitions.Attributes

// UnmarshalJSON reads DynamoDB's JSON.
func (v *ownValues) UnmarshalJSON(text []byte) error {
	return (*transitions.Attributes)(v).UnmarshalJSON(text)
}

// Schema limits the number of attributes, and refers to the schema of their values.
func (ownValues) Schema(r huma.Registry) *huma.Schema { return ownSchema(r, maxOwnSet) }

// ownCompared is ownValues for fewer attributes.
type ownCompared transitions.Attributes

// UnmarshalJSON reads DynamoDB's JSON.
func (v *ownCompared) UnmarshalJSON(text []byte) error {
	return (*transitions.Attributes)(v).UnmarshalJSON(text)
}

// Schema allows fewer attributes than the schema of ownValues.
func (ownCompared) Schema(r huma.Registry) *huma.Schema { return ownSchema(r, maxOwnNames) }

// ownName is the form of the name of an own attribute, and of a member of a map.
const ownName = `^[^\x00-\x1f\x7f-\x9f]{1,255}$`

func ownSchema(r huma.Registry, most int) *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		MaxProperties:        &most,
		AdditionalProperties: attributeValue(r),
		Extensions:           map[string]any{"propertyNames": map[string]any{"pattern": ownName}},
		Description:          "Attributes of your own by their names in the table, none of Ratchet's and not the key, with values as DynamoDB's JSON has them. Names and values of a request have at most 64 KB.",
	}
}

// attributeValue returns a reference to the schema of a value in DynamoDB's JSON, which contains itself.
func attributeValue(r huma.Registry) *huma.Schema {
	const name = "AttributeValue"
	ref := &huma.Schema{Ref: "#/components/schemas/" + name}

	if r.Map()[name] != nil {
		return ref
	}

	const (
		digits = `^(0|-?[1-9][0-9]{0,37}|-?(0|[1-9][0-9]{0,18})\.[0-9]{0,18}[1-9])$`
		base64 = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$`
	)
	one, least := 1, 1

	text := func(pattern, doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Pattern: pattern, Description: doc}
	}
	set := func(of *huma.Schema) *huma.Schema {
		return &huma.Schema{Type: huma.TypeArray, Items: of, MinItems: &least, Extensions: unique()}
	}

	value := &huma.Schema{
		Type:                 huma.TypeObject,
		Description:          "A value with its type: exactly one member. At most 16 lists and maps in each other.",
		MinProperties:        &one,
		MaxProperties:        &one,
		AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"S":    text("", "A text."),
			"N":    text(digits, "A number in plain decimal form, at most 38 digits."),
			"B":    text(base64, "Bytes, in base64."),
			"BOOL": {Type: huma.TypeBoolean},
			"NULL": {Type: huma.TypeBoolean, Enum: []any{true}},
			"SS":   set(text("", "")),
			"NS":   set(text(digits, "")),
			"BS":   set(text(base64, "")),
			"L":    {Type: huma.TypeArray, Items: ref},
			"M": {Type: huma.TypeObject, AdditionalProperties: ref, Extensions: map[string]any{
				"propertyNames": map[string]any{"pattern": ownName},
			}},
		},
	}
	value.PrecomputeMessages()
	r.Map()[name] = value

	return ref
}

// unique says in the document that no two items are equal. Package transitions checks it: huma would take an item of
// another type, such as an object, for a key of a map, and panic.
func unique() map[string]any { return map[string]any{"uniqueItems": true} }

// ownNames are names of own attributes.
type ownNames []string

// Schema limits the number of names and their form.
func (ownNames) Schema(huma.Registry) *huma.Schema {
	most := maxOwnNames

	return &huma.Schema{
		Type:       huma.TypeArray,
		MaxItems:   &most,
		Extensions: unique(),
		Items:      &huma.Schema{Type: huma.TypeString, Pattern: ownName},
	}
}

// newOwn are changes of own attributes, and conditions on them.
type newOwn struct {
	Set    ownValues     `json:"set,omitempty"`
	Remove ownNames      `json:"remove,omitempty" doc:"The names of attributes to remove, none of those to set."`
	If     *newOwnGuards `json:"if,omitempty" doc:"Conditions on the attributes before the write, which need the grant for personal data. If one does not hold, the answer is wrong_state."`
}

type newOwnGuards struct {
	Equals  ownCompared `json:"equals,omitempty"`
	Exists  ownNames    `json:"exists,omitempty" doc:"Attributes that the order must have."`
	Missing ownNames    `json:"missing,omitempty" doc:"Attributes that the order must not have."`
}

// ownChange returns the changes as package transitions has them. Answers mask own attributes with their names, so a
// caller without the grant may not compare them: a condition that holds would confirm a guess.
func (c caller) ownChange(n *newOwn) (change transitions.OwnChange, refusal *problem) {
	if n == nil {
		return change, nil
	}
	change.Set, change.Remove = transitions.Attributes(n.Set), n.Remove

	if n.If != nil {
		change.If = transitions.OwnGuards{Equals: transitions.Attributes(n.If.Equals), Exists: n.If.Exists, Missing: n.If.Missing}
	}

	if !change.If.IsZero() && !c.Personal {
		return transitions.OwnChange{}, needsGrant("body", "/own/if")
	}

	return change, nil
}

// ownShown are the own attributes of an order. Another program may have written them, so they have no bounds.
type ownShown transitions.Attributes

// MarshalJSON writes DynamoDB's JSON.
func (v ownShown) MarshalJSON() ([]byte, error) { return transitions.Attributes(v).MarshalJSON() }

// UnmarshalJSON reads DynamoDB's JSON, from an answer that was stored for its repeats.
func (v *ownShown) UnmarshalJSON(text []byte) error {
	return (*transitions.Attributes)(v).UnmarshalJSON(text)
}

// Schema does not limit the attributes.
func (ownShown) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: &huma.Schema{Type: huma.TypeObject},
		Description:          "The attributes of your own, with values as DynamoDB's JSON has them.",
	}
}

// maskedOwn stands for own attributes.
func maskedOwn() ownShown {
	return ownShown{masked: &types.AttributeValueMemberS{Value: masked}}
}

// ownFault is what is wrong with an own attribute, and where: a JSON pointer below the member own.
type ownFault interface {
	error
	Pointer() string
	Rule() string
}

// withOwn adds the place in the member own.
func (p *problem) withOwn(f ownFault) *problem {
	p.Detail = fmt.Sprintf("own%s: %s", f.Pointer(), f.Rule())

	return p.withField("body", "/own"+f.Pointer(), strings.TrimSpace(f.Rule()))
}

type setOwnInput struct {
	input.Order
	input.Keyed
	input.Conditional
	Body struct {
		Own   newOwn    `json:"own"`
		Cause *newCause `json:"cause,omitempty" doc:"Why. A repeat has the same cause."`
	}
}

func (s *service) setOwn(ctx context.Context, c caller, in *setOwnInput) (*orderOutput, error) {
	change, refusal := c.ownChange(&in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	e := c.edit(ctx, in.OrderID, in.Keyed, in.Conditional, in.Body.Cause)
	result, err := s.cfg.Orders.SetOwn(ctx, e, change)

	return s.editOutput(c, e, result, err)
}
