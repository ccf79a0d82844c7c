package poller

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
)

// TestARewrittenDeadLetterLeavesNothingOfTheRecord: neither in its row nor in the rows of its parts. It
// can be redriven.
func TestARewrittenDeadLetterLeavesNothingOfTheRecord(t *testing.T) {
	const secret = "Ada Byron"

	for name, padding := range map[string]string{"inline": "", "in parts": strings.Repeat("x", maxInlineRecord)} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				r := streams.Record{
					StreamARN: w.arn, ShardID: "s", SequenceNumber: "7", EventName: streams.Modify, Handler: "h", Attempt: 1,
					Keys: dynamo.Item{"id": dynamo.S("o-1")}, Old: dynamo.Item{"name": dynamo.S(secret + padding)},
				}
				if err := (&deadletters.Table{API: w.db, Table: deadTable}).Store(t.Context(), r, errors.New("no "+secret), nil); err != nil {
					t.Fatal(err)
				}

				letters := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
				id := w.deadLetters("h")[0].ID
				forget := func(r *streams.Record) { r.Old = dynamo.Item{"name": dynamo.S(padding)} }

				if err := letters.Rewrite(t.Context(), "h", id, "erased", forget); err != nil {
					t.Fatal(err)
				}

				got, err := letters.Get(t.Context(), "h", id)
				if err != nil || got.Error != "erased" || dynamo.Text(got.Record.Old, "name") != padding || got.Record.SequenceNumber != "7" {
					t.Errorf("%q, %v", got.Error, err)
				}

				out, err := w.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(deadTable)})
				if want := 1 + min(1, len(padding)); err != nil || len(out.Items) != want {
					t.Errorf("%d rows, want %d: %v", len(out.Items), want, err)
				}

				for _, row := range out.Items {
					if strings.Contains(dynamo.Text(row, deadLetterRecord), secret) {
						t.Error("the record is still there")
					}
				}

				again := streams.Handler{Name: "h", Handle: func(context.Context, streams.Record) error { return nil }}
				if err := letters.Redrive(t.Context(), id, again); err != nil {
					t.Errorf("redrive: %v", err)
				}

				if err := letters.Rewrite(t.Context(), "h", id, "erased", forget); !errors.Is(err, deadletters.ErrNotFound) {
					t.Errorf("of none: %v", err)
				}
			})
		})
	}
}

func TestADeadLetterIsNotRewrittenWhileItIsRedriven(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.storeLetter("o", 1, "no")
		letters := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		id := w.deadLetters("h")[0].ID

		h := streams.Handler{Name: "h", Handle: func(ctx context.Context, _ streams.Record) error {
			if err := letters.Rewrite(ctx, "h", id, "erased", func(*streams.Record) {}); !errors.Is(err, deadletters.ErrRedriving) {
				t.Errorf("during a redrive: %v", err)
			}

			return nil
		}}
		if err := letters.Redrive(t.Context(), id, h); err != nil {
			t.Fatal(err)
		}
	})
}
