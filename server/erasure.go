package server

import (
	"time"

	"ratchet/operate/erasure"
)

// quietFor is longer than a call of a stream's handler and the write of its outcome take.
const quietFor = 2 * time.Minute

// Eraser returns an eraser of persons from orders that have ended. An order must not have moved for two
// minutes and [Config.FreshFor]: a reaction to an older change reads the order again, so it cannot write
// the person back.
func (b *Backend) Eraser() (*erasure.Eraser, error) {
	cfg := b.erasureConfig()

	// Lists may have rows with persons even if the setting order-lists is off now.
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
		Stuck:         b.Processes,
		Scheduled:     b.Scheduled,
		QuietFor:      quietFor + b.Config.FreshFor,
	}
}
