package poller

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams"
	"ratchet/streams/lineage"
)

func TestAReplacedStreamIsReadToItsEndBeforeTheNewOne(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := newRecorder()
		p := w.start(w.config(l.handle))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		w.stopped(p)
		w.write("o-0", 2)
		w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(false)})
		w.setStream(bothImages())

		if next := w.latestStream(); next == w.arn {
			t.Fatal("the stream was not replaced")
		}
		w.write("o-0", 3)
		p = w.start(w.config(l.handle, func(c *Config) { c.Start = streams.Latest }))
		w.until("both streams are handled", func() bool { return l.count() == 3 })
		w.stopped(p)
		l.ordered(t, 1, 3)

		if current, err := lineage.CurrentStream(context.Background(), w.db, leasesTable, ordersTable); err != nil || current == w.arn {
			t.Errorf("current stream %s, %v", current, err)
		}
	})
}

func TestANamedStreamEnds(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(l.handle, func(c *Config) { c.TableName, c.StreamARN = "", w.arn }))
		w.write("o-0", 1)
		w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(false)})
		w.ended(p)

		if err := p.stop(); !errors.Is(err, streams.ErrStreamEnded) {
			t.Errorf("Run: %v", err)
		}

		if l.count() != 1 {
			t.Errorf("%d records handled before the end", l.count())
		}
	})
}
