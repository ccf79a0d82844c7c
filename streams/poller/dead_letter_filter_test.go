package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/deadletters"
	"ratchet/streams/store"
)

// storeLetter stores a dead letter of handler h.
func (w *testEnv) storeLetter(item string, sequence int, text string) {
	w.Helper()

	r := streams.Record{
		StreamARN: w.arn, ShardID: "s", SequenceNumber: strconv.Itoa(sequence), Handler: "h", Attempt: 1,
		Keys: dynamo.Item{"id": dynamo.S(item)}, New: dynamo.Item{"version": dynamo.N(int64(sequence))},
	}
	if err := (&deadletters.Table{API: w.db, Table: deadTable}).Store(w.Context(), r, errors.New(text), nil); err != nil {
		w.Fatal(err)
	}
}

// change sets an attribute of a dead letter's row.
func (w *testEnv) changeLetter(id, attribute string, set func(*dynamo.Update)) {
	w.Helper()

	update := dynamo.NewUpdate(deadTable, (&deadletters.Table{}).Key("h", id)).IfPresent(store.ID)
	set(update)

	if _, applied, err := store.Apply(w.Context(), w.db, update); err != nil || !applied {
		w.Fatalf("change %s of %s: %v", attribute, id, err)
	}
}

func TestADeadLetterThatCannotBeDecodedDoesNotHideTheOthers(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		for n := 1; n <= 3; n++ {
			w.storeLetter("o", n, "no")
		}
		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		broken := w.deadLetters("h")[1].ID
		w.changeLetter(broken, deadLetterRecord, func(u *dynamo.Update) { u.SetValue(deadLetterRecord, dynamo.S("{")) })

		letters := w.deadLetters("h")
		if len(letters) != 3 || letters[1].Unreadable == "" || letters[1].Error != "no" || letters[0].Unreadable+letters[2].Unreadable != "" {
			t.Errorf("letters %+v", letters)
		}

		if _, err := dead.Get(t.Context(), "h", broken); err == nil {
			t.Error("got a record that cannot be decoded")
		}

		if err := dead.Delete(t.Context(), "h", broken); err != nil || len(w.deadLetters("h")) != 2 {
			t.Errorf("delete: %v", err)
		}
	})
}

func TestManyDeadLettersAreRedrivenInTheOrderOfTheirItems(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.storeLetter("a", 1, "timeout")
		w.storeLetter("b", 2, "timeout")
		w.storeLetter("a", 3, "timeout")
		w.storeLetter("b", 4, "timeout")
		w.storeLetter("c", 5, "refused")
		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		var handled, results []string

		h := streams.Handler{Name: "h", Handle: func(_ context.Context, r streams.Record) error {
			handled = append(handled, dynamo.Text(r.Keys, "id")+r.SequenceNumber)
			if r.SequenceNumber == "2" {
				return errOutage
			}

			return nil
		}}

		err := dead.RedriveAll(t.Context(), h, deadletters.Filter{Error: "time"}, func(l deadletters.Letter, err error) {
			results = append(results, fmt.Sprint(l.Record.SequenceNumber, " ", err == nil, " ", errors.Is(err, deadletters.ErrEarlierFailed)))
		})
		if err != nil {
			t.Fatal(err)
		}

		// Items come one after the other, in no useful order.
		slices.Sort(handled)

		if got := fmt.Sprint(handled); got != "[a1 a3 b2]" {
			t.Errorf("handled %s", got)
		}
		slices.Sort(results)

		want := []string{"1 true false", "2 false false", "3 true false", "4 false true"}
		if !slices.Equal(results, want) {
			t.Errorf("results %v, want %v", results, want)
		}
	})
}

func TestAllReadsEveryPage(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		const letters = pageOfDeadLetters + 5
		for n := range letters {
			w.storeLetter("o", n+1, "no")
		}

		n := 0
		for _, err := range (deadletters.Letters{DynamoDB: w.db, Table: deadTable}).All(t.Context(), "h", deadletters.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}

		if n != letters {
			t.Errorf("%d dead letters, want %d", n, letters)
		}
	})
}

func TestDeadLettersExpireBeforeClaimsDo(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.storeLetter("o", 1, "no")
		l := w.deadLetters("h")[0]

		// Claims are kept for 30 days from the first attempt on, retries take three.
		if keep := l.ExpiresAt.Sub(l.FailedAt); keep > 30*24*time.Hour-calls.DefaultRetry.For || keep < 14*24*time.Hour {
			t.Errorf("kept for %v", keep)
		}

		w.changeLetter(l.ID, store.Expiry, func(u *dynamo.Update) {
			u.SetValue(store.Expiry, dynamo.Seconds(time.Now().Add(-time.Second)))
		})

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("listed after the end: %+v", letters)
		}

		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		if err := dead.Redrive(t.Context(), l.ID, streams.Handler{Name: "h"}); !errors.Is(err, deadletters.ErrNotFound) {
			t.Errorf("redriven after the end: %v", err)
		}

		// One whose time to live was taken away has no end.
		w.changeLetter(l.ID, store.Expiry, func(u *dynamo.Update) { u.RemoveAttribute(store.Expiry) })

		if letters := w.deadLetters("h"); len(letters) != 1 || !letters[0].ExpiresAt.IsZero() {
			t.Errorf("letters %+v", letters)
		}
	})
}
