package ledger

import (
	"context"
	"hash/maphash"
	"slices"
)

// lanes let the calls of one process that touch the same account go one after the
// other instead of making each other's conditions fail. They decide nothing: other
// processes have lanes of their own, and DynamoDB decides between all.
type lanes struct {
	seed  maphash.Seed
	gates [1024]chan struct{} // accounts share gates
}

func newLanes() (l lanes) {
	l.seed = maphash.MakeSeed()
	for i := range l.gates {
		l.gates[i] = make(chan struct{}, 1)
	}

	return l
}

// enter waits for the gates of all keys, in one order for everybody, and returns what
// leaves them.
func (l *lanes) enter(ctx context.Context, keys []string) (leave func(), err error) {
	all := make([]int, len(keys))
	for i, k := range keys {
		all[i] = int(maphash.String(l.seed, k) % uint64(len(l.gates)))
	}
	slices.Sort(all)

	all = slices.Compact(all)
	entered := 0
	leave = func() {
		for _, i := range all[:entered] {
			<-l.gates[i]
		}
	}
	for _, i := range all {
		select {
		case l.gates[i] <- struct{}{}:
			entered++
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}

	return leave, nil
}
