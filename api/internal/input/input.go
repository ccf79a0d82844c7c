// Package input holds the parts that the requests of several routes share. Huma embeds them
// in a route's input and derives the schema from their tags.
package input

import (
	"regexp"
	"strconv"
)

// Order is the path parameter of an order, percent-encoded where a path needs it. An id must not consist of
// dots alone, because clients remove such path segments, and must not contain a colon, which separates a
// tenant's name from its ids in stored ids. A tenant's name of 20 characters, the colon and an id of 235
// bytes fit into the 256 bytes of an order's id.
type Order struct {
	OrderID string `path:"orderId" minLength:"1" maxLength:"235" pattern:"^[^:\\x00-\\x1f\\x7f-\\x9f]*[^:.\\x00-\\x1f\\x7f-\\x9f][^:\\x00-\\x1f\\x7f-\\x9f]*$" doc:"Up to 235 bytes of UTF-8 without control characters and colons, percent-encoded." example:"o-1"`
}

// Scheduled is the path parameter of a transition that is requested for later.
type Scheduled struct {
	ScheduledID string `path:"scheduledId" minLength:"32" maxLength:"32" pattern:"^[0-9a-f]{32}$" example:"0123456789abcdef0123456789abcdef"`
}

// Reservation is the path parameter of a reservation of stock: a name that the caller has chosen, or
// the name of an order's life, which is the order's id, a dot and an incarnation of 13 characters.
type Reservation struct {
	OrderID string `path:"orderId" minLength:"1" maxLength:"249" pattern:"^[^:\\x00-\\x1f\\x7f-\\x9f]*[^:.\\x00-\\x1f\\x7f-\\x9f][^:\\x00-\\x1f\\x7f-\\x9f]*$" example:"o-1"`
}

// Item is the path parameter of a SKU.
type Item struct {
	SKU string `path:"sku" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"mug"`
}

// Key is the path parameter of a claim or a lock.
type Key struct {
	Key string `path:"key" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"refund-7"`
}

// Action is the path parameter of a one-time action.
type Action struct {
	Action string `path:"action" minLength:"3" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9_-]*$" doc:"The id, or the code."`
}

// Account is the path parameter of an account. A tenant's name of 20 characters, the colon
// and an id of 64 fit into the 128 characters of the ledger.
type Account struct {
	AccountID string `path:"accountId" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"alice"`
}

// StoredAccount is the path parameter of an account that may be there already: also the suspense account
// of another one, whose id has up to 13 characters more.
type StoredAccount struct {
	AccountID string `path:"accountId" minLength:"1" maxLength:"77" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"alice"`
}

// StoredTransfer is the path parameter of a transfer to read: also one that a step of a payment has made,
// paymentId/stepId#payment. The slash and the number sign are escaped in a path.
type StoredTransfer struct {
	TransferID string `path:"transferId" minLength:"1" maxLength:"105" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_.:-]+#payment)?$" example:"t-1"`
}

// StoredHold is the path parameter of a hold to read: also the one of a payment, paymentId#payment, or of a
// step, paymentId/stepId#payment.
type StoredHold struct {
	HoldID string `path:"holdId" minLength:"1" maxLength:"105" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*((/[A-Za-z0-9_.:-]+)?#payment)?$"`
}

// Transfer is the path parameter of a transfer.
type Transfer struct {
	TransferID string `path:"transferId" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"t-1"`
}

// Payment is the path parameter of a payment. A tenant's name of 20 characters, the colon
// and an id of 60 are the 81 characters of package payments.
type Payment struct {
	PaymentID string `path:"paymentId" minLength:"1" maxLength:"60" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"p-1"`
}

// Step is the path parameter of a payment's capture or refund.
type Step struct {
	StepID string `path:"stepId" minLength:"1" maxLength:"36" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"c-1"`
}

// Parked is the path parameter of an order's parked task: the state that it waits for.
type Parked struct {
	State string `path:"state" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"SHIPPED"`
}

// Endpoint is the path parameter of an endpoint that gets notifications.
type Endpoint struct {
	EndpointID string `path:"endpoint" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"shop"`
}

// Page selects a page of a list.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"The largest number of entries."`
	Cursor string `query:"cursor" minLength:"1" maxLength:"1024" pattern:"^[A-Za-z0-9_-]+$" doc:"The next of the previous page. Opaque, and valid for the same list only."`
}

// Keyed is the header of a request that takes effect once under its key.
type Keyed struct {
	Key string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"Names this request. A repeat with the same key and content gets the first answer; other content is a conflict. Quotes around the key are not a part of it." example:"8e03978e-40d5-43dd-bc93-6894a57f9324"`
}

// Conditional is the header of a request that depends on the version its sender has seen.
type Conditional struct {
	IfMatch string `header:"If-Match" minLength:"1" maxLength:"64" pattern:"^([*]|\"t[0-9]{1,15}[.]c[0-9]{1,15}([.](0|[0-9a-v]{13}))?\")$" doc:"The ETag of the order as the sender has seen it. The answer is 412 if the order has changed since. The last part, the incarnation, may be left out; then an order that was placed again under the id is not told from the former one."`
}

var tag = regexp.MustCompile(`^"t([0-9]{1,15})[.]c([0-9]{1,15})(?:[.](0|[0-9a-v]{13}))?"$`)

// Version is what an ETag says of an order. Incarnation is "" if the ETag does not name it.
type Version struct {
	TransitionID, ContentVersion int64
	Incarnation                  string
}

// Seen returns the version in the ETag. It reports false if the request is unconditional: the header is
// absent, or is "*".
func (c Conditional) Seen() (v Version, conditional bool) {
	// "*" matches every version, like no header.
	parts := tag.FindStringSubmatch(c.IfMatch)
	if parts == nil {
		return v, false // the schema refuses all other values
	}

	v.TransitionID, _ = strconv.ParseInt(parts[1], 10, 64) // at most 15 digits
	v.ContentVersion, _ = strconv.ParseInt(parts[2], 10, 64)
	v.Incarnation = parts[3]

	return v, true
}
