package audit

import (
	"context"
	"time"
)

// BeginAt is Begin at another time.
func (l *Log) BeginAt(ctx context.Context, e Entry, at time.Time) (*Act, error) {
	return l.begin(ctx, e, at.UTC())
}
