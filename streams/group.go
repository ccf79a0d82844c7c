package streams

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// ErrTooManyGroups is passed to Events.Fault while more than two groups read a stream: the service
// allows two readers for each shard and throttles more than two.
var ErrTooManyGroups = errors.New("streams: more than two groups read the stream")

// groupPrefix begins the names under which a group stores its rows.
const groupPrefix = "group/"

const (
	// The groups that read a stream have rows under "groups/" and the stream's ARN.
	groupRowsPrefix  = "groups/"
	defaultGroupRow  = "#default"
	groupSeenAt      = "seenAt"
	groupsPerStream  = 2
	groupSeenFactor  = 3 // a group that was not seen for this many intervals counts as gone
	groupSeenAtLeast = time.Minute
)

var groupName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// groupKey returns the name under which a group stores the rows of a stream, a table or a handler:
// for the group "" the name itself. readLeases and currentStream take this name and not the
// stream's ARN or the table's name.
func groupKey(group, name string) string {
	if group == "" {
		return name
	}

	return groupPrefix + group + "/" + name
}

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
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	now, name := c.cfg.clock.Now(), c.cfg.Group
	if name == "" {
		name = defaultGroupRow
	}

	rows := &leaseTable{api: c.cfg.DynamoDB, table: c.cfg.LeaseTable, stream: groupRowsPrefix + c.stream}
	if _, _, err := applyUpdate(ctx, rows.api, rows.update(name).SetValue(groupSeenAt, dynamo.Millis(now))); err != nil {
		return fmt.Errorf("streams: note the group %q: %w", c.cfg.Group, err)
	}

	// A throttled worker may not write its note in every interval, so a group counts as gone only
	// after three intervals.
	recent := now.Add(-max(groupSeenFactor*c.cfg.discoverEvery, groupSeenAtLeast))

	groups, err := recentGroups(ctx, rows.api, rows.table, c.stream, recent)
	if err != nil {
		return err
	}

	if len(groups) > groupsPerStream {
		return fmt.Errorf("%w: %v", ErrTooManyGroups, groups)
	}

	return nil
}

// Readers returns the names of the groups whose workers have noted in the last minute that they
// read the stream, "#default" for the group "". Other readers, such as Lambda functions, are not
// known. A group notes it about once a minute, so a group that reads the stream may be missing for
// a moment. Readers changes nothing.
func Readers(ctx context.Context, client queryAPI, leaseTable, streamARN string) ([]string, error) {
	return recentGroups(ctx, client, leaseTable, streamARN, time.Now().Add(-groupSeenAtLeast))
}

// recentGroups returns the groups that have noted after since that they read the stream.
func recentGroups(ctx context.Context, client queryAPI, table, stream string, since time.Time) ([]string, error) {
	rows, err := queryRows(ctx, client, table, groupRowsPrefix+stream)
	if err != nil {
		return nil, fmt.Errorf("streams: read the groups of %s: %w", stream, err)
	}

	groups := []string{}
	for _, row := range rows {
		if dynamo.Time(row, groupSeenAt).After(since) {
			groups = append(groups, dynamo.Text(row, leaseShard))
		}
	}

	return groups, nil
}
