package replay

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// The row of a Rebuild's position in the lease table, under "rebuilds/" and the table's key;
// the sort key is the Rebuild's name.
const (
	rebuildRowsPrefix = "rebuilds/"
	rebuildRun        = "run" // token of the run that has the position
	rebuildPosition   = "position"
	rebuildDoneAt     = "doneAt"
)

// stored returns the counts that the row has, by attribute.
func (c *RebuildCount) stored() map[string]*int {
	return map[string]*int{
		"items":    &c.Items,
		"failed":   &c.Failed,
		"lost":     &c.Lost,
		"versions": &c.Versions,
		"queued":   &c.Queued,
		"refused":  &c.Refused,
	}
}

// rebuildCursor is the position of a running Rebuild.
type rebuildCursor struct {
	rows     *leases.Table
	name     string
	run      string
	dryRun   bool
	position dynamo.Item // of the last item that was read, nil at the start
	count    RebuildCount
}

// openCursor continues at the position of a run that ended early, or begins at the first item. An
// earlier run that is still running ends at its next store. A dry run has no position.
func (r Rebuild) openCursor(ctx context.Context) (*rebuildCursor, error) {
	c := &rebuildCursor{
		rows:   &leases.Table{API: r.Queue.DynamoDB, Table: r.Queue.LeaseTable, Stream: rebuildRowsPrefix + store.GroupKey(r.Queue.Group, r.Queue.TableName)},
		name:   r.Name,
		run:    rand.Text(),
		dryRun: r.DryRun,
	}
	if r.DryRun {
		return c, nil
	}

	// A position of a newer format is not taken over.
	update := store.IfFormat(c.rows.Update(c.name), store.PositionFormat).
		Set("#"+store.Format+" = :format").
		SetValue(rebuildRun, dynamo.S(c.run))

	// The condition fails only for a newer format, and then store.CheckFormat returns an error for the
	// same row.
	row, _, err := store.Apply(ctx, c.rows.API, update)
	if err == nil {
		err = store.CheckFormat(row, store.PositionFormat, "its row in the lease table")
	}

	if err != nil {
		return nil, fmt.Errorf("streams: read the position of rebuild %s: %w", c.name, err)
	}

	position, _ := row[rebuildPosition].(*ddbtypes.AttributeValueMemberM)
	if r.Restart || position == nil || row[rebuildDoneAt] != nil {
		return c, nil
	}

	c.position = position.Value
	c.count.Resumed = true

	for name, count := range c.count.stored() {
		*count = int(dynamo.Number(row, name))
	}

	return c, nil
}

// store stores the position, nil at the end. It returns ErrTakenOver if another run has called
// openCursor.
func (c *rebuildCursor) store(ctx context.Context, position dynamo.Item) error {
	if c.dryRun {
		return nil
	}

	// Only the token of the newest run matches, so an older run ends at its next page.
	update := c.rows.Update(c.name).IfEquals(rebuildRun, dynamo.S(c.run))
	for name, count := range c.count.stored() {
		update.SetValue(name, dynamo.N(int64(*count)))
	}

	if len(position) == 0 {
		update.SetValue(rebuildDoneAt, dynamo.Millis(time.Now())).RemoveAttribute(rebuildPosition)
	} else {
		update.SetValue(rebuildPosition, dynamo.M(position)).RemoveAttribute(rebuildDoneAt)
	}

	_, applied, err := store.Apply(ctx, c.rows.API, update)
	switch {
	case err != nil:
		return fmt.Errorf("streams: store the position of rebuild %s: %w", c.name, err)
	case !applied:
		return ErrTakenOver
	}

	return nil
}
