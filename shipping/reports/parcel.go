package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
)

// Parcel is a parcel of an order, as the carrier's reports have noted it.
type Parcel struct {
	ID string `json:"parcelId"`
	// LeftAt is when its report was taken.
	LeftAt time.Time `json:"leftAt"`
	// Delivered and Returned say that a report of that was noted, too.
	Delivered bool `json:"delivered,omitempty"`
	Returned  bool `json:"returned,omitempty"`
}

// Parcels returns the parcels of this life of the order that reports of the carrier have named, by their ids. An
// order has at most 100. One query of the order's rows.
func (d *Receiver) Parcels(ctx context.Context, order *transitions.Order) (parcels []Parcel, err error) {
	life := dynamo.Text(parcelsRow(order, ""), sortKey)

	var noted notes
	in := d.pageOf(parcelsPartition(order.ID), erasePage)
	in.KeyConditionExpression = aws.String(partitionKey + " = :p AND begins_with(" + sortKey + ", :life)")
	in.ExpressionAttributeValues[":life"] = dynamo.S(life)

	for pages := dynamodb.NewQueryPaginator(d.cfg.DynamoDB, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the parcels of order %s: %w", order.ID, err)
		}

		for _, row := range page.Items {
			name := strings.TrimPrefix(dynamo.Text(row, sortKey), life)
			id, is := strings.CutPrefix(name, "lines/")

			switch {
			case dynamo.HasExpired(row, ExpiryAttribute, d.now()):
			case is:
				parcels = append(parcels, Parcel{ID: id, LeftAt: dynamo.Time(row, "leftAt")})
			case name == "-":
				noted = decodeNotes(row)
			}
		}
	}

	for i := range parcels {
		parcels[i].Delivered = slices.Contains(noted.delivered, parcels[i].ID)
		parcels[i].Returned = slices.Contains(noted.returned, parcels[i].ID)
	}

	return parcels, nil
}
