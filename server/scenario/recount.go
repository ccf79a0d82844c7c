package scenario

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/internal/plural"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/operate/executions"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Discrepancy is an inconsistency between tables, or with the plan.
type Discrepancy struct {
	// OrderID is the order, or the SKU for stock, or "-".
	OrderID string `json:"orderId"`
	What    string `json:"what"`
}

// Count is the result of a recount.
type Count struct {
	// ByState counts the orders by their states.
	ByState map[string]int
	// Transitions is the number of journal rows. Shipments is the number of bookings at the carrier.
	// Notices is the number of notifications. MostShipments is the largest number of bookings of one
	// order; more than one is a discrepancy. Repeats is the number of notifications that were written
	// to the file of the setting notify again under the same key.
	Transitions, Shipments, Notices, MostShipments, Repeats int

	Discrepancies []Discrepancy
}

// recount holds the content of the tables.
type recount struct {
	Count
	orders  map[string]item   // by order
	journal map[string][]item // by order, ascending
	effects map[string]item   // claims, by key
	sent    map[string]bool   // by the key of a notification: whether every endpoint has got it
	shipped map[string]item   // bookings, by effect key
	paid    map[string]item   // payments, by id
	stock   map[string]item   // rows of the stock, by sku; a reservation has the sku "order#" and the order
	endings map[string]string // the status of executions, by name
	sales   int64             // the sum of the totals of delivered orders
}

type item = map[string]types.AttributeValue

// Recount reads the tables and makes these comparisons: the orders with the plan, their journal and the
// definition; the effects with the transitions that must have them; and the payments, the stock and the
// executions with the final states of the orders.
func (p Plan) Recount(ctx context.Context, b *server.Backend) (Count, error) {
	r := &recount{Count: Count{ByState: map[string]int{}}}
	if err := r.read(ctx, b); err != nil {
		return Count{}, fmt.Errorf("recount: %w", err)
	}

	// Orders of the plan that are not in the table. The loop below sees only orders that are.
	for i := range p.Orders {
		id := string(p.Order(i).ID)
		if r.orders[id] == nil {
			r.wrong(id, "was placed and is missing")
		}
	}

	wanted := map[string]bool{}
	for id, order := range r.orders {
		r.ByState[dynamo.Text(order, "orderState")]++
		r.checkJournal(id, order, wanted)
		r.checkEnding(id, order)
	}
	r.checkEffects(wanted)
	r.checkStock(p.Stock())

	if err := r.checkLedger(ctx, b); err != nil {
		return Count{}, err
	}

	if err := r.checkNotices(b.Config.Notify); err != nil {
		return Count{}, err
	}
	slices.SortFunc(r.Discrepancies, func(a, b Discrepancy) int { return strings.Compare(a.OrderID+a.What, b.OrderID+b.What) })

	return r.Count, nil
}

// wrong adds a discrepancy.
func (r *recount) wrong(id, what string) {
	r.Discrepancies = append(r.Discrepancies, Discrepancy{id, what})
}

// read reads the tables and the executions.
func (r *recount) read(ctx context.Context, b *server.Backend) (err error) {
	byKey := func(table, key string) map[string]item {
		out := map[string]item{}
		if err == nil {
			err = scan(ctx, b.DynamoDB, table, func(i item) { out[dynamo.Text(i, key)] = i })
		}

		return out
	}

	r.orders = map[string]item{}
	if err == nil {
		m := b.Orders.Mapping()
		err = scan(ctx, b.DynamoDB, b.Tables.Orders, func(i item) {
			if id, ofOrder := m.OrderOf(i); ofOrder && !strings.HasPrefix(string(id), StoredPrefix) {
				r.orders[string(id)] = fieldsOf(m, i)
			}
		})
	}
	r.effects = byKey(b.Tables.Once, "idempotencyKey")

	// A notification has a delivery for each endpoint. It counts as sent when all of these are delivered.
	r.sent = map[string]bool{}
	if err == nil {
		err = b.Deliveries.Scan(ctx, func(d notify.Delivery) bool {
			before, known := r.sent[d.Key]
			r.sent[d.Key] = d.Status == notify.Delivered && (before || !known)

			return true
		})
	}

	r.paid = byKey(b.Tables.Payments, "paymentId")
	r.stock = byKey(b.Tables.Inventory, "sku")
	r.shipped = map[string]item{}
	for key, row := range byKey(b.Tables.SandboxShipments, "pk") {
		if effect, ok := strings.CutPrefix(key, "shipment#"); ok {
			r.shipped[effect] = row
		}
	}

	r.journal = map[string][]item{}
	if err == nil {
		err = scan(ctx, b.DynamoDB, b.Tables.Events, func(i item) {
			if id := dynamo.Text(i, "orderId"); !strings.HasPrefix(id, StoredPrefix) {
				r.journal[id] = append(r.journal[id], i)
			}
		})
	}

	if err == nil {
		err = r.readExecutions(ctx, b)
	}

	return err
}

// fieldsOf returns the fields of an order's item under Ratchet's names. It reads the mapping by itself, so that the
// recount does not repeat a mistake of package transitions.
func fieldsOf(m transitions.Mapping, of item) item {
	fields := item{}
	for _, field := range m.Fields() {
		if v := of[cmp.Or(m.Attributes[field], m.Prefix+field)]; v != nil {
			fields[field] = v
		}
	}

	return fields
}

// scan calls fn with each item of the table.
func scan(ctx context.Context, db *dynamodb.Client, table string, fn func(item)) error {
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("scan %s: %w", table, err)
		}

		for _, i := range page.Items {
			fn(i)
		}
	}

	return nil
}

// readExecutions reads the status of every execution.
func (r *recount) readExecutions(ctx context.Context, b *server.Backend) error {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}

	r.endings = map[string]string{}
	pages := sfn.NewListExecutionsPaginator(b.SFN, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 1000})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}

		for _, e := range page.Executions {
			r.endings[aws.ToString(e.Name)] = string(e.Status)
		}
	}

	return nil
}

// checkJournal checks that the rows form a legal path to the order's state. It adds the effects that the
// transitions must have to wanted.
func (r *recount) checkJournal(id string, order item, wanted map[string]bool) {
	rows := r.journal[id]
	slices.SortFunc(rows, func(a, b item) int {
		return int(dynamo.Number(a, "transitionId") - dynamo.Number(b, "transitionId"))
	})

	state, last := "", int64(0)
	for _, row := range rows {
		r.Transitions++
		n, event, from, to := dynamo.Number(row, "transitionId"), dynamo.Text(row, "event"), dynamo.Text(row, "fromState"), dynamo.Text(row, "toState")
		if n != last+1 || dynamo.Number(row, "previousId") != last || from != state {
			r.wrong(id, fmt.Sprintf("journal: transition %d from %q follows transition %d in %q", n, from, last, state))
		}

		// The first transition places the order and has no earlier state.
		if legal, ok := workflow.Order().Next(workflow.State(from), workflow.Event(event)); n > 1 && (!ok || string(legal) != to) {
			r.wrong(id, fmt.Sprintf("journal: transition %d (%s from %s to %s) is not legal", n, event, from, to))
		}

		// The rules are written out and not taken from package reactions, so that the recount does not
		// repeat a mistake of that package.
		if to == string(workflow.PaymentReceived) && from == string(workflow.Pending) {
			wanted[fmt.Sprintf("%s/%s/%d/shipping", ids.Encode(id), dynamo.Text(order, "incarnation"), n)] = true
		}

		if to != from && slices.Contains([]string{"PAYMENT_RECEIVED", "PAYMENT_FAILED", "SHIPPED", "DELIVERED", "CANCELLED"}, to) {
			wanted[fmt.Sprintf("%s/%s/%d/notify", ids.Encode(id), dynamo.Text(order, "incarnation"), n)] = true
		}
		state, last = to, n
	}

	if state != dynamo.Text(order, "orderState") || last != dynamo.Number(order, "transitionId") {
		r.wrong(id, fmt.Sprintf("the journal ends in %q at %d, the order is %q at %d", state, last, dynamo.Text(order, "orderState"), dynamo.Number(order, "transitionId")))
	}
}

// checkEnding compares payment, stock and execution with the order's state.
func (r *recount) checkEnding(id string, order item) {
	state := dynamo.Text(order, "orderState")

	switch payment := r.paid[payments.IDForOrder(id+"."+dynamo.Text(order, "incarnation"))]; {
	case !slices.Contains([]string{"DELIVERED", "PAYMENT_FAILED", "CANCELLED"}, state):
		r.wrong(id, "ended as "+state)
	case state == "DELIVERED":
		total, _ := order["total"].(*types.AttributeValueMemberM)
		amount := dynamo.Number(total.Value, "amount")
		r.sales += amount
		r.checkMoney(id, payment, amount)
		r.checkReservation(id, dynamo.Text(order, "incarnation"), "COMMITTED")
	default:
		r.checkMoney(id, payment, 0)
		r.checkReservation(id, dynamo.Text(order, "incarnation"), "RELEASED")
	}

	if e := r.endings[executions.Name(transitions.OrderID(id))]; e != string(sfntypes.ExecutionStatusSucceeded) {
		r.wrong(id, fmt.Sprintf("its execution is %q", e))
	}
}

// checkMoney checks that the payment has ended and that the shop keeps the amount.
func (r *recount) checkMoney(id string, payment item, keeps int64) {
	kept := dynamo.Number(payment, "captured") - dynamo.Number(payment, "refunded")
	if kept != keeps || payment["pending"] != nil || dynamo.Number(payment, "capturable") != 0 {
		r.wrong(id, fmt.Sprintf("its payment is %q and keeps %d instead of %d", dynamo.Text(payment, "state"), kept, keeps))
	}
}

// checkLedger compares the accounts of orders with the sales.
func (r *recount) checkLedger(ctx context.Context, b *server.Backend) error {
	accounts := payments.AccountsForOrders("EUR")
	for id, want := range map[string]int64{accounts.Payer: -r.sales, accounts.Payee: r.sales} {
		a, _, err := b.Ledger.Account(ctx, id)
		if err != nil {
			return err
		}

		if a.Balance != want || a.Available != want {
			r.wrong(id, fmt.Sprintf("has %d, of which %d are available; orders for %d were delivered", a.Balance, a.Available, r.sales))
		}
	}

	return nil
}

func (r *recount) checkReservation(id, incarnation, want string) {
	if status := dynamo.Text(r.stock["order#"+id+"."+incarnation], "status"); status != want {
		r.wrong(id, fmt.Sprintf("its stock is %q instead of %q", status, want))
	}
}

// checkEffects compares the effects with the wanted ones.
func (r *recount) checkEffects(wanted map[string]bool) {
	for key := range wanted {
		id, _, _ := ids.Cut(key)
		key = r.newest(key)
		if dynamo.Text(r.effects[key], "status") != "COMPLETED" && !r.sent[key] {
			r.wrong(id, "effect "+key+" is missing")
		}

		if strings.HasSuffix(shipping.Unnumbered(key), "/shipping") && r.shipped[key] == nil {
			r.wrong(id, "shipment "+key+" was never booked")
		}
	}
	perOrder := map[string]int{}

	for key := range r.effects {
		// Keys without a slash are no effects: answers of the HTTP API, claims of callers, and locks.
		if id, _, isEffect := ids.Cut(key); isEffect && !wanted[shipping.Unnumbered(key)] {
			r.wrong(id, "effect "+key+" belongs to no transition")
		}
	}

	for key := range r.sent {
		id, _, _ := ids.Cut(key)
		if r.Notices++; !wanted[key] {
			r.wrong(id, "notification "+key+" belongs to no transition")
		}
	}

	for key, row := range r.shipped {
		id, _, _ := ids.Cut(key)

		if dynamo.Text(row, "orderId") == "" {
			continue // the shipment was canceled before it was booked
		}

		// The carrier has canceled it, and another one was booked in its place.
		if key != r.newest(shipping.Unnumbered(key)) && dynamo.Text(row, "status") == "CANCELED" {
			continue
		}

		r.Shipments++
		perOrder[id]++
		r.MostShipments = max(r.MostShipments, perOrder[id])
		if !wanted[shipping.Unnumbered(key)] {
			r.wrong(id, "shipment "+key+" belongs to no transition")
		}

		if perOrder[id] > 1 {
			r.wrong(id, "was shipped more than once")
		}
	}
}

// newest returns the key of the newest shipment that was booked under the effect key, and the effect key
// itself if there is none.
func (r *recount) newest(effect string) string {
	for number := 2; ; number++ {
		if r.shipped[shipping.Numbered(effect, number)] == nil {
			return shipping.Numbered(effect, number-1)
		}
	}
}

// checkNotices compares the number of notifications in the file or directory of the setting notify with
// the number of notification keys. A notification that was sent twice under its key counts once, as for
// a receiver that acts once per key. For other destinations it checks nothing.
func (r *recount) checkNotices(target string) error {
	kind, path, _ := strings.Cut(target, ":")
	sent := 0
	switch kind {
	case "dir":
		files, err := destination.NewDir(path)
		if err != nil {
			return err
		}

		if sent, err = files.Count(); err != nil {
			return err
		}
	case "file":
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		if sent, r.Repeats, err = countNotices(text); err != nil {
			return err
		}
	default:
		return nil
	}

	if sent != r.Notices {
		r.wrong("-", fmt.Sprintf("%s sent for %s that notify customers", plural.Of(sent, "notification"), plural.Of(r.Notices, "transition")))
	}

	return nil
}

// countNotices returns how many notifications with different keys the lines of a file have, and how many
// lines repeat a key.
func countNotices(lines []byte) (sent, repeats int, err error) {
	all, err := destination.ReadLines(lines)
	if err != nil {
		return 0, 0, err
	}

	keys := map[string]bool{}
	for _, n := range all {
		if keys[n.Key] {
			repeats++
		}
		keys[n.Key] = true
	}

	return len(keys), repeats, nil
}

// checkStock compares the stock of each SKU with its initial stock and with the committed reservations.
func (r *recount) checkStock(initial map[string]int64) {
	sold := map[string]int64{}
	for key, row := range r.stock {
		if !strings.HasPrefix(key, "order#") || dynamo.Text(row, "status") != "COMMITTED" {
			continue
		}

		lines, _ := row["lines"].(*types.AttributeValueMemberL)
		for _, l := range lines.Value {
			if m, ok := l.(*types.AttributeValueMemberM); ok {
				sold[dynamo.Text(m.Value, "sku")] += dynamo.Number(m.Value, "quantity")
			}
		}
	}

	for sku, began := range initial {
		row := r.stock[sku]
		available, reserved, committed := dynamo.Number(row, "available"), dynamo.Number(row, "reserved"), dynamo.Number(row, "committed")
		// Every order has ended, so no reservation is open.
		if available+reserved+committed != began || reserved != 0 || committed != sold[sku] {
			r.wrong(sku, fmt.Sprintf("stock: began with %d, has %d available, %d reserved, %d committed; %d were sold", began, available, reserved, committed, sold[sku]))
		}
	}
}
