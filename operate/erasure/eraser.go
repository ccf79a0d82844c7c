package erasure

import (
	"context"
	"errors"
	"fmt"
	"ratchet/streams/retryqueue"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/notify"
	"ratchet/once/txn"
	"ratchet/shipping/reports"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/transitions/refusals"
)

// Errors of [Eraser.Erase], beside transitions.ErrUnknownOrder, ErrNotEnded, ErrUnknownVersion,
// ErrJournalBehind and ErrContended, and reports.ErrReportsWait. After each of them the same call may
// succeed later.
var (
	// ErrTooSoon: the order has moved a moment ago, and handlers that read it before may still
	// write.
	ErrTooSoon = errors.New("the order has moved too recently")
	// ErrHandlersWait: changes of the order wait in the retry queue of a handler.
	ErrHandlersWait = errors.New("changes of the order wait for a handler")
	// ErrUnreadableDeadLetters: dead letters about the order cannot be read, and may name the person.
	// Everything but the order's item is erased, so that a repeat finds the order. Discard them
	// first.
	ErrUnreadableDeadLetters = errors.New("dead letters that cannot be read may name the person")
)

// Keeps reports whether the error concerns one order only, which can be erased later.
func Keeps(err error) bool {
	for _, reason := range []error{
		transitions.ErrNotEnded, transitions.ErrUnreadable, transitions.ErrUnknownVersion, transitions.ErrJournalBehind, transitions.ErrContended,
		ErrTooSoon, ErrHandlersWait, ErrUnreadableDeadLetters, reports.ErrReportsWait, deadletters.ErrRedriving,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}

	return false
}

// erasedError replaces the error of a dead letter from which a person was erased: the handler's
// text may have named the person.
const erasedError = "(erased)"

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config says where a person may be. All fields but Lists, Stuck and Scheduled are required.
type Config struct {
	DynamoDB dynamoDB
	Orders   *transitions.Orders
	// OrdersTable is the table of Orders, RefusalsTable the table of the log of refusals.
	OrdersTable, RefusalsTable string
	Deliveries                 *notify.Deliveries
	Reports                    *reports.Receiver
	// DeadLetters and Handlers are the dead letters and the names of the handlers of the orders'
	// stream.
	DeadLetters deadletters.Letters
	Handlers    []string
	// Lists are the lists of orders. Their table may be missing. Default: none.
	Lists *lists.Lists
	// Stuck has the rows of stuck orders. Default: none.
	Stuck interface {
		ForgetStuck(ctx context.Context, order string) error
	}
	// Scheduled has the requests for later. Default: none.
	Scheduled interface {
		Forget(ctx context.Context, order transitions.OrderID) (int, error)
	}
	// QuietFor is how long an order must not have moved: longer than a handler takes that has begun
	// with a change just before.
	QuietFor time.Duration
}

func (c *Config) check() error {
	var faults []error
	require := func(ok bool, rule string) {
		if !ok {
			faults = append(faults, errors.New("erasure: Config."+rule))
		}
	}
	require(c.DynamoDB != nil, "DynamoDB: must be set")
	require(c.Orders != nil, "Orders: must be set")
	require(c.OrdersTable != "", "OrdersTable: must be set")
	require(c.RefusalsTable != "", "RefusalsTable: must be set")
	require(c.Deliveries != nil, "Deliveries: must be set")
	require(c.Reports != nil, "Reports: must be set")
	require(c.DeadLetters.DynamoDB != nil, "DeadLetters: must be set")
	require(len(c.Handlers) > 0, "Handlers: must be set")
	require(c.QuietFor > 0, fmt.Sprintf("QuietFor %v: must be more than 0", c.QuietFor))

	return errors.Join(faults...)
}

// Eraser erases persons. It is safe for concurrent use.
type Eraser struct {
	cfg    Config
	writer *txn.Writer
}

// New returns an Eraser. The error names every field that breaks a rule.
func New(cfg Config) (*Eraser, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB})

	return &Eraser{cfg, writer}, err
}

// Erased counts the rows that were changed or deleted for one order.
type Erased struct {
	OrderID     transitions.OrderID `json:"orderId"`
	JournalRows int                 `json:"journalRows"`
	Deliveries  int                 `json:"deliveries"`
	DeadLetters int                 `json:"deadLetters"`
	Reports     int                 `json:"reports"`
}

// Check returns why the person cannot be erased from the order now, nil if it can. It writes nothing.
// Only the write of the order itself decides.
func (e *Eraser) Check(ctx context.Context, order *transitions.Order) error {
	if err := e.check(ctx, order); err != nil {
		return fmt.Errorf("erase the person of order %s: %w", order.ID, err)
	}

	return nil
}

func (e *Eraser) check(ctx context.Context, order *transitions.Order) error {
	if err := e.cfg.Orders.CanErase(order); err != nil {
		return err
	}

	if settled := order.UpdatedAt.Add(e.cfg.QuietFor); time.Now().Before(settled) {
		return fmt.Errorf("%w: it can be erased from %s on", ErrTooSoon, settled.UTC().Format(time.RFC3339))
	}

	// A waiting change holds images of the order with the person in them, and its handler may store
	// them again.
	for _, handler := range e.cfg.Handlers {
		waiting, err := retryqueue.Items(ctx, e.cfg.DeadLetters, e.cfg.OrdersTable, handler)
		if err != nil {
			return err
		}

		for _, item := range waiting {
			if e.isOf(item.Keys, order.ID) {
				return fmt.Errorf("%w: %s", ErrHandlersWait, handler)
			}
		}
	}

	return e.cfg.Reports.CanErase(ctx, string(order.ID))
}

// Erase removes the person from the order and from what is stored about it. It costs a read of all
// dead letters: one that cannot be read may be about the order.
func (e *Eraser) Erase(ctx context.Context, id transitions.OrderID) (Erased, error) {
	return e.EraseIf(ctx, id, func(*transitions.Order) error { return nil })
}

// EraseIf is Erase of an order that was selected before: is gets the order as it is now, and returns why it is not the
// one that was meant. An id may be another order's by then.
func (e *Eraser) EraseIf(ctx context.Context, id transitions.OrderID, is func(*transitions.Order) error) (Erased, error) {
	done := Erased{OrderID: id}

	err := e.erase(ctx, id, is, &done)
	if err != nil {
		err = fmt.Errorf("erase the person of order %s: %w", id, err)
	}

	return done, err
}

func (e *Eraser) erase(ctx context.Context, id transitions.OrderID, is func(*transitions.Order) error, done *Erased) error {
	order, found, err := e.cfg.Orders.Get(ctx, id)
	switch {
	case err != nil:
		return err
	case !found:
		return transitions.ErrUnknownOrder
	}

	if err := is(order); err != nil {
		return err
	}

	if err := e.check(ctx, order); err != nil {
		return err
	}

	if done.JournalRows, err = e.cfg.Orders.EraseHistory(ctx, order); err != nil {
		return err
	}

	if done.Deliveries, err = e.cfg.Deliveries.Erase(ctx, string(id)); err != nil {
		return err
	}

	// Unreadable dead letters do not stop the rest: all else is erased now, and a repeat has less
	// to do.
	var unreadable []string
	for _, handler := range e.cfg.Handlers {
		n, left, err := e.eraseDeadLetters(ctx, handler, id)
		unreadable = append(unreadable, left...)

		// Counted also after an error: the caller reports what has been erased.
		if done.DeadLetters += n; err != nil {
			return err
		}
	}

	if done.Reports, err = e.cfg.Reports.Erase(ctx, string(id)); err != nil {
		return err
	}

	if e.cfg.Stuck != nil {
		if err := e.cfg.Stuck.ForgetStuck(ctx, string(id)); err != nil {
			return err
		}
	}

	if err := refusals.Forget(ctx, e.cfg.DynamoDB, e.cfg.RefusalsTable, string(id)); err != nil {
		return err
	}

	if err := e.forgetScheduled(ctx, id); err != nil {
		return err
	}

	if len(unreadable) > 0 {
		return fmt.Errorf("%w: %s", ErrUnreadableDeadLetters, strings.Join(unreadable, ", "))
	}

	// The item comes last: as long as it names the customer, an interrupted erasure can be found
	// and repeated.
	if err := e.eraseItem(ctx, order); err != nil {
		return err
	}

	// None can be placed from now on.
	if err := e.forgetScheduled(ctx, id); err != nil {
		return err
	}

	// A handler that read the order before this write may have stored a notification after the
	// deliveries were erased. A handler that reads it from now on finds it erased, and erases its
	// own notification.
	late, err := e.cfg.Deliveries.Erase(ctx, string(id))
	done.Deliveries += late

	return err
}

// forgetScheduled deletes the requests for later. The order has ended, so none of them could be applied.
func (e *Eraser) forgetScheduled(ctx context.Context, id transitions.OrderID) error {
	if e.cfg.Scheduled == nil {
		return nil
	}

	_, err := e.cfg.Scheduled.Forget(ctx, id)

	return err
}

// eraseItem erases the order itself and takes it out of the lists of its customer and its reference.
func (e *Eraser) eraseItem(ctx context.Context, order *transitions.Order) error {
	part, err := e.cfg.Orders.EraseIn(order)
	if err != nil {
		return err
	}

	if e.cfg.Lists != nil {
		err := e.cfg.Lists.Erase(ctx, order, part)

		// Without their table there are no lists to erase from, and the order is erased alone.
		var missing *types.ResourceNotFoundException
		if !errors.As(err, &missing) {
			return err
		}
	}

	var t txn.Transaction
	part(&t)

	return e.writer.Write(ctx, &t)
}

// eraseDeadLetters removes the person from the handler's dead letters about the order. They can still
// be redriven. Dead letters that cannot be read do not stop the erasure: eraseDeadLetters returns
// their handler and id.
func (e *Eraser) eraseDeadLetters(ctx context.Context, handler string, id transitions.OrderID) (changed int, unreadable []string, err error) {
	m := e.cfg.Orders.Mapping()

	for letter, err := range e.cfg.DeadLetters.All(ctx, handler, deadletters.Filter{}) {
		if err != nil {
			return changed, unreadable, err
		}

		// A repeat skips the dead letters from which an earlier call has erased the person.
		if !e.isOf(letter.Keys, id) || letter.Error == erasedError {
			continue
		}

		err := e.cfg.DeadLetters.Rewrite(ctx, handler, letter.ID, erasedError, func(r *streams.Record) {
			r.Old, r.New = m.WithoutPerson(r.Old), m.WithoutPerson(r.New)
		})

		switch {
		case errors.Is(err, deadletters.ErrNotFound):
		case errors.Is(err, deadletters.ErrUnreadable):
			unreadable = append(unreadable, handler+" "+letter.ID)
		case err != nil:
			return changed, unreadable, err
		default:
			changed++
		}
	}

	return changed, unreadable, nil
}

// isOf reports whether the key is the order's.
func (e *Eraser) isOf(keys map[string]types.AttributeValue, id transitions.OrderID) bool {
	order, ofOrder := e.cfg.Orders.Mapping().OrderOf(keys)

	return ofOrder && order == id
}
