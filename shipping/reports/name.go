package reports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
)

// waitingShards share the writes of waiting reports.
const waitingShards = 8

// waitingShard returns the partition of a waiting report. All of an order's are in one.
func waitingShard(name string) string {
	order, _, _ := strings.Cut(name, orderEnd)

	return "waiting#" + strconv.Itoa(dynamo.Shard(order, waitingShards))
}

// orderEnd stands behind the order's id in the name of a report. An order's id has none.
const orderEnd = "/"

func rowKey(partition, name string) dynamo.Item {
	return dynamo.Item{partitionKey: dynamo.S(partition), sortKey: dynamo.S(name)}
}

// namesOf returns the two names that the row of a report may have: the ids of its order and its own, or these, a
// space and a digest, because a carrier may use an id again. The row gets the first name that is free. An id
// has no space, so the two kinds of names differ.
func namesOf(r shipping.Report) [2]string {
	name := r.OrderID + orderEnd + r.ID

	return [2]string{name, name + " " + about(r)}
}

// about is a digest of the fields that are equal in all repeats of a report, see repeats.
func about(r shipping.Report) string {
	text, err := json.Marshal([]string{r.Shipment, r.OrderID, string(r.Milestone), r.Parcel})
	if err != nil {
		panic(err) // texts can be written as JSON
	}
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:12])
}

// repeats reports whether two reports with one id are about the same, so that one is a repeat of the
// other.
func repeats(r, s shipping.Report) bool {
	return r.Shipment == s.Shipment && r.OrderID == s.OrderID && r.Milestone == s.Milestone && r.Parcel == s.Parcel
}

// isFree is the condition under which the row of a report is written: there is no row, the row has
// expired, or it is about the same.
const isFree = "attribute_not_exists(" + partitionKey + ") OR " + ExpiryAttribute + " <= :seconds OR about = :about"

// put writes the row of a report under the first of its names that is free. It sets the attribute
// content to value; set sets the other attributes.
func (d *Receiver) put(ctx context.Context, r shipping.Report, partition func(name string) string, content string, value types.AttributeValue, set func(*dynamo.Update)) error {
	var err error

	for _, name := range namesOf(r) {
		update := dynamo.NewUpdate(d.cfg.Table, rowKey(partition(name), name)).
			If(isFree).
			Alias("#content", content).
			Bind(":content", value).
			Bind(":about", dynamo.S(about(r))).
			Bind(":seconds", dynamo.Seconds(d.now())).
			Set("#content = :content").
			Set("about = :about")
		set(update)

		_, err = d.cfg.DynamoDB.UpdateItem(ctx, update.Input())
		// The second name contains the digest, so a row with this name is about the same: the name is
		// always free.
		if _, taken := dynamo.FailedCondition(err); !taken {
			break
		}
	}

	return err
}
