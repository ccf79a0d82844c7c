package poller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams"
)

func TestConfigFaultsNameTheFieldAndTheRule(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		nop := func(context.Context, streams.Record) error { return nil }

		for _, c := range []struct {
			edit func(*Config)
			want string
		}{
			{
				edit: func(c *Config) { c.Streams = nil },
				want: "streams: Config.Streams and Config.DynamoDB must be set",
			},
			{
				edit: func(c *Config) { c.TableName = "" },
				want: "streams: exactly one of Config.TableName and Config.StreamARN must be set",
			},
			{
				edit: func(c *Config) { c.DeadLetterTable = "" },
				want: "streams: Config.LeaseTable and Config.DeadLetterTable must be set",
			},
			{
				edit: func(c *Config) { c.Handlers = nil },
				want: "streams: Config.Handlers is empty",
			},
			{
				edit: func(c *Config) { c.Handlers = append(c.Handlers, c.Handlers[0]) },
				want: `streams: two handlers are named "h"`,
			},
			{
				edit: func(c *Config) { c.Handlers = []streams.Handler{{Name: "h"}} },
				want: "streams: handler 0 needs a Name and either a Handle or a Batch with one",
			},
			{
				edit: func(c *Config) { c.Handlers[0].Timeout = -time.Second },
				want: "streams: handler 0: Timeout is -1s, want more than 0",
			},
			{
				edit: func(c *Config) { c.LeaseDuration = time.Millisecond },
				want: "streams: Config.LeaseDuration is 1ms, want at least 100ms",
			},
			{
				edit: func(c *Config) { c.Concurrency = -1 },
				want: "streams: Config.Concurrency is -1, want at least 1",
			},
			{
				edit: func(c *Config) { c.Retry.Max = -time.Second },
				want: "streams: Config.Retry.Max is -1s, want more than 0",
			},
		} {
			if _, err := New(w.config(nop, c.edit)); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		}
	})
}

func TestAllConfigFaultsAreReportedAtOnce(t *testing.T) {
	_, err := New(Config{Concurrency: -1, DrainTimeout: -1})
	if err == nil {
		t.Fatal("an empty configuration was accepted")
	}

	for _, field := range []string{"Streams", "TableName", "LeaseTable", "Concurrency", "DrainTimeout", "Handlers"} {
		if !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%v: want a fault of %s", err, field)
		}
	}
}

func TestRunReportsATableWithoutAStream(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		nop := func(context.Context, streams.Record) error { return nil }
		p := w.start(w.config(nop, func(c *Config) { c.TableName = leasesTable }))
		w.ended(p)

		if err := p.stop(); !errors.Is(err, streams.ErrNoStream) || err.Error() != "streams: table has no stream: leases" {
			t.Errorf("Run: %v", err)
		}

		p = w.start(w.config(nop, func(c *Config) { c.TableName = "nowhere" }))
		w.ended(p)

		var missing *ddbtypes.ResourceNotFoundException
		if err := p.stop(); !errors.As(err, &missing) {
			t.Errorf("Run: %v, want a ResourceNotFoundException", err)
		}
	})
}
