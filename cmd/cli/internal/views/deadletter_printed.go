package views

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

// PrintedDeadLetter is a dead letter as it is printed, without the images of the order.
type PrintedDeadLetter struct {
	Handler   string    `json:"handler"`
	ID        string    `json:"id"`
	Order     string    `json:"orderId,omitempty"`
	Change    string    `json:"change,omitempty"`
	Error     string    `json:"error"`
	Permanent bool      `json:"permanent"`
	Attempts  int       `json:"attempts"`
	Redrives  int       `json:"redrives"`
	FailedAt  time.Time `json:"failedAt"`
	QueuedAt  time.Time `json:"queuedAt,omitzero"`
	// Unreadable says why the change cannot be decoded.
	Unreadable string `json:"unreadable,omitempty"`
}

// ToPrinted returns a dead letter as it is printed.
func ToPrinted(m transitions.Mapping, l deadletters.Letter) PrintedDeadLetter {
	shown := PrintedDeadLetter{
		Handler:    l.Handler,
		ID:         l.ID,
		Error:      l.Error,
		Permanent:  l.Permanent,
		Attempts:   l.Attempts,
		Redrives:   l.Redrives,
		FailedAt:   l.FailedAt,
		QueuedAt:   l.QueuedAt,
		Unreadable: l.Unreadable,
	}
	// A dead letter that cannot be decoded has no record.
	if l.Record != nil {
		shown.Change = string(l.Record.EventName)
	}

	shown.Order = OrderOf(m, l.Keys)

	return shown
}

// OrderOf returns the order that a key of the orders' table names, "" if it names none.
func OrderOf(m transitions.Mapping, keys map[string]types.AttributeValue) string {
	id, _ := m.OrderOf(keys)

	return string(id)
}
