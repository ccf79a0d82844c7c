package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// errDeliveryMoved says that workers have changed a delivery between each read and write of an
// erasure.
var errDeliveryMoved = errors.New("the delivery changed during every attempt; retry later")

// eraseAttempts bounds the attempts for a delivery that workers keep changing.
const eraseAttempts = 10

// Erase removes personal data from the deliveries of an order: the attributes of their
// notifications, the cause except its code and source, and the answers of far sides. Deliveries
// that are PENDING are still made, with the id, the state, the event and the times. An attempt that
// runs at the same time may send the whole notification; its outcome is stored without texts of the far
// side. Expired deliveries that are not deleted yet are changed, too. Erase returns how many deliveries it has changed; a repeat changes none.
func (d *Deliveries) Erase(ctx context.Context, order string) (changed int, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &d.records.table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#order = :order"),
		ExpressionAttributeNames:  map[string]string{"#order": deliveryOrder},
		ExpressionAttributeValues: dynamo.Item{":order": dynamo.S(order)},
	}

	for pages := dynamodb.NewQueryPaginator(d.records.api, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return changed, fmt.Errorf("read the deliveries of order %s: %w", order, err)
		}

		for _, item := range page.Items {
			erased, err := d.records.erase(ctx, item)
			if err != nil {
				return changed, err
			}

			if erased {
				changed++
			}
		}
	}

	return changed, nil
}

// erase removes the person from one delivery. If a worker has changed the delivery since item was
// read, erase reads it again. It reports false if the delivery has no personal data or does not
// exist any more.
func (r records) erase(ctx context.Context, item dynamo.Item) (bool, error) {
	d := decodeDelivery(item)

	for range eraseAttempts {
		next := d
		next.Attributes, next.Response, next.Error, next.Tries = nil, "", "", nil
		next.Cause = d.Cause.WithoutPerson()

		// The delivery has no personal data, for example because it was erased before.
		if len(d.Attributes) == 0 && d.Response+d.Error == "" && d.Cause == next.Cause && !d.hasHeads() {
			return false, nil
		}

		done, err := r.write(ctx, &d, next, func(u *dynamo.Update) {
			for _, name := range []string{deliveryAttributes, deliveryResponse, deliveryError} {
				u.RemoveAttribute(name)
			}

			for n := range mostTries {
				u.RemoveAttribute(tryAttribute(n))
			}

			if cause := next.encode(r.clock.Now())[deliveryCause]; cause != nil {
				u.SetValue(deliveryCause, cause)
			} else {
				u.RemoveAttribute(deliveryCause)
			}
		})
		if err != nil || done {
			return done, err
		}

		// A worker has written the delivery since it was read, and may have stored a new answer.
		out, err := r.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &r.table, Key: d.itemKey(), ConsistentRead: aws.Bool(true)})
		if err != nil || len(out.Item) == 0 {
			return false, err
		}
		d = decodeDelivery(out.Item)
	}

	return false, fmt.Errorf("erase the person of delivery %s: %w", d.ID(), errDeliveryMoved)
}

// hasHeads reports whether the delivery has beginnings of answers.
func (d Delivery) hasHeads() bool {
	return slices.ContainsFunc(d.Tries, func(t Try) bool { return t.Head != "" })
}
