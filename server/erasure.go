package server

import (
	"time"

	"ratchet/operate/erasure"
)

// quietFor is longer than a call of a stream's handler, with the write of its outcome.
const quietFor = 2 * time.Minute

// Eraser removes persons from orders that have ended and have not moved for some minutes: after that,
// reactions look at the order as it is now.
func (b *Backend) Eraser() (*erasure.Eraser, error) {
	cfg := b.erasureConfig()

	// Lists that are not kept any more still name persons.
	if cfg.Lists == nil {
		var err error
		if cfg.Lists, err = b.newLists(); err != nil {
			return nil, err
		}
	}

	return erasure.New(cfg)
}

func (b *Backend) erasureConfig() erasure.Config {
	return erasure.Config{
		DynamoDB:      b.DynamoDB,
		Orders:        b.Orders,
		OrdersTable:   b.Tables.Orders,
		RefusalsTable: b.Tables.Refusals,
		Deliveries:    b.Deliveries,
		Reports:       b.Reports,
		DeadLetters:   b.DeadLetters(),
		Handlers:      b.EveryHandlerName(),
		Lists:         b.Lists,
		QuietFor:      quietFor + b.Config.FreshFor,
	}
}
