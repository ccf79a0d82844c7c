package poller

import (
	"cmp"
	"context"
	"fmt"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// countGroups notes once per interval that this group reads the stream, until ctx ends.
func (c *coordinator) countGroups(ctx context.Context) {
	var log worker.LogThrottle
	for {
		err := c.checkGroups(ctx)
		if err != nil && ctx.Err() == nil {
			c.cfg.Events.Fault("Groups", "", err)

			if log.Allow() {
				c.cfg.Log.Warn("counting the groups that read the stream", "stream", c.stream.Arn, "err", err)
			}
		}

		if !worker.Wait(ctx, c.cfg.discoverEvery) {
			return
		}
	}
}

// checkGroups notes that this group reads the stream. It returns ErrTooManyGroups if more than two groups
// read the stream.
func (c *coordinator) checkGroups(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lineage.CallTimeout)
	defer cancel()

	now, name := c.cfg.clock.Now(), cmp.Or(c.cfg.Group, leases.DefaultGroupRow)
	rows := &leases.Table{API: c.cfg.DynamoDB, Table: c.cfg.LeaseTable, Stream: leases.GroupRowsPrefix + c.stream.Arn}

	if _, _, err := store.Apply(ctx, rows.API, rows.Update(name).SetValue(leases.GroupSeenAt, dynamo.Millis(now))); err != nil {
		return fmt.Errorf("streams: note the group %q: %w", c.cfg.Group, err)
	}

	// A throttled worker may not write its note in every interval, so a group counts as gone only
	// after three intervals.
	recent := now.Add(-max(leases.GroupSeenFactor*c.cfg.discoverEvery, leases.GroupSeenAtLeast))

	groups, err := leases.RecentGroups(ctx, rows.API, rows.Table, c.stream.Arn, recent)
	if err != nil {
		return err
	}

	if len(groups) > leases.GroupsPerStream {
		return fmt.Errorf("%w: %v", streams.ErrTooManyGroups, groups)
	}

	return nil
}
