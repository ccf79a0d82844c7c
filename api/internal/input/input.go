// Package input holds what the requests of several routes have in common.
package input

import (
	"regexp"
	"strconv"
)

// Order is the path of an order. Ids of dots alone would be lost in paths; no id has a
// colon, which parts a tenant from its ids.
type Order struct {
	OrderID string `path:"orderId" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"o-1"`
}

// Item is the path of a SKU.
type Item struct {
	SKU string `path:"sku" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"mug"`
}

// Key is the path of a claim or a lock.
type Key struct {
	Key string `path:"key" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"refund-7"`
}

// Action is the path of a one-time action.
type Action struct {
	Action string `path:"action" minLength:"3" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9_-]*$" doc:"The id, or the code."`
}

// Account is the path of an account. With a tenant's 20 characters and the colon, 64 are
// within the ledger's 100.
type Account struct {
	AccountID string `path:"accountId" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"alice"`
}

// Transfer is the path of a transfer.
type Transfer struct {
	TransferID string `path:"transferId" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"t-1"`
}

// Payment is the path of a payment. With a tenant's 20 characters and the colon, 39 are
// within the 60 that payments take.
type Payment struct {
	PaymentID string `path:"paymentId" minLength:"1" maxLength:"39" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"p-1"`
}

// Step is the path of a payment's capture or refund.
type Step struct {
	StepID string `path:"stepId" minLength:"1" maxLength:"36" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"c-1"`
}

// Page asks for a part of a list.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"At most this many."`
	Cursor string `query:"cursor" minLength:"1" maxLength:"1024" pattern:"^[A-Za-z0-9_-]+$" doc:"The next of the page before. Opaque, and good for the same list only."`
}

// Keyed takes effect once under its key.
type Keyed struct {
	Key string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"Names this request. Its repeat brings the same key and the same content, and is answered alike; another content is refused." example:"8e03978e-40d5-43dd-bc93-6894a57f9324"`
}

// Conditional depends on what its sender has seen.
type Conditional struct {
	IfMatch string `header:"If-Match" minLength:"1" maxLength:"64" pattern:"^([*]|\"t[0-9]{1,15}[.]c[0-9]{1,15}\")$" doc:"The ETag of the order as the sender has seen it; the request is refused with 412 when somebody has been faster."`
}

var tag = regexp.MustCompile(`^"t([0-9]{1,15})[.]c([0-9]{1,15})"$`)

// Seen reads the two numbers of the tag: the transitionId and the contentVersion. It
// reports false for no condition.
func (c Conditional) Seen() (transition, content int64, conditional bool) {
	parts := tag.FindStringSubmatch(c.IfMatch)
	if parts == nil {
		return 0, 0, false // absent, or * (the schema lets nothing else through)
	}
	transition, _ = strconv.ParseInt(parts[1], 10, 64) // at most 15 digits
	content, _ = strconv.ParseInt(parts[2], 10, 64)

	return transition, content, true
}
