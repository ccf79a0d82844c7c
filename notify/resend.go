package notify

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// ErrPending means that the delivery is PENDING, so it cannot be sent again.
var ErrPending = errors.New("the delivery is under way")

// Get returns the delivery with the id ORDER/INCARNATION/TRANSITION/ENDPOINT, or ErrNotFound.
func (d *Deliveries) Get(ctx context.Context, id string) (Delivery, error) {
	key, err := parseID(id)
	if err != nil {
		return Delivery{}, err
	}

	delivery, found, err := d.records.get(ctx, key)
	if err == nil && !found {
		err = fmt.Errorf("delivery %s: %w", id, ErrNotFound)
	}

	return delivery, err
}

// OfOrder returns the deliveries of an order by endpoint and transition.
func (d *Deliveries) OfOrder(ctx context.Context, order string) ([]Delivery, error) {
	return d.records.ofOrder(ctx, order, "")
}

// position is the position at which a list continues.
type position struct {
	Shard int               `json:"s"`
	Key   map[string]string `json:"k,omitempty"` // the keys of the index and of the table
	Due   int64             `json:"d,omitempty"`
}

// maxList is the largest limit of a list.
const maxList = 1000

// List returns up to limit deliveries to an endpoint with the status PENDING or MISSED, and the
// position of the next page, "" at the end. A PENDING delivery must be due at since or later; the
// transition of a MISSED delivery must be at since or later. The deliveries are sorted by that time
// within each of the queue's four parts. List reads no other deliveries. DELIVERED and SKIPPED
// deliveries are in no queue; see [Deliveries.OfOrder] and [Deliveries.Scan].
func (d *Deliveries) List(ctx context.Context, endpoint string, status Status, since time.Time, after string, limit int) (found []Delivery, next string, err error) {
	at, err := checkList(endpoint, status, after, limit)
	if err != nil {
		return nil, "", err
	}

	for ; at.Shard < queueShards; at = (position{Shard: at.Shard + 1}) {
		for {
			page, last, err := d.records.queued(ctx, queueName(endpoint, status, at.Shard), since, at.item(), limit-len(found))
			if err != nil {
				return nil, "", err
			}
			found = append(found, page...)

			if len(last) == 0 {
				break
			}

			if at = positionOf(at.Shard, last); len(found) >= limit {
				return found, at.encode(), nil
			}
		}

		// The shard ended exactly at the limit: the next page begins with the next shard.
		if len(found) >= limit && at.Shard+1 < queueShards {
			return found, position{Shard: at.Shard + 1}.encode(), nil
		}
	}

	return found, "", nil
}

func checkList(endpoint string, status Status, after string, limit int) (at position, err error) {
	if err := checkID(endpoint); err != nil {
		return at, err
	}

	if status != Pending && status != Missed {
		return at, fmt.Errorf("%w: status %q: PENDING or MISSED", ErrInvalid, status)
	}

	if limit < 1 || limit > maxList {
		return at, fmt.Errorf("%w: limit %d: 1 to %d", ErrInvalid, limit, maxList)
	}

	return decodePosition(after)
}

func positionOf(shard int, last dynamo.Item) position {
	p := position{Shard: shard, Key: map[string]string{}, Due: dynamo.Number(last, deliveryDue)}
	for _, name := range []string{deliveryOrder, deliveryName, deliveryQueue} {
		p.Key[name] = dynamo.Text(last, name)
	}

	return p
}

func (p position) item() dynamo.Item {
	if len(p.Key) == 0 {
		return nil
	}

	item := dynamo.Item{deliveryDue: dynamo.N(p.Due)}
	for name, value := range p.Key {
		item[name] = dynamo.S(value)
	}

	return item
}

func (p position) encode() string {
	text, _ := json.Marshal(p) // strings and numbers do not fail

	return base64.RawURLEncoding.EncodeToString(text)
}

func decodePosition(text string) (p position, err error) {
	if text == "" {
		return p, nil
	}

	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}

	if err != nil || p.Shard < 0 || p.Shard >= queueShards {
		return p, fmt.Errorf("%w: after: not the position of a list", ErrInvalid)
	}

	return p, nil
}

// Scan calls fn with every delivery, until fn returns false. It reads the whole table.
func (d *Deliveries) Scan(ctx context.Context, fn func(Delivery) bool) error {
	pages := dynamodb.NewScanPaginator(d.cfg.DynamoDB, &dynamodb.ScanInput{TableName: &d.cfg.Table, ConsistentRead: aws.Bool(true)})
	for now := d.clock.Now(); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("scan the deliveries: %w", err)
		}

		for _, item := range page.Items {
			if !dynamo.HasExpired(item, DeliveryExpiryAttribute, now) && !fn(decodeDelivery(item)) {
				return nil
			}
		}
	}

	return nil
}

// Resend sends an ended delivery again, under the same key and with a new schedule. It returns
// ErrPending if the delivery has not ended, ErrDisabled if its endpoint is disabled, and ErrNotFound if
// there is no such delivery, or if its endpoint was removed.
func (d *Deliveries) Resend(ctx context.Context, id string) (Delivery, error) {
	return d.resendUnless(ctx, id, func(Delivery) bool { return false })
}

// ResendFrom is Resend for a caller that has seen the delivery before, with the number of resends.
// If it has been sent again since, ResendFrom does nothing and succeeds.
func (d *Deliveries) ResendFrom(ctx context.Context, id string, resends int) (Delivery, error) {
	return d.resendUnless(ctx, id, func(delivery Delivery) bool { return delivery.Resends > resends })
}

func (d *Deliveries) resendUnless(ctx context.Context, id string, happened func(Delivery) bool) (Delivery, error) {
	for range changeRounds {
		delivery, err := d.Get(ctx, id)
		switch {
		case err != nil:
			return Delivery{}, err
		case happened(delivery):
			return delivery, nil
		case !delivery.ended():
			return delivery, fmt.Errorf("resend %s: %w", id, ErrPending)
		}

		// If the endpoint is removed or disabled after this read, the workers end the delivery.
		e, err := d.activeEndpoint(ctx, delivery.Endpoint)
		switch {
		case err != nil:
			return delivery, fmt.Errorf("resend %s: %w", id, err)
		case !e.owns(delivery):
			return delivery, fmt.Errorf("resend %s: endpoint %s of this delivery: %w: %s", id, e.ID, ErrNotFound, reasonReplaced)
		}
		delivery.generation = e.generation

		// If it was not stored, a worker or another call has changed the delivery, which is read
		// again.
		if stored, err := d.resend(ctx, &delivery); err != nil || stored {
			return delivery, err
		}
	}

	return Delivery{}, fmt.Errorf("resend %s: %w", id, ErrContended)
}

// activeEndpoint returns the endpoint, or why nothing may be sent to it.
func (d *Deliveries) activeEndpoint(ctx context.Context, id string) (Endpoint, error) {
	e, err := d.cfg.Endpoints.receiver(ctx, id)
	if err == nil && e.Status != Active {
		err = fmt.Errorf("endpoint %s: %w", id, ErrDisabled)
	}

	return e, err
}

func (d *Deliveries) resend(ctx context.Context, delivery *Delivery) (bool, error) {
	again := *delivery
	// Attempts is 0 again, so the whole schedule applies once more.
	again.Status, again.Attempts, again.NextTry = Pending, 0, d.clock.Now().UTC()
	again.Resends++

	stored, err := d.records.store(ctx, delivery, again)
	if stored {
		d.lookAt(delivery.Endpoint, again.NextTry)
	}

	return stored, err
}

// Test sends a message of type "ratchet.test" to an endpoint, once and without a record. It returns
// the endpoint's answer.
func (d *Deliveries) Test(ctx context.Context, endpoint string) (Answer, error) {
	e, err := d.cfg.Endpoints.Get(ctx, endpoint)
	if err != nil {
		return Answer{}, err
	}

	destination, err := d.cfg.Open(e.signing(d.clock.Now()))
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = closeDestination(destination) }() // only the answer counts

	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()

	answer, err := destination.Send(ctx, testMessage(time.Now().UTC()))
	answer.Text = redact(e, answer.Text)

	return answer, redactError(e, err)
}

// testMessage is the message of a test. It has the same body in every format.
func testMessage(now time.Time) Message {
	id := "test_" + rand.Text()
	m := Message{
		Notification: Notification{Key: "test/0/" + id, OrderID: "test", State: "TEST", At: now},
		ID:           id,
		Type:         testType,
		ContentType:  "application/json",
		Attempt:      1,
	}
	m.Body, _ = json.Marshal(standardBody{testType, now, map[string]string{"message": "A test of this endpoint by Ratchet."}}) // texts do not fail

	return m
}

const testType = "ratchet.test"
