package server_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/operate/processes"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
)

// TestEachQuestionIsAnsweredAboutItsOwner: what the commands find is found, and each tenant has what is its own: of orders, of effects and
// of claims.
func TestEachQuestionIsAnsweredAboutItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
		b, ctx := env.Backend, t.Context()
		env.Go("questions", b.Questions.Run)

		for _, id := range []transitions.OrderID{"o-1", "acme:o-2"} {
			if _, err := b.Orders.Create(ctx, transitions.NewOrder{
				ID: id, Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 1}}, Total: transitions.Money{Amount: 1, Currency: "EUR"},
			}); err != nil {
				t.Fatal(err)
			}
		}

		// Another program moves one of them.
		if _, err := b.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &b.Tables.Orders, Key: map[string]types.AttributeValue{"orderId": dynamo.S("acme:o-2")},
			UpdateExpression: aws.String("SET #s = :s"), ExpressionAttributeNames: map[string]string{"#s": "orderState"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":s": dynamo.S("ON_HOLD")},
		}); err != nil {
			t.Fatal(err)
		}

		for _, key := range []string{"claim#k-1", "claim#acme:k-2", "acme:o-2/a/2/shipping", "o-1/a/2/shipping", "of-a-program"} {
			if _, err := b.Claims.Claim(ctx, key, nil); err != nil {
				t.Fatal(err)
			}
		}

		time.Sleep(time.Hour) // leases have ended, and the orders should have executions

		answer := func(owner, name string) (processes.Question, []processes.Finding) {
			t.Helper()

			if _, err := b.Questions.Ask(ctx, owner, name, "key:ann"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()

			for range 600 { // permissions are tried with pauses
				if q, err := b.Questions.Get(ctx, owner, name); err != nil || !q.EndedAt.IsZero() {
					break
				}
				time.Sleep(time.Second)
			}

			q, err := b.Questions.Get(ctx, owner, name)
			if err != nil || q.Answer == nil {
				t.Fatalf("%s of %q: %+v, %v", name, owner, q, err)
			}

			found, err := b.Questions.Findings(ctx, owner, q)
			if err != nil {
				t.Fatal(err)
			}

			return q, found
		}
		subjects := func(found []processes.Finding) string {
			var all []string
			for _, f := range found {
				all = append(all, f.Subject+" "+f.Kind)
			}
			slices.Sort(all)

			return strings.Join(all, ", ")
		}

		for _, row := range []struct {
			owner, name, found string
			count              string
			n                  int64
		}{
			{"", "verify", "", "orders", 1},
			{"acme", "verify", "acme:o-2 moved", "mismatched", 1},
			{"other", "verify", "", "orders", 0},
			{"", "survey", "o-1 missing", "orders", 2},
			{"acme", "survey", "acme:o-2 missing", "missing", 1},
			{"other", "survey", "", "missing", 0},
			{"acme", "unsettled", "acme:k-2 in_progress, acme:o-2 in_progress", "in_progress", 2},
			{"", "unsettled", "k-1 in_progress, o-1 in_progress, of-a-program in_progress", "in_progress", 3},
			{"other", "unsettled", "", "in_progress", 0},
		} {
			q, found := answer(row.owner, row.name)
			if got := subjects(found); got != row.found || q.Answer.Counts[row.count] != row.n || q.Answer.Found != int64(len(found)) {
				t.Errorf("%s of %q: %q, %+v", row.name, row.owner, got, q.Answer)
			}

			for _, f := range found {
				if f.Next == "" {
					t.Errorf("%s of %q says no next step: %+v", row.name, row.owner, f)
				}
			}
		}

		// The survey of the default tenant is the count that all see.
		if survey, known, err := b.Processes.NewestSurvey(ctx); err != nil || !known || survey.Orders != 2 || survey.Stuck["missing"] != 2 {
			t.Errorf("%+v, %t, %v", survey, known, err)
		}

		if q, found := answer("", "plan"); q.Answer.Counts["version"] != int64(b.Orders.Definition().Version()) || found[0].Kind != "workers" || found[0].Text != "no process of this program runs" {
			t.Errorf("%+v: %+v", q.Answer, found)
		}

		if q, found := answer("", "doctor"); q.Answer.Counts["checks"] < 10 || q.Answer.Counts["ok"] < 5 || q.Answer.Counts["checks"] != q.Answer.Counts["ok"]+int64(len(found)) {
			t.Errorf("%+v: %+v", q.Answer, found)
		}
	})
}
