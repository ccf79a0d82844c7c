package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/once"
	"ratchet/transitions"
)

func (s *service) editRoutes(h huma.API) {
	// The order recognizes a repeat by the key as long as it remembers the edit.
	edit := func(id, method, path, summary string, body bool, target ...string) route {
		return route{
			id:          id,
			method:      method,
			path:        "/v1/orders/{orderId}/" + path,
			tag:         "edits",
			scope:       auth.Act,
			mutates:     true,
			repeats:     fromAnswer,
			body:        body,
			auditParams: append([]string{"orderId"}, target...),
			status:      http.StatusOK,
			summary:     summary,
			description: "Only before payment. The Idempotency-Key names the edit.",
			errors:      []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
		}
	}

	add := edit("add-items", http.MethodPost, "items", "Add lines", true)
	const skus = "The order has at most 97 different SKUs; order_full changes nothing. "
	add.description = skus + add.description
	register(s, h, add, s.addItems)

	reserved := edit("add-reserved-items", http.MethodPost, "reserved-items", "Add lines and reserve their stock for the order", true)
	reserved.description = "One transaction changes both. out_of_stock changes nothing. " + skus + reserved.description
	register(s, h, reserved, s.addReservedItems)

	register(s, h, edit("change-item", http.MethodPut, "items/{sku}", "Change quantity and price of a line", true, "sku"), s.changeItem)
	register(s, h, edit("remove-item", http.MethodDelete, "items/{sku}", "Remove every line of a SKU", false, "sku"), s.removeItem)
	register(s, h, edit("set-address", http.MethodPut, "addresses/{kind}", "Replace an address", true, "kind"), s.setAddress)
	register(s, h, edit("add-note", http.MethodPost, "notes", "Add a note", true), s.addNote)

	own := edit("set-own", http.MethodPost, "own", "Set and remove own attributes", true)
	own.description = "They change in one write, if all conditions on them hold. " + own.description
	register(s, h, own, s.setOwn)
}

type addItemsInput struct {
	input.Order
	input.Keyed
	input.Conditional
	Body struct {
		Items []newLine `json:"items" minItems:"1" maxItems:"100"`
		Own   *newOwn   `json:"own,omitempty" doc:"Changes own attributes in the same write. It is a part of the edit's content."`
		Cause *newCause `json:"cause,omitempty" doc:"Why. A repeat has the same cause."`
	}
}

type addReservedItemsInput struct {
	input.Order
	input.Keyed
	input.Conditional
	Body struct {
		Items []newLine `json:"items" minItems:"1" maxItems:"97" doc:"At most as many as fit into one transaction."`
		Own   *newOwn   `json:"own,omitempty" doc:"Changes own attributes in the same write. It is a part of the edit's content."`
		Cause *newCause `json:"cause,omitempty" doc:"Why. A repeat has the same cause."`
	}
}

type changeItemInput struct {
	input.Order
	input.Item
	input.Keyed
	input.Conditional
	Body struct {
		Quantity int64     `json:"quantity" minimum:"1" maximum:"1000000"`
		Price    int64     `json:"price" minimum:"0" maximum:"1000000000" doc:"Of one piece, in minor units."`
		Own      *newOwn   `json:"own,omitempty" doc:"Changes own attributes in the same write. It is a part of the edit's content."`
		Cause    *newCause `json:"cause,omitempty" doc:"Why. A repeat has the same cause."`
	}
}

type removeItemInput struct {
	input.Order
	input.Item
	input.Keyed
	input.Conditional
}

type setAddressInput struct {
	input.Order
	input.Keyed
	input.Conditional
	Kind string `path:"kind" enum:"shipping,billing"`
	Body addressFields
}

// addressFields are the fields of an address. The caller chooses their names.
type addressFields map[string]string

// TransformSchema limits the number of fields and their length.
func (addressFields) TransformSchema(_ huma.Registry, _ *huma.Schema) *huma.Schema {
	least, most, longest := 1, 32, 512

	return &huma.Schema{
		Type:                 huma.TypeObject,
		MinProperties:        &least,
		MaxProperties:        &most,
		AdditionalProperties: withMessages(&huma.Schema{Type: huma.TypeString, MaxLength: &longest}),
		Extensions:           map[string]any{"propertyNames": map[string]any{"pattern": "^[A-Za-z0-9_.-]{1,64}$"}},
		Description:          "Fields that the caller names, each up to 512 bytes of text, together up to 4 KB.",
	}
}

// withMessages prepares the texts of a schema of values whose names the caller chooses; the library leaves these out.
func withMessages(s *huma.Schema) *huma.Schema {
	s.PrecomputeMessages()
	return s
}

// metadataMembers are the members of an order's metadata.
type metadataMembers map[string]string

// TransformSchema limits the number of members and their length.
func (metadataMembers) TransformSchema(_ huma.Registry, _ *huma.Schema) *huma.Schema {
	most, longest := 20, 200

	return &huma.Schema{
		Type:                 huma.TypeObject,
		MaxProperties:        &most,
		AdditionalProperties: withMessages(&huma.Schema{Type: huma.TypeString, MaxLength: &longest}),
		Extensions:           map[string]any{"propertyNames": map[string]any{"pattern": "^[A-Za-z0-9_.-]{1,40}$"}},
		Description:          "Members that the caller names, each up to 200 bytes of text, together up to 2 KB. They never change.",
	}
}

type addNoteInput struct {
	input.Order
	input.Keyed
	input.Conditional
	Body struct {
		By    string    `json:"by,omitempty" maxLength:"128" doc:"The author, at most 128 bytes."`
		Text  string    `json:"text" minLength:"1" maxLength:"1000" doc:"At most 1,000 bytes."`
		Own   *newOwn   `json:"own,omitempty" doc:"Changes own attributes in the same write. It is a part of the edit's content."`
		Cause *newCause `json:"cause,omitempty" doc:"Why. A repeat has the same cause."`
	}
}

func (s *service) addItems(ctx context.Context, c caller, in *addItemsInput) (*orderOutput, error) {
	e, refusal := c.editWithOwn(c.edit(ctx, in.OrderID, in.Keyed, in.Conditional, in.Body.Cause), in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	result, err := s.cfg.Orders.AddItems(ctx, e, c.tenant.items(in.Body.Items)...)

	return s.editOutput(c, e, result, err)
}

func (s *service) addReservedItems(ctx context.Context, c caller, in *addReservedItemsInput) (*orderOutput, error) {
	if s.cfg.AddReserved == nil {
		return nil, notFound("route")
	}

	e, refusal := c.editWithOwn(c.edit(ctx, in.OrderID, in.Keyed, in.Conditional, in.Body.Cause), in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	result, err := s.cfg.AddReserved(ctx, e, c.tenant.items(in.Body.Items)...)
	switch {
	// The claim's key is the Idempotency-Key here, so domainErrors would name the wrong code.
	case errors.Is(err, once.ErrMismatch):
		return nil, keyReused()
	case err == nil && result.Verdict.Done():
		// A transaction returns no image of the order.
		result.Order, err = s.getOwnOrder(ctx, c, in.OrderID)
	}

	return s.editOutput(c, e, result, err)
}

func (s *service) changeItem(ctx context.Context, c caller, in *changeItemInput) (*orderOutput, error) {
	e, refusal := c.editWithOwn(c.edit(ctx, in.OrderID, in.Keyed, in.Conditional, in.Body.Cause), in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	result, err := s.cfg.Orders.ChangeItem(ctx, e, transitions.Item{
		SKU:      c.tenant.storedID(in.SKU),
		Quantity: in.Body.Quantity,
		Price:    in.Body.Price,
	})

	return s.editOutput(c, e, result, err)
}

func (s *service) removeItem(ctx context.Context, c caller, in *removeItemInput) (*orderOutput, error) {
	e := c.edit(ctx, in.OrderID, in.Keyed, in.Conditional, nil)
	result, err := s.cfg.Orders.RemoveItem(ctx, e, c.tenant.storedID(in.SKU))
	return s.editOutput(c, e, result, err)
}

func (s *service) setAddress(ctx context.Context, c caller, in *setAddressInput) (*orderOutput, error) {
	e := c.edit(ctx, in.OrderID, in.Keyed, in.Conditional, nil)
	result, err := s.cfg.Orders.SetAddress(ctx, e, in.Kind, transitions.Address(in.Body))
	return s.editOutput(c, e, result, err)
}

func (s *service) addNote(ctx context.Context, c caller, in *addNoteInput) (*orderOutput, error) {
	e, refusal := c.editWithOwn(c.edit(ctx, in.OrderID, in.Keyed, in.Conditional, in.Body.Cause), in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	result, err := s.cfg.Orders.AddNote(ctx, e, transitions.Note{By: in.Body.By, Text: in.Body.Text})

	return s.editOutput(c, e, result, err)
}

// edit returns an edit with its order, key, condition and cause.
func (c caller) edit(ctx context.Context, id string, k input.Keyed, condition input.Conditional, why *newCause) transitions.Edit {
	e := transitions.Edit{OrderID: c.tenant.orderID(id), EventID: transitions.RequestID(k.Key), Cause: c.cause(ctx, why)}
	if seen, conditional := condition.Seen(); conditional {
		e.IfMatch, e.Incarnation = &seen.ContentVersion, transitions.Incarnation(seen.Incarnation)
	}

	return e
}

// editWithOwn is the edit with changes of own attributes.
func (c caller) editWithOwn(e transitions.Edit, n *newOwn) (_ transitions.Edit, refusal *problem) {
	e.Own, refusal = c.ownChange(n)

	return e, refusal
}

// editOutput answers an edit with the order, or with the problem of its verdict.
func (s *service) editOutput(c caller, e transitions.Edit, result transitions.Result, err error) (*orderOutput, error) {
	if err != nil {
		return nil, err
	}

	switch result.Verdict {
	case transitions.Applied, transitions.Replayed:
		out := orderAnswer(result.Order, c.tenant.showOrder(result.Order))
		if result.Verdict == transitions.Replayed {
			out.MarkReplayed()
		}

		return out, nil
	case transitions.NotFound:
		// The order exists, so the line does not.
		if result.Order != nil {
			return nil, newProblem(http.StatusNotFound, "item_not_found", "The order has no line with this SKU.").withOrder(result.Order)
		}
		return nil, notFound("order")
	case transitions.Superseded:
		return nil, orderChanged(result.Order)
	case transitions.Conflict:
		// One verdict stands for two conflicts. The reason shows which.
		if e.IfMatch != nil && strings.HasPrefix(result.Reason, "ifMatch") {
			return nil, newProblem(http.StatusPreconditionFailed, "conflict", "The ETag names a contentVersion that the order has not reached.").withOrder(result.Order)
		}
		return nil, keyReused().withOrder(result.Order)
	}

	p := newProblem(http.StatusConflict, "wrong_state", "This edit is not possible in the order's state.").withOrder(result.Order)
	if result.Reason != "" {
		p.Detail = "Prevented by: " + result.Reason
	}
	p.Expected = toStrings(result.Expected)

	return nil, p
}
