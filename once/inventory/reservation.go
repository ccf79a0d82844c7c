package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Status says what has become of a reservation.
type Status string

// The statuses of a reservation.
const (
	Reserved  Status = "RESERVED"
	Committed Status = "COMMITTED"
	Released  Status = "RELEASED"
	Expired   Status = "EXPIRED"
)

// Reservation holds the pieces that an order has reserved.
type Reservation struct {
	Order  string `json:"order"`
	Status Status `json:"status"`
	// Lines are the reserved pieces; after a commit or release, the pieces that were reserved
	// until then. They are empty if the reservation has expired. One SKU may be in several lines.
	Lines []Line `json:"lines,omitempty"`
	// ExpiresAt is when the reservation expires; zero if it does not, or has expired.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// ReservedAt is when the first lines were reserved, zero after an expiry. EndedAt is when a call committed
	// or released the reservation, or when it expired, zero before that.
	ReservedAt time.Time `json:"reservedAt,omitzero"`
	EndedAt    time.Time `json:"endedAt,omitzero"`
}

type image = dynamo.Item

const (
	skuKey = "sku"

	// orderPrefix begins the keys of reservations, which share a table with the SKUs.
	orderPrefix = "order#"
)

// TableInput describes the table of SKUs and reservations: key sku.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(skuKey))
}

// DueTableInput describes the table of reservations that expire: keys shard and due.
func DueTableInput(name string) *dynamodb.CreateTableInput {
	return due.TableInput(name)
}

func key(sku string) image { return image{skuKey: dynamo.S(sku)} }

// orderKey is the key of an order's reservation.
func orderKey(order string) image { return key(orderPrefix + order) }

func checkOrder(order string) error {
	if order == "" || len(order) > maxOrder {
		return fmt.Errorf("%w: order: 1 to %d bytes", ErrInvalid, maxOrder)
	}

	return nil
}

// record is a reservation as it is stored. Its Status is "" when there is none.
type record struct {
	Reservation
	// version counts the changes of the reservation.
	version int64
	// base is the digest of the lines that Reserve was called with; nil when lines were
	// only added by AddIn.
	base []byte
}

// The types of the attributes of a reservation, and of each of its lines.
var (
	recordKinds = dynamo.Kinds{"status": "S", "lines": "L", "expiresAt": "N", "version": "N", "base": "B", "reservedAt": "N", "endedAt": "N"}
	lineKinds   = dynamo.Kinds{"sku": "S", "quantity": "N"}
)

// decode reads a reservation; one with the Status "" if there is no item. It returns errUnreadable for an item
// that this package did not write: without its end, its lines or its status, a reservation is another one.
func decode(item image) (record, error) {
	r := record{
		Reservation: Reservation{
			Status:    Status(dynamo.Text(item, "status")),
			Lines:     decodeLines(item["lines"]),
			ExpiresAt: dynamo.Time(item, "expiresAt"),

			ReservedAt: dynamo.Time(item, "reservedAt"),
		},
		version: dynamo.Number(item, "version"),
		base:    dynamo.Bytes(item, "base"),
	}

	// An order that reserves again after an expiry keeps the time of that until it ends once more.
	if r.Status != Reserved {
		r.EndedAt = dynamo.Time(item, "endedAt")
	}

	err := cmp.Or(recordKinds.Check(item), lineKinds.CheckAll(item, "lines"))
	if err == nil && len(item) > 0 && !slices.Contains([]Status{Reserved, Committed, Released, Expired}, r.Status) {
		err = fmt.Errorf("status %q", r.Status)
	}

	if err != nil {
		return record{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}

	return r, nil
}

// expiredAt reports whether a reservation that is stored as reserved has expired. A sweep
// may or may not have stored that yet.
func (r record) expiredAt(now time.Time) bool {
	return r.Status == Reserved && !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

// Reservation returns an order's reservation as it is now. It returns false if the order
// has none.
func (s *Stock) Reservation(ctx context.Context, order string) (Reservation, bool, error) {
	r, err := s.read(ctx, order)
	if err != nil {
		return Reservation{}, false, err
	}

	if r.expiredAt(s.clock.Now()) {
		r = record{Reservation: Reservation{Status: Expired, EndedAt: r.ExpiresAt}} // as a sweep stores it
	}
	r.Order = order

	return r.Reservation, r.Status != "", nil
}

// read reads the record of an order's reservation.
func (s *Stock) read(ctx context.Context, order string) (record, error) {
	if err := checkOrder(order); err != nil {
		return record{}, fmt.Errorf("reservation: %w", err)
	}

	item, err := s.get(ctx, orderKey(order))
	if err != nil {
		return record{}, fmt.Errorf("reservation of order %s: %w", order, err)
	}

	r, err := decode(item)
	if err != nil {
		return record{}, fmt.Errorf("reservation of order %s: %w", order, err)
	}

	return r, nil
}

// changeAttempts bounds how often others may change a reservation while it is being changed.
const changeAttempts = 10

// change writes the transaction that next returns for the order's reservation, nil if there is
// nothing to change. next gets the reservation as seen, or as change reads it if seen is nil. The
// reservation must be the marker of the transaction, conditional on its version. If the reservation has
// changed since, the failed condition returns its new image, and change tries again with that.
func (s *Stock) change(ctx context.Context, order string, seen *record, next func(record) (*txn.Transaction, error)) error {
	if seen == nil {
		item, err := s.get(ctx, orderKey(order))
		if err != nil {
			return err
		}

		r, err := decode(item)
		if err != nil {
			return err
		}

		seen = &r
	}

	for range changeAttempts {
		t, err := next(*seen)
		if t == nil || err != nil {
			return err
		}

		err = s.writer.Write(ctx, t)

		var refused *txn.CanceledError
		if !errors.As(err, &refused) || refused.Part != reservationPart {
			return nameMissing(err)
		}

		// Another call has changed the reservation, or this one has and its answer was lost.
		changed, err := decode(refused.Old)
		if err != nil {
			return err
		}

		seen = &changed
	}

	return txn.ErrContended
}

// get reads an item of the table; nil if there is none.
func (s *Stock) get(ctx context.Context, key image) (image, error) {
	began := s.clock.LocalNow()

	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.cfg.Table,
		Key:            key,
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}

	s.clock.Hear(began, out.ResultMetadata, nil)

	return out.Item, nil
}
