package inventory

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Level holds the counters of a SKU, in pieces.
type Level struct {
	SKU       string `json:"sku"`
	Available int64  `json:"available"`
	Reserved  int64  `json:"reserved"`
	Committed int64  `json:"committed"`
}

// The counters of a SKU's item.
const (
	available = "available"
	reserved  = "reserved"
	committed = "committed"
)

var levelKinds = dynamo.Kinds{available: "N", reserved: "N", committed: "N"}

// setAttempts is how often Set sends its write at most.
const setAttempts = 8

// Set sets a SKU's available pieces to quantity and leaves the reserved and committed pieces
// as they are. Use it for receiving goods and for demonstrations: it overwrites the changes
// that concurrent reservations make to the available pieces. The error is txn.ErrUnknown if DynamoDB
// has not answered whether it was set: set it again.
func (s *Stock) Set(ctx context.Context, sku string, quantity int64) error {
	line := Line{SKU: sku, Quantity: max(quantity, 1)} // 0 is a valid level, but not a valid line
	if err := line.validate(); err != nil || quantity < 0 {
		return errors.Join(err, fmt.Errorf("set stock of %q to %d: %w", sku, quantity, ErrInvalid))
	}

	update := dynamo.NewUpdate(s.cfg.Table, key(sku)).
		Set("#available = :quantity").
		// A new SKU gets all counters.
		Set("#reserved = if_not_exists(#reserved, :zero)").
		Set("#committed = if_not_exists(#committed, :zero)").
		Bind(":quantity", dynamo.N(quantity)).
		Bind(":zero", dynamo.N(0))

	input := update.Input()

	_, _, err := dynamo.UntilDecided(ctx, setAttempts, func() error {
		_, err := s.cfg.DynamoDB.UpdateItem(ctx, input, dynamo.WithoutRetries)
		return err
	})
	if errors.Is(err, dynamo.ErrUnanswered) {
		err = errors.Join(txn.ErrUnknown, err)
	}

	if err != nil {
		return fmt.Errorf("set stock of %q: %w", sku, err)
	}

	return nil
}

// Level returns the counters of a SKU. It returns false if the SKU does not exist.
func (s *Stock) Level(ctx context.Context, sku string) (Level, bool, error) {
	line := Line{SKU: sku, Quantity: 1}
	if err := line.validate(); err != nil {
		return Level{}, false, fmt.Errorf("level of %q: %w", sku, err)
	}

	item, err := s.get(ctx, key(sku))
	if err != nil {
		return Level{}, false, fmt.Errorf("level of %q: %w", sku, err)
	}

	if err := levelKinds.Check(item); err != nil {
		return Level{}, false, fmt.Errorf("level of %q: %w: %w", sku, errUnreadable, err)
	}

	level := Level{
		SKU:       sku,
		Available: dynamo.Number(item, available),
		Reserved:  dynamo.Number(item, reserved),
		Committed: dynamo.Number(item, committed),
	}

	return level, len(item) > 0, nil
}

// short is the refusal of a counter that holds less than is taken from it.
func short(refusal error) txn.ConditionError {
	return func(old image) error {
		if err := levelKinds.Check(old); err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}

		return refusal
	}
}

// move returns the part of a transaction that moves a line's pieces from one counter to
// the other. Its condition fails when there are not enough.
func (s *Stock) move(l Line, from, to string) types.TransactWriteItem {
	update := dynamo.NewUpdate(s.cfg.Table, key(l.SKU)).
		If("#"+from+" >= :quantity").
		Set("#"+from+" = #"+from+" - :quantity").
		Set("#"+to+" = if_not_exists(#"+to+", :zero) + :quantity").
		Bind(":quantity", dynamo.N(l.Quantity)).
		Bind(":zero", dynamo.N(0))

	return types.TransactWriteItem{Update: update.Part()}
}
