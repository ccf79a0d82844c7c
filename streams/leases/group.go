package leases

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

const (
	// The groups that read a stream have rows under "groups/" and the stream's ARN.
	GroupRowsPrefix  = "groups/"
	DefaultGroupRow  = "#default"
	GroupSeenAt      = "seenAt"
	GroupsPerStream  = 2
	GroupSeenFactor  = 3 // a group that was not seen for this many intervals counts as gone
	GroupSeenAtLeast = time.Minute
)

// Readers returns the names of the groups whose workers have noted in the last minute that they
// read the stream, "#default" for the group "". Other readers, such as Lambda functions, are not
// known. A group notes it about once a minute, so a group that reads the stream may be missing for
// a moment. Readers changes nothing.
func Readers(ctx context.Context, client store.Querier, leaseTable, streamARN string) ([]string, error) {
	return RecentGroups(ctx, client, leaseTable, streamARN, time.Now().Add(-GroupSeenAtLeast))
}

// RecentGroups returns the groups that have noted after since that they read the stream.
func RecentGroups(ctx context.Context, client store.Querier, table, stream string, since time.Time) ([]string, error) {
	rows, err := readRows(ctx, client, table, GroupRowsPrefix+stream)
	if err != nil {
		return nil, fmt.Errorf("streams: read the groups of %s: %w", stream, err)
	}

	groups := []string{}
	for _, row := range rows {
		if dynamo.Time(row, GroupSeenAt).After(since) {
			groups = append(groups, dynamo.Text(row, ShardKey))
		}
	}

	return groups, nil
}
