package due

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ratchet/internal/dynamo"
)

// rowOf draws a row, with any text as subject and detail.
func rowOf(t *rapid.T) Row {
	revision := ""
	if rapid.Bool().Draw(t, "revised") {
		revision = fmt.Sprint(rapid.Int64Range(0, 1<<62).Draw(t, "revision"))
	}

	return Row{
		Kind:    rapid.StringMatching(`[a-z]{1,12}`).Draw(t, "kind"),
		At:      time.UnixMilli(rapid.Int64Range(0, 253_402_300_799_999).Draw(t, "at")).UTC(),
		Subject: rapid.String().Draw(t, "subject"), Detail: rapid.String().Draw(t, "detail"),
		Attempts: rapid.IntRange(0, 100).Draw(t, "attempts"), Revision: revision,
	}
}

func TestARowIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rowOf(t)

		got, ok := parse(want.item())
		got.read = nil

		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %t, want %+v", got, ok, want)
		}
	})
}

// TestKeysSortByTime: whatever the subjects are. Rows of different subjects have different keys.
func TestKeysSortByTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rowOf(t), rowOf(t)
		x, y := dynamo.Text(a.key(), timeKey), dynamo.Text(b.key(), timeKey)

		if a.At.Before(b.At) != (x < y) && !a.At.Equal(b.At) {
			t.Errorf("%s at %s, %s at %s", x, a.At, y, b.At)
		}

		if a.Kind == b.Kind && x == y && (a.Subject != b.Subject || a.Detail != b.Detail) {
			t.Errorf("%+v and %+v have one key", a, b)
		}
	})
}

func TestOtherItemsAreNoRows(t *testing.T) {
	for _, key := range []string{"", "#", "a#b", "000000000000001#a", "000000000000001#a#b#c", "x#a#b"} {
		if row, ok := parse(dynamo.Item{shardKey: dynamo.S("k#1"), timeKey: dynamo.S(key)}); ok {
			t.Errorf("%q is read as %+v", key, row)
		}

		if IsNext(key) != (key == "") {
			t.Errorf("%q may be the Next of a sweep: %t", key, IsNext(key))
		}
	}
}

// TestWaitsGrowUpToTheLongest: and two sweeps that postpone a row at about the same time choose one moment.
func TestWaitsGrowUpToTheLongest(t *testing.T) {
	table := &Table{First: time.Minute, Most: time.Hour}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	for attempts, want := range map[int]time.Duration{0: time.Minute, 1: 2 * time.Minute, 5: 32 * time.Minute, 6: time.Hour, 1000: time.Hour} {
		at := table.postponed(now.Add(time.Millisecond), attempts)
		if wait := at.Sub(now); wait != want {
			t.Errorf("after %d attempts: %s, want %s", attempts, wait, want)
		}

		if again := table.postponed(now.Add(want/grid-time.Millisecond), attempts); !again.Equal(at) {
			t.Errorf("after %d attempts: %s and %s", attempts, at, again)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("k#1", "000001700000000#a#b")
	f.Add("", "~#~0#~1")

	f.Fuzz(func(t *testing.T, shard, key string) {
		row, ok := parse(dynamo.Item{shardKey: dynamo.S(shard), timeKey: dynamo.S(key)})
		if ok && (dynamo.Text(row.key(), timeKey) != key || !IsNext(key)) {
			t.Errorf("%q is %+v", key, row)
		}
	})
}
