package embedded

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestTheBillHasWhatAnswersDoNotTell: Config.Consumed is told what DynamoDB charges,
// failed conditions and cancelled transactions included.
func TestTheBillHasWhatAnswersDoNotTell(t *testing.T) {
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
	// transact creates one item while another is there.
	transact := func(id, there string) error {
		_, err := f.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("token-" + id), TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: table, Item: item{"id": str(id)}, ConditionExpression: absent}},
			{ConditionCheck: &types.ConditionCheck{TableName: table, Key: item{"id": str(there)}, ConditionExpression: aws.String("attribute_exists(id)")}},
		}})

		return err
	}
	for _, c := range []struct {
		name        string
		call        func() error
		read, write float64
		fails       bool
	}{
		{"a put", func() error {
			_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: big})
			return err
		}, 0, 2, false},
		{"a failed condition, by the item that is there", func() error {
			_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: item{"id": str("big")}, ConditionExpression: absent})
			return err
		}, 0, 2, true},
		{"a failed condition where no item is", func() error {
			_, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: table, Key: item{"id": str("none")}, ConditionExpression: aws.String("attribute_exists(id)")})
			return err
		}, 0, 1, true},
		{"an update that makes the item smaller", func() error {
			_, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: table, Key: item{"id": str("big")}, UpdateExpression: aws.String("REMOVE v")})
			return err
		}, 0, 2, false},
		{"a consistent read", func() error {
			_, err := f.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: table, Key: item{"id": str("big")}, ConsistentRead: aws.Bool(true)})
			return err
		}, 1, 0, false},
		{"a scan", func() error {
			_, err := f.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: table})
			return err
		}, 0.5, 0, false},
		{"a transaction, twice", func() error { return transact("new", "big") }, 0, 4, false},
		{"its replay, in reads", func() error { return transact("new", "big") }, 4, 0, false},
		{"a cancelled transaction, like a made one", func() error { return transact("big", "new") }, 0, 4, true},
		{"what the service refuses to look at", func() error {
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
