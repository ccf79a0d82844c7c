package reports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
)

// waitingShards share the writes of waiting reports.
const waitingShards = 8

func waitingShard(name string) string {
	return "waiting#" + strconv.Itoa(dynamo.Shard(name, waitingShards))
}

func rowKey(partition, name string) dynamo.Item {
	return dynamo.Item{partitionKey: dynamo.S(partition), sortKey: dynamo.S(name)}
}

// namesOf returns the names that the row of a report may have: its id, or, because a carrier may use
// an id again, its id and a digest. The first free name counts. An id has no space.
func namesOf(r shipping.Report) [2]string {
	return [2]string{r.ID, r.ID + " " + about(r)}
}

// about is a digest of the fields that repeats of a report have in common.
func about(r shipping.Report) string {
	text, err := json.Marshal([]string{r.Shipment, r.OrderID, string(r.Milestone), r.Parcel})
	if err != nil {
		panic(err) // texts can be written as JSON
	}
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:12])
}

// repeats reports whether two reports with one id say the same. A carrier that uses an id again for
// something else gets another answer.
func repeats(r, s shipping.Report) bool {
	return r.Shipment == s.Shipment && r.OrderID == s.OrderID && r.Milestone == s.Milestone && r.Parcel == s.Parcel
}

// isFree is the condition that a row may be written for a report: there is none, it has expired, or it
// is about the same.
const isFree = "attribute_not_exists(" + partitionKey + ") OR " + ExpiryAttribute + " <= :seconds OR about = :about"

// put writes the row of a report under the first of its names that is free. Content is an attribute
// of the row and its value; set sets the others.
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
		// Every row under the second name has the same digest, so that name is always free.
		if _, taken := dynamo.FailedCondition(err); !taken {
			break
		}
	}

	return err
}
