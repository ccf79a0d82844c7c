package poller

import (
	"context"
	"fmt"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// groupCount keeps count of the groups that read a stream.
type groupCount struct {
	cfg    *Config
	stream string // ARN
	log    worker.LogThrottle
}

// run notes once per interval that this group reads the stream, until ctx ends.
func (c *groupCount) run(ctx context.Context) {
	for {
		err := c.check(ctx)
		if err != nil && ctx.Err() == nil {
			c.cfg.Events.Fault("Groups", "", err)

			if c.log.Allow() {
				c.cfg.Log.Warn("counting the groups that read the stream", "stream", c.stream, "err", err)
			}
		}

		if !worker.Wait(ctx, c.cfg.discoverEvery) {
			return
		}
	}
}

// check notes that this group reads the stream. It returns ErrTooManyGroups if more than two groups
// read the stream.
func (c *groupCount) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lineage.CallTimeout)
	defer cancel()

	now, name := c.cfg.clock.Now(), c.cfg.Group
	if name == "" {
		name = leases.DefaultGroupRow
	}

	rows := &leases.Table{API: c.cfg.DynamoDB, Table: c.cfg.LeaseTable, Stream: leases.GroupRowsPrefix + c.stream}
	if _, _, err := store.Apply(ctx, rows.API, rows.Update(name).SetValue(leases.GroupSeenAt, dynamo.Millis(now))); err != nil {
		return fmt.Errorf("streams: note the group %q: %w", c.cfg.Group, err)
	}

	// A throttled worker may not write its note in every interval, so a group counts as gone only
	// after three intervals.
	recent := now.Add(-max(leases.GroupSeenFactor*c.cfg.discoverEvery, leases.GroupSeenAtLeast))

	groups, err := leases.RecentGroups(ctx, rows.API, rows.Table, c.stream, recent)
	if err != nil {
		return err
	}

	if len(groups) > leases.GroupsPerStream {
		return fmt.Errorf("%w: %v", streams.ErrTooManyGroups, groups)
	}

	return nil
}
