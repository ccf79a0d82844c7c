//go:build upgrade

package upgrade

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/server/scenario"
	"ratchet/streams"
	"ratchet/tests/program"
)

// perStage is how many orders each stage places.
const perStage = 40

// stage runs change while perStage further orders are placed. When change is called, a part of them is.
func (s *shop) stage(n int, name string, change func(placed int)) {
	s.t.Helper()
	began := time.Now()

	placing := make(chan error, 1)
	go func() { placing <- s.load.place(s.ctx, n*perStage, (n+1)*perStage) }()

	change(n * perStage)

	if err := <-placing; err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	s.t.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
}

// TestTwoVersionsAtOnce upgrades a shop that works, and takes the upgrade back. Orders are placed all the
// time, by clients that send every request to servers of both versions while both run. One worker after
// the other is killed or stopped, and one of the other version takes its place. Every order must reach its
// end with one shipment and one notification of each kind, and the books of every part must agree, as
// both versions count them.
func TestTwoVersionsAtOnce(t *testing.T) {
	old := buildEarlier(t)

	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()

	plan := scenario.Default(6 * perStage)
	s := newShop(ctx, t, old, plan)
	s.open()

	oldA, oldB := s.worker(s.old, "a"), s.worker(s.old, "b")
	oldServer, oldURL := s.api(s.old)
	s.load.use(oldURL)

	s.stage(0, "the earlier version", func(placed int) { s.untilPlaced(placed + perStage) })

	s.command(s.new, "init", "--requests-queue", requestsQueue)
	newServer, newURL := s.api(s.new)
	s.load.use(oldURL, newURL)

	var newC, newD, newE *program.Process
	s.stage(1, "both, one worker of the earlier version is killed", func(placed int) {
		s.exchange(oldURL, newURL)
		newC = s.worker(s.new, "c")
		s.rollShards()
		s.untilPlaced(placed + perStage/2)
		oldA.Kill(t)
		newD = s.worker(s.new, "d")
	})

	s.stage(2, "the earlier version goes", func(int) {
		s.rollShards()
		s.load.use(newURL)
		oldServer.Stop(t)
		oldB.Stop(t)
	})
	s.untilEnded("new-")

	oldServer, oldURL = s.api(s.old)
	s.load.use(newURL, oldURL)
	s.stage(3, "the earlier version comes back, and a worker of this one is killed", func(placed int) {
		oldA = s.worker(s.old, "a")
		s.exchange(newURL, oldURL)
		s.rollShards()
		s.untilPlaced(placed + perStage/2)
		newC.Kill(t)
		oldB = s.worker(s.old, "b")
	})

	s.stage(4, "only the earlier version", func(placed int) {
		s.load.use(oldURL)
		newServer.Kill(t)
		newD.Stop(t)
		s.rollShards()
		s.untilPlaced(placed + perStage)
	})
	s.untilEnded("old-")

	newServer, newURL = s.api(s.new)
	s.load.use(newURL, oldURL)
	s.stage(5, "this version again", func(placed int) {
		newE = s.worker(s.new, "e")
		s.untilPlaced(placed + perStage/2)
		oldA.Stop(t)
		oldB.Stop(t)
	})
	s.check()

	for _, p := range []*program.Process{newE, newServer, oldServer} {
		p.Stop(t)
	}
	s.checkLogs()
}

// untilEnded waits until every execution has ended and the stream is handled, and checks that workers of
// one version only have the leases.
func (s *shop) untilEnded(version string) {
	s.t.Helper()
	began := time.Now()

	if err := scenario.Wait(s.ctx, s.look); err != nil {
		s.t.Fatal(err)
	}

	var status streams.Status
	until(s.ctx, s.t, "workers "+version+"* to hold all leases", func() bool {
		status = s.stream()
		return len(status.Workers) > 0 && !slices.ContainsFunc(status.Shards, func(shard streams.ShardStatus) bool {
			return shard.Open && (shard.State != streams.ShardHeld || !strings.HasPrefix(shard.Owner, version))
		})
	})
	s.t.Logf("%s* alone: %s, the shards %d and %d finished ones", version, time.Since(began).Round(time.Millisecond), len(status.Shards), status.Finished)
}
