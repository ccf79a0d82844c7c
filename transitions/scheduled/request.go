package scheduled

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ID names a scheduled request of an order: 32 characters of 0-9 a-f. It is a digest of the order's life and the
// request id, so that it can be shown.
type ID string

var idRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// Valid reports whether the text may be an id.
func (id ID) Valid() bool { return idRule().MatchString(string(id)) }

// Status says what has become of a request.
type Status string

// The statuses of requests. All but Pending are for good.
const (
	// Pending: its time has not come, or it is about to be judged.
	Pending Status = "pending"
	// Applied: it has moved the order.
	Applied Status = "applied"
	// Refused: it was judged, and has not moved the order.
	Refused Status = "refused"
	// Withdrawn: it was withdrawn before it was judged.
	Withdrawn Status = "withdrawn"
)

// Request is a request for later.
type Request struct {
	OrderID transitions.OrderID `json:"orderId"`
	ID      ID                  `json:"id"`
	Event   workflow.Event      `json:"event"`
	From    workflow.State      `json:"from,omitempty"`
	Cause   transitions.Cause   `json:"cause,omitzero"`
	// Life is the life of the order that the request is for, "" for any.
	Life transitions.Incarnation `json:"incarnation,omitempty"`
	// At is when it is judged and applied.
	At       time.Time `json:"at"`
	Status   Status    `json:"status"`
	PlacedAt time.Time `json:"placedAt"`
	EndedAt  time.Time `json:"endedAt,omitzero"`
	// TransitionID is the transition that an applied request has made.
	TransitionID transitions.TransitionID `json:"transitionId,omitempty"`
	// Verdict and Reason say why a request was refused. A request that could not be judged has no verdict.
	Verdict transitions.Verdict `json:"verdict,omitempty"`
	Reason  string              `json:"reason,omitempty"`

	request  transitions.Request
	content  []byte
	call     string // of the Place that has stored it
	firstAt  time.Time
	revision int64
}

// Attributes of a request's item. The key entry is "request#" and the id. The item "count#" and a life counts the
// requests that wait in it.
const (
	attrOrder      = "orderId"
	attrEntry      = "entry"
	attrStatus     = "status"
	attrAt         = "at"
	attrRequest    = "request" // JSON of a transitions.Request
	attrLife       = "incarnation"
	attrContent    = "content"
	attrCall       = "call"
	attrFirstAt    = "firstAt"
	attrPlacedAt   = "placedAt"
	attrEndedAt    = "endedAt"
	attrRevision   = "revision"
	attrVerdict    = "verdict"
	attrReason     = "reason"
	attrTransition = "transitionId"
	attrPending    = "pending" // of the item that counts

	// ExpiryAttribute is the attribute of the table's time to live. A request that waits has none.
	ExpiryAttribute = "expiresAt"

	requestPrefix = "request#"
	countPrefix   = "count#"
)

// idOf returns the id of a request. An order that was renewed goes on, so the first of its lives is the one that counts.
func idOf(r transitions.Request, order *transitions.Order) ID {
	life := r.Incarnation
	if goesOn(order, life) {
		life = order.LifeAt(0)
	}
	sum := ids.Digest(string(r.OrderID), string(life), string(r.RequestID))

	return ID(hex.EncodeToString(sum[:16]))
}

// goesOn reports whether the order is in the life, or goes on from it.
func goesOn(order *transitions.Order, life transitions.Incarnation) bool {
	return slices.Contains(order.LifeIDs(), order.ID.Life(life))
}

// contentOf returns the digest of all that makes a repeat the same request. Like transitions, it leaves the cause and the
// values for guards out.
func contentOf(r transitions.Request, at time.Time) ([]byte, error) {
	own, err := json.Marshal(r.Own)
	if err != nil {
		return nil, fmt.Errorf("%w: own: %w", transitions.ErrInvalidRequest, err)
	}

	seen := ""
	if r.IfMatch != nil {
		seen = fmt.Sprint(*r.IfMatch)
	}

	return ids.Digest(string(r.Event), string(r.From), fmt.Sprint(r.TransitionID), seen, string(own), fmt.Sprint(at.UnixMilli())), nil
}

func requestKey(order transitions.OrderID, id ID) dynamo.Item {
	return dynamo.Item{attrOrder: dynamo.S(string(order)), attrEntry: dynamo.S(requestPrefix + string(id))}
}

func countKey(order transitions.OrderID, life transitions.Incarnation) dynamo.Item {
	return dynamo.Item{attrOrder: dynamo.S(string(order)), attrEntry: dynamo.S(countPrefix + string(life))}
}

// row returns the due row of a request that waits.
func (r Request) row() due.Row {
	return due.Row{Kind: kind, At: r.At, Subject: string(r.OrderID), Detail: string(r.ID), Revision: fmt.Sprint(r.revision)}
}

// item returns a new request as it is stored.
func (r Request) item() (dynamo.Item, error) {
	text, err := json.Marshal(r.request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", transitions.ErrInvalidRequest, err)
	}

	item := requestKey(r.OrderID, r.ID)
	item[attrStatus] = dynamo.S(string(r.Status))
	item[attrAt] = dynamo.Millis(r.At)
	item[attrFirstAt] = dynamo.Millis(r.firstAt)
	item[attrPlacedAt] = dynamo.Millis(r.PlacedAt)
	item[attrRequest] = dynamo.S(string(text))
	item[attrContent] = dynamo.B(r.content)
	item[attrCall] = dynamo.S(r.call)
	item[attrRevision] = dynamo.N(r.revision)

	if r.Life != "" {
		item[attrLife] = dynamo.S(string(r.Life))
	}

	return item, nil
}

// parse reads an item.
func parse(item dynamo.Item) (Request, error) {
	r := Request{
		OrderID:      transitions.OrderID(dynamo.Text(item, attrOrder)),
		ID:           ID(strings.TrimPrefix(dynamo.Text(item, attrEntry), requestPrefix)),
		Life:         transitions.Incarnation(dynamo.Text(item, attrLife)),
		At:           dynamo.Time(item, attrAt),
		Status:       Status(dynamo.Text(item, attrStatus)),
		PlacedAt:     dynamo.Time(item, attrPlacedAt),
		EndedAt:      dynamo.Time(item, attrEndedAt),
		TransitionID: transitions.TransitionID(dynamo.Number(item, attrTransition)),
		Reason:       dynamo.Text(item, attrReason),
		content:      dynamo.Bytes(item, attrContent),
		call:         dynamo.Text(item, attrCall),
		firstAt:      dynamo.Time(item, attrFirstAt),
		revision:     dynamo.Number(item, attrRevision),
	}

	if verdict := dynamo.Text(item, attrVerdict); verdict != "" {
		if err := r.Verdict.UnmarshalText([]byte(verdict)); err != nil {
			return r, fmt.Errorf("scheduled request %s of order %s: %w", r.ID, r.OrderID, err)
		}
	}

	decoder := json.NewDecoder(bytes.NewBufferString(dynamo.Text(item, attrRequest)))
	decoder.UseNumber()

	if err := decoder.Decode(&r.request); err != nil {
		return r, fmt.Errorf("scheduled request %s of order %s: %w", r.ID, r.OrderID, err)
	}

	// Values are texts, whole numbers and truth values.
	for name, v := range r.request.Values {
		if number, isNumber := v.(json.Number); isNumber {
			whole, err := number.Int64()
			if err != nil {
				return r, fmt.Errorf("scheduled request %s of order %s: value %s: %w", r.ID, r.OrderID, name, err)
			}
			r.request.Values[name] = whole
		}
	}
	r.request.Incarnation = r.Life
	r.Event, r.From, r.Cause = r.request.Event, r.request.From, r.request.Cause

	return r, nil
}
