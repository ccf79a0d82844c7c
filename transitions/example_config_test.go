package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
)

// What an order remembers of its edits is bounded by their number and their age, and a call by the number of
// its writes.
func ExampleConfig() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(transitions.Mapping{}.OrdersTable("orders"))
	defer closeAll()

	wire := embeddedtest.Intercept(&cfg)
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

	orders, err := transitions.New(transitions.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Table: "orders",
		Attempts:   2,
		EditMemory: 4,
		EditAge:    24 * time.Hour,
		Now:        func() time.Time { return now },
	})
	if err != nil {
		panic(err)
	}

	if _, err := orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
		panic(err)
	}

	note := func(about string, id transitions.RequestID) {
		result, err := orders.AddNote(ctx, transitions.Edit{OrderID: "o-1", EventID: id}, transitions.Note{Text: "called back"})
		if err != nil {
			fmt.Println(about, errors.Is(err, transitions.ErrOutcomeUnknown))
			return
		}

		fmt.Println(about, result.Verdict, len(result.Order.Notes))
	}

	for _, id := range []transitions.RequestID{"a", "b", "c", "d", "e"} {
		note("new:", id)
	}

	note("one of the newest three:", "c")
	note("forgotten for its number:", "a")

	now = now.Add(25 * time.Hour)

	note("the next edit forgets by age:", "f")
	note("forgotten for its age:", "e")

	wire.Inject(embeddedtest.LoseAnswer("UpdateItem").Next(2))
	note("no answer to two writes, unknown:", "g")
	note("sent again:", "g")
	// Output:
	// new: Applied 1
	// new: Applied 2
	// new: Applied 3
	// new: Applied 4
	// new: Applied 5
	// one of the newest three: Replayed 5
	// forgotten for its number: Applied 6
	// the next edit forgets by age: Applied 7
	// forgotten for its age: Applied 8
	// no answer to two writes, unknown: true
	// sent again: Replayed 9
}
