package embedded

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestConsumedGetsWhatDynamoDBBills includes what answers do not report: failed conditions
// and canceled transactions.
func TestConsumedGetsWhatDynamoDBBills(t *testing.T) {
	var read, write float64
	f := open(t, func(c *Config) {
		c.Consumed = func(table string, r, w float64) {
			if table != "orders" {
				t.Errorf("table %q", table)
			}
			read, write = read+r, write+w
		}
	})
	f.table("orders", "id", "", "")
	table, absent := aws.String("orders"), aws.String("attribute_not_exists(id)")
	big := item{"id": str("big"), "v": str(strings.Repeat("x", 1500))} // two units
	// transact creates the item id if the item existing exists.
	transact := func(id, existing string) error {
		_, err := f.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("token-" + id), TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: table, Item: item{"id": str(id)}, ConditionExpression: absent}},
			{ConditionCheck: &types.ConditionCheck{TableName: table, Key: item{"id": str(existing)}, ConditionExpression: aws.String("attribute_exists(id)")}},
		}})

		return err
	}
	for _, c := range []struct {
		name        string
		call        func() error
		read, write float64
		fails       bool
	}{
		{"a put costs the size of the item", func() error {
			_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: big})
			return err
		}, 0, 2, false},
		{"a failed condition costs the size of the existing item", func() error {
			_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: item{"id": str("big")}, ConditionExpression: absent})
			return err
		}, 0, 2, true},
		{"a failed condition costs one unit if there is no item", func() error {
			_, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: table, Key: item{"id": str("none")}, ConditionExpression: aws.String("attribute_exists(id)")})
			return err
		}, 0, 1, true},
		{"an update costs the larger of the items before and after", func() error {
			_, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: table, Key: item{"id": str("big")}, UpdateExpression: aws.String("REMOVE v")})
			return err
		}, 0, 2, false},
		{"a consistent read costs a unit", func() error {
			_, err := f.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: table, Key: item{"id": str("big")}, ConsistentRead: aws.Bool(true)})
			return err
		}, 1, 0, false},
		{"an eventually consistent scan costs half a unit", func() error {
			_, err := f.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: table})
			return err
		}, 0.5, 0, false},
		{"a transaction costs double", func() error { return transact("new", "big") }, 0, 4, false},
		{"the replay of a transaction costs reads", func() error { return transact("new", "big") }, 4, 0, false},
		{"a canceled transaction costs as much as one that is made", func() error { return transact("big", "new") }, 0, 4, true},
		{"an invalid request costs nothing", func() error {
			_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: item{"v": str("x")}})
			return err
		}, 0, 0, true},
	} {
		read, write = 0, 0
		err := c.call()
		if (err != nil) != c.fails || read != c.read || write != c.write {
			t.Errorf("%s: %v read, %v written, want %v and %v; error %v", c.name, read, write, c.read, c.write, err)
		}
	}
}
