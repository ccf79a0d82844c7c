//go:build upgrade

package upgrade

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/server/scenario"
	"ratchet/streams/status"
	"ratchet/tests/program"
)

// perStage is how many orders each stage places.
const perStage = 40

// stage runs change while perStage further orders are placed. When change is called, a part of them is.
func (d *deployment) stage(n int, name string, change func(placed int)) {
	d.t.Helper()
	began := time.Now()

	placing := make(chan error, 1)
	go func() { placing <- d.load.place(d.ctx, n*perStage, (n+1)*perStage) }()

	change(n * perStage)

	if err := <-placing; err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	d.t.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
}

// TestTwoVersionsAtOnce upgrades a deployment that works, and takes the upgrade back. Orders are placed all the
// time, by clients that send every request to servers of both versions while both run. One worker after
// the other is killed or stopped, and one of the other version takes its place. Every order must reach its
// end with one shipment and one notification of each kind, and the books of every part must agree, as
// both versions count them.
func TestTwoVersionsAtOnce(t *testing.T) {
	old := buildEarlier(t)

	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()

	plan := scenario.Default(6 * perStage)
	d := newDeployment(ctx, t, old, plan)
	d.open()

	oldA, oldB := d.worker(d.old, "a"), d.worker(d.old, "b")
	oldServer, oldURL := d.api(d.old)
	d.load.use(oldURL)

	d.stage(0, "the earlier version", func(placed int) { d.untilPlaced(placed + perStage) })

	d.command(d.new, "init", "--requests-queue", requestsQueue)
	newServer, newURL := d.api(d.new)
	d.load.use(oldURL, newURL)

	var newC, newD, newE *program.Process
	d.stage(1, "both, one worker of the earlier version is killed", func(placed int) {
		d.exchange(oldURL, newURL)
		newC = d.worker(d.new, "c")
		d.rollShards()
		d.untilPlaced(placed + perStage/2)
		oldA.Kill(t)
		newD = d.worker(d.new, "d")
	})

	d.stage(2, "the earlier version goes", func(int) {
		d.rollShards()
		d.load.use(newURL)
		oldServer.Stop(t)
		oldB.Stop(t)
	})
	d.untilEnded("new-")

	oldServer, oldURL = d.api(d.old)
	d.load.use(newURL, oldURL)
	d.stage(3, "the earlier version comes back, and a worker of this one is killed", func(placed int) {
		oldA = d.worker(d.old, "a")
		d.exchange(newURL, oldURL)
		d.rollShards()
		d.untilPlaced(placed + perStage/2)
		newC.Kill(t)
		oldB = d.worker(d.old, "b")
	})

	d.stage(4, "only the earlier version", func(placed int) {
		d.load.use(oldURL)
		newServer.Kill(t)
		newD.Stop(t)
		d.rollShards()
		d.untilPlaced(placed + perStage)
	})
	d.untilEnded("old-")

	newServer, newURL = d.api(d.new)
	d.load.use(newURL, oldURL)
	d.stage(5, "this version again", func(placed int) {
		newE = d.worker(d.new, "e")
		d.untilPlaced(placed + perStage/2)
		oldA.Stop(t)
		oldB.Stop(t)
	})
	d.check()

	for _, p := range []*program.Process{newE, newServer, oldServer} {
		p.Stop(t)
	}
	d.checkLogs()
}

// untilEnded waits until every execution has ended and the stream is handled, and checks that workers of
// one version only have the leases.
func (d *deployment) untilEnded(version string) {
	d.t.Helper()
	began := time.Now()

	if err := scenario.Wait(d.ctx, d.look); err != nil {
		d.t.Fatal(err)
	}

	var stream status.Status
	until(d.ctx, d.t, "workers "+version+"* to hold all leases", func() bool {
		stream = d.stream()
		return len(stream.Workers) > 0 && !slices.ContainsFunc(stream.Shards, func(shard status.ShardStatus) bool {
			return shard.Open && (shard.State != status.ShardHeld || !strings.HasPrefix(shard.Owner, version))
		})
	})
	d.t.Logf("%s* alone: %s, the shards %d and %d finished ones", version, time.Since(began).Round(time.Millisecond), len(stream.Shards), stream.Finished)
}
