package inventory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/attribute"
)

// MaxLines is how many different SKUs one order can reserve.
const MaxLines = 99

// What a reservation can meet.
var (
	// ErrOutOfStock: a SKU has less than was asked for, or does not exist. Nothing
	// was reserved.
	ErrOutOfStock = errors.New("out of stock")
	// ErrClosed: the order's reservation has been released, or committed, before.
	ErrClosed = errors.New("the order's reservation is closed")
	// ErrInvalid: an argument breaks a rule; the text names both.
	ErrInvalid = errors.New("invalid reservation")
)

// Line is a number of pieces of one SKU.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// Level is what a SKU has, in pieces.
type Level struct {
	SKU       string `json:"sku"`
	Available int64  `json:"available"`
	Reserved  int64  `json:"reserved"`
	Committed int64  `json:"committed"`
}

type dynamo interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Stock is the inventory behind one table. Its methods may be called from many
// goroutines.
type Stock struct {
	db    dynamo
	table string
}

// New returns the stock in the table.
func New(db dynamo, table string) *Stock { return &Stock{db: db, table: table} }

type image = attribute.Item

const (
	reserved  = "RESERVED"
	committed = "COMMITTED"
	released  = "RELEASED"
)

// Set puts a SKU's available pieces to quantity and leaves what is reserved and
// committed as it is. For receiving goods and for demos.
func (s *Stock) Set(ctx context.Context, sku string, quantity int64) error {
	if err := validate(Line{sku, max(quantity, 1)}); err != nil || quantity < 0 {
		return errors.Join(err, fmt.Errorf("set stock of %q to %d: %w", sku, quantity, ErrInvalid))
	}
	_, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: key(sku),
		UpdateExpression:          aws.String("SET available = :q, reserved = if_not_exists(reserved, :zero), committed = if_not_exists(committed, :zero)"),
		ExpressionAttributeValues: image{":q": attribute.N(quantity), ":zero": attribute.N(0)},
	})
	if err != nil {
		return fmt.Errorf("set stock of %q: %w", sku, err)
	}
	return nil
}

// Level returns what a SKU has, and whether it is known.
func (s *Stock) Level(ctx context.Context, sku string) (Level, bool, error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: key(sku), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Level{}, false, fmt.Errorf("level of %q: %w", sku, err)
	}
	return Level{SKU: sku, Available: attribute.Number(out.Item, "available"), Reserved: attribute.Number(out.Item, "reserved"),
		Committed: attribute.Number(out.Item, "committed")}, len(out.Item) > 0, nil
}

// Reserve sets the lines aside for the order, all or none. A repeat with a
// reservation in place changes nothing and succeeds; ErrClosed when it has been
// released or committed; ErrOutOfStock names the SKU that lacks pieces.
func (s *Stock) Reserve(ctx context.Context, order string, lines []Line) error {
	lines, err := merge(lines)
	if err != nil {
		return fmt.Errorf("reserve for order %s: %w", order, err)
	}
	items := []types.TransactWriteItem{{Put: &types.Put{
		TableName: &s.table, Item: reservation(order, reserved, lines), ConditionExpression: aws.String("attribute_not_exists(sku)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
	for _, l := range lines {
		items = append(items, s.move(l, "available", "reserved"))
	}
	reasons, err := s.transact(ctx, items)
	switch {
	case err != nil:
		return fmt.Errorf("reserve for order %s: %w", order, err)
	case reasons == nil:
		return nil
	case failed(reasons[0]): // the order's own record decides, whatever else failed
		if attribute.Text(reasons[0].Item, "status") == reserved {
			return nil
		}
		return fmt.Errorf("reserve for order %s: %w: %s", order, ErrClosed, attribute.Text(reasons[0].Item, "status"))
	}
	return fmt.Errorf("reserve for order %s: %w: %s", order, ErrOutOfStock, lacking(reasons, lines))
}

// Commit turns the order's reservation into sold pieces. A repeat succeeds;
// ErrClosed when it was released, or never made.
func (s *Stock) Commit(ctx context.Context, order string) error {
	return s.close(ctx, order, committed, "committed")
}

// Release puts the reserved pieces back. A repeat succeeds, and so does releasing
// an order that has reserved nothing: it is then closed, and a reservation that
// comes late is refused. ErrClosed when it was committed.
func (s *Stock) Release(ctx context.Context, order string) error {
	return s.close(ctx, order, released, "available")
}

// close ends the order's reservation and moves its pieces to the counter.
func (s *Stock) close(ctx context.Context, order, status, counter string) error {
	verb := map[string]string{committed: "commit", released: "release"}[status]
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: key(orderKey(order)), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return fmt.Errorf("%s for order %s: %w", verb, order, err)
	}
	// The lines of a reservation never change, so reading them first decides
	// nothing: the transaction's condition does.
	lines := linesOf(out.Item)
	condition, from := "#status = :from", reserved
	if len(out.Item) == 0 {
		if status == committed {
			return fmt.Errorf("commit for order %s: %w: nothing is reserved", order, ErrClosed)
		}
		condition = "attribute_not_exists(sku) OR #status = :from"
		from = released
	}
	record := &types.Put{
		TableName: &s.table, Item: reservation(order, status, lines), ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{"#status": "status"}, ExpressionAttributeValues: image{":from": attribute.S(from)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	items := []types.TransactWriteItem{{Put: record}}
	for _, l := range lines {
		items = append(items, s.move(l, "reserved", counter))
	}
	reasons, err := s.transact(ctx, items)
	switch {
	case err != nil:
		return fmt.Errorf("%s for order %s: %w", verb, order, err)
	case reasons == nil:
		return nil
	case failed(reasons[0]) && attribute.Text(reasons[0].Item, "status") == status:
		return nil
	case failed(reasons[0]) && len(out.Item) == 0:
		return s.close(ctx, order, status, counter) // a reservation arrived in between; it is there for good now
	case failed(reasons[0]):
		return fmt.Errorf("%s for order %s: %w: %s", verb, order, ErrClosed, attribute.Text(reasons[0].Item, "status"))
	}
	return fmt.Errorf("%s for order %s: the counters hold less than the reservation: %s", verb, order, lacking(reasons, lines))
}

// move takes a line's pieces from one counter to the other, if they are there.
func (s *Stock) move(l Line, from, to string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &s.table, Key: key(l.SKU),
		ConditionExpression:       aws.String("#from >= :q"),
		UpdateExpression:          aws.String("SET #from = #from - :q, #to = if_not_exists(#to, :zero) + :q"),
		ExpressionAttributeNames:  map[string]string{"#from": from, "#to": to},
		ExpressionAttributeValues: image{":q": attribute.N(l.Quantity), ":zero": attribute.N(0)},
	}}
}

// transact sends the transaction until it is made or refused by a condition; then
// it returns the reasons. Conflicts with other transactions are tried again, which
// the SDK leaves to its callers.
func (s *Stock) transact(ctx context.Context, items []types.TransactWriteItem) ([]types.CancellationReason, error) {
	const attempts = 12
	for attempt := 1; ; attempt++ {
		_, err := s.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		var canceled *types.TransactionCanceledException
		switch {
		case err == nil:
			return nil, nil
		case !errors.As(err, &canceled) || attempt == attempts:
			return nil, err
		case slices.ContainsFunc(canceled.CancellationReasons, failed):
			return canceled.CancellationReasons, nil
		case !slices.ContainsFunc(canceled.CancellationReasons, passing):
			return nil, err
		}
		timer := time.NewTimer(rand.N(min(5*time.Millisecond<<attempt, time.Second))) //nolint:gosec // jitter
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

func failed(r types.CancellationReason) bool {
	return aws.ToString(r.Code) == "ConditionalCheckFailed"
}

// passing reports a reason that a later attempt may not meet.
func passing(r types.CancellationReason) bool {
	switch aws.ToString(r.Code) {
	case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		return true
	}
	return false
}

// lacking names the SKUs whose condition failed.
func lacking(reasons []types.CancellationReason, lines []Line) string {
	var skus []string
	for i, l := range lines {
		if i+1 < len(reasons) && failed(reasons[i+1]) {
			skus = append(skus, l.SKU)
		}
	}
	return strings.Join(skus, ", ")
}

// merge adds up the lines of a SKU: a transaction takes an item only once.
func merge(lines []Line) ([]Line, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("%w: no lines", ErrInvalid)
	}
	var out []Line
	for _, l := range lines {
		if err := validate(l); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(out, func(o Line) bool { return o.SKU == l.SKU }); i >= 0 {
			out[i].Quantity += l.Quantity
			continue
		}
		out = append(out, l)
	}
	if len(out) > MaxLines {
		return nil, fmt.Errorf("%w: %d different SKUs, at most %d", ErrInvalid, len(out), MaxLines)
	}
	return out, nil
}

// MaxQuantity bounds a line, so that no sum of lines overflows.
const MaxQuantity = 1_000_000_000

func validate(l Line) error {
	switch {
	case l.SKU == "" || len(l.SKU) > 128 || strings.HasPrefix(l.SKU, "order#"):
		return fmt.Errorf(`%w: sku: 1 to 128 bytes, not beginning with "order#"`, ErrInvalid)
	case l.Quantity < 1 || l.Quantity > MaxQuantity:
		return fmt.Errorf("%w: quantity %d of sku: 1 to %d", ErrInvalid, l.Quantity, MaxQuantity)
	}
	return nil
}
