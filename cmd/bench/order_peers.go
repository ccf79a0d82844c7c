package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"ratchet/internal/worker"
	"ratchet/notify/webhooks"
)

// orderSystem is a system whose program runs the same order: reserve one of forty SKUs, charge, book, wait for two callbacks, and
// tell the customer three times.
type orderSystem struct {
	name string
	// command returns the program over the directory. It prints a line that begins with ready when it takes orders.
	ready   string
	command func(ctx context.Context, dir string, far *farSides) (*exec.Cmd, error)
	// fill sets the stock of a SKU, place places an order: both may be repeated.
	fill  func(ctx context.Context, client *http.Client, sku string) error
	place func(ctx context.Context, client *http.Client, id, sku string) error
	// report returns how the carrier reports.
	report func(client *http.Client) func(ctx context.Context, p parcel, milestone string) error
}

const (
	peerSKUs = 40
	// peerOrders is how many orders a run has.
	peerOrders = 1000
)

// benchOrderPeers runs the same orders on Ratchet and on Restate, each as the processes that a user would start, in turns.
// Then it kills all processes of each in the middle of a run, starts them again and counts what the far sides have seen. Last it
// runs orders on Ratchet and Temporal.
func benchOrderPeers(ctx context.Context, work size) (figures []figure, err error) {
	ours, err := ratchetSystem(ctx)
	if err != nil {
		return nil, err
	}

	node, err := restateSystem(ctx, "restate", "set", "run")
	if err != nil {
		return nil, fmt.Errorf("restate (needs Node, npm and its registry): %w", err)
	}

	golang, err := restateGoSystem(ctx)
	if err != nil {
		return nil, fmt.Errorf("restate's Go SDK: %w", err)
	}

	orders := peerOrders
	if work.short() {
		orders = 100
	}

	for _, running := range []int{64, 160} {
		for _, theirs := range []*orderSystem{node, golang} {
			more, err := comparePeers(ctx, ours, theirs, max(work.rounds, 1), orders, running)
			if figures = append(figures, more...); err != nil {
				return figures, err
			}
		}
	}

	for _, system := range []*orderSystem{ours, node, golang} {
		run, err := runOrders(ctx, system, orders/2, 64, true)
		if err != nil {
			return figures, fmt.Errorf("%s, killed: %w", system.name, err)
		}

		figures = append(figures,
			figure{name: "peer_lost_after_kill_" + system.name, value: float64(orders/2 - run.seen.ended), about: "orders without their three notices two minutes after kill -9 of all processes in the middle, and their start"},
			figure{name: "peer_doubled_after_kill_" + system.name, value: float64(run.seen.doubled), about: "charges and parcels of one order under two keys"},
			figure{name: "peer_repeats_after_kill_" + system.name, value: float64(run.seen.repeats), about: "requests to bank, carrier and receiver under a key that they had seen"})
	}

	// Its build takes minutes.
	if work.short() {
		return figures, nil
	}

	temporal, err := temporalSystem(ctx)
	if err != nil {
		return figures, fmt.Errorf("temporal: %w", err)
	}

	// Fewer: it is some ten times slower.
	more, err := comparePeers(ctx, ours, temporal, work.rounds, orders/4, 64)

	return append(figures, more...), err
}

// comparePeers runs orders on two systems in turns.
func comparePeers(ctx context.Context, ours, theirs *orderSystem, rounds, orders, running int) ([]figure, error) {
	var runs [2][]peerRun
	for range rounds {
		for i, system := range []*orderSystem{ours, theirs} {
			run, err := runOrders(ctx, system, orders, running, false)
			if err != nil {
				return nil, fmt.Errorf("%s, %d at a time: %w", system.name, running, err)
			}
			runs[i] = append(runs[i], run)
		}
	}

	of := func(system int, value func(peerRun) float64) (all []float64) {
		for _, run := range runs[system] {
			all = append(all, value(run))
		}

		return all
	}
	rate := func(run peerRun) float64 { return run.rate }

	suffix := fmt.Sprintf("_%d", running)
	figures := []figure{{
		name: "orders_vs_" + theirs.name + suffix, value: ratio(of(0, rate), of(1, rate)),
		about: fmt.Sprintf("orders per second, per those of %s: %d orders, %d at a time, stock, bank, carrier, two callbacks, three webhooks", theirs.name, orders, running),
	}}

	for i, system := range []*orderSystem{ours, theirs} {
		beside := "_" + system.name + "_beside_" + theirs.name + suffix
		figures = append(figures,
			figure{name: "peer_orders_per_second" + beside, value: median(of(i, rate)), unit: "1/s"},
			figure{name: "peer_order_cpu_ms" + beside, value: 1000 * median(of(i, func(run peerRun) float64 { return run.cpu })), unit: "ms", about: "processor time of all processes of the system, for an order"},
			figure{name: "peer_order_written_kb" + beside, value: median(of(i, func(run peerRun) float64 { return run.written })) / 1000, unit: "KB", about: "that these processes made the disk write, for an order; none in memory"},
			figure{name: "peer_order_stored_kb" + beside, value: median(of(i, func(run peerRun) float64 { return run.stored })) / 1000, unit: "KB", about: "by which the data grew, logs and their reserved room included, for an order"},
			figure{name: "peer_order_flushes" + beside, value: median(of(i, func(run peerRun) float64 { return run.flushes })), about: "of the machine's disks, for an order; other programs' syncs count, too"},
			figure{name: "peer_order_connections" + beside, value: median(of(i, func(run peerRun) float64 { return run.connections })), about: "that were opened to the bank, the carrier and the receiver, for an order"})
	}

	return figures, nil
}

// peerRun is what a run has shown.
type peerRun struct {
	rate float64
	// For an order: processor time in seconds, bytes that the disk wrote, bytes by which the data grew, flushes of the disk, and
	// connections to the far sides.
	cpu, written, stored, flushes, connections float64
	seen                                       farCount
}

// runOrders runs orders on a new system, so many at a time. With kill, all its processes are killed in the middle and started
// again.
func runOrders(ctx context.Context, system *orderSystem, orders, running int, kill bool) (run peerRun, err error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return run, err
	}
	defer os.RemoveAll(dir)

	far := newFarSides()
	defer far.close()

	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	far.report = system.report(client)

	p, err := startSystem(ctx, system, dir, far)
	if err != nil {
		return run, err
	}
	defer func() { p.kill() }()

	for i := range peerSKUs {
		if err := system.fill(ctx, client, peerSKU(i)); err != nil {
			return run, err
		}
	}

	// The first orders open connections and compile what is compiled late.
	if err := placeAll(ctx, system, far, client, "w-", 32, 16); err != nil {
		return run, err
	}

	before, flushes, stored, connections := p.use(), diskFlushes(), folderSize(dir), far.connections.Load()
	began := time.Now()

	ended := make(chan error, 1)
	go func() { ended <- placeAll(ctx, system, far, client, "o-", orders, running) }()

	if kill {
		for far.count().ended < 32+orders/2 {
			if !worker.Wait(ctx, 10*time.Millisecond) {
				return run, context.Cause(ctx)
			}
		}
		p.kill()

		if p, err = startSystem(ctx, system, dir, far); err != nil {
			return run, errors.Join(err, <-ended)
		}
	}

	if err := <-ended; err != nil && !kill {
		return run, err
	}

	took, used := time.Since(began), p.use().since(before)
	each := func(n int64) float64 { return float64(n) / float64(orders) }
	run = peerRun{
		rate: float64(orders) / took.Seconds(), cpu: used.cpu.Seconds() / float64(orders),
		written: each(used.written), stored: each(folderSize(dir) - stored), flushes: each(diskFlushes() - flushes),
		connections: each(far.connections.Load() - connections), seen: far.count(),
	}
	run.seen.ended -= 32

	return run, nil
}

func peerSKU(i int) string { return fmt.Sprintf("mug-%02d", i%peerSKUs) }

// placeAll places orders and waits for the end of each, so many at a time.
func placeAll(ctx context.Context, system *orderSystem, far *farSides, client *http.Client, prefix string, orders, running int) error {
	return share(ctx, running, orders, func(ctx context.Context, i int) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()

		id := fmt.Sprintf("%s%d", prefix, i)
		// While the system is down, the customer tries again.
		for {
			err := system.place(ctx, client, id, peerSKU(i))
			if err == nil {
				break
			}

			if !worker.Wait(ctx, 100*time.Millisecond) {
				return errors.Join(err, context.Cause(ctx))
			}
		}

		if err := far.await(ctx, id); err != nil {
			return fmt.Errorf("order %s: %w", id, err)
		}

		return nil
	})
}

// systemProcess is the running program of a system, with the processes that it has started.
type systemProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser // which the program reads to its end
	ending sync.Once
}

// startSystem starts the program in a group of its own and waits until it is ready.
func startSystem(ctx context.Context, system *orderSystem, dir string, far *farSides) (*systemProcess, error) {
	cmd, err := system.command(ctx, dir, far)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// As the ratchet command sets it for itself: Go's collector runs as often in every Go program of a comparison.
	cmd.Env = append(cmd.Environ(), "GOGC=400")

	var said strings.Builder
	cmd.Stderr = &said

	p := &systemProcess{cmd: cmd}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := cmd.Start(); err != nil {
		return nil, err
	}

	// A program that neither says it nor ends is ended.
	late := time.AfterFunc(time.Minute, p.kill)
	defer late.Stop()

	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), system.ready) {
			go func() { _, _ = io.Copy(io.Discard, out) }() // what it prints later
			return p, nil
		}
	}
	p.kill()

	return nil, fmt.Errorf("%s did not say that it is ready: %.2000s", system.name, said.String())
}

// kill ends all processes of the group with SIGKILL.
func (p *systemProcess) kill() {
	p.ending.Do(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		_ = p.cmd.Wait() // "signal: killed"
	})
}

// use returns what the processes of the group have used.
func (p *systemProcess) use() processUse { return useOfGroup(p.cmd.Process.Pid) }

// ratchetSystem is Ratchet as examples/bank, whose bank is reached over HTTP, by `dev`.
func ratchetSystem(ctx context.Context) (*orderSystem, error) {
	program, err := filepath.Abs(".cache/order-peer")
	if err != nil {
		return nil, err
	}

	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./examples/bank")
	if err := prepare("go builds examples/bank below .cache", build); err != nil {
		return nil, err
	}

	listen, err := freeAddress()
	if err != nil {
		return nil, err
	}

	apiListen, err := freeAddress()
	if err != nil {
		return nil, err
	}
	api := "http://" + apiListen

	secret := webhooks.NewSecret()

	signer, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	if err != nil {
		return nil, err
	}

	return &orderSystem{
		name:  "ratchet",
		ready: "Ratchet is running",
		command: func(ctx context.Context, dir string, far *farSides) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, program, "dev", "--data", filepath.Join(dir, "data"), "--listen", listen, "--api-listen", apiListen)
			cmd.Env = append(os.Environ(), "BANK_URL="+far.URL+"/bank", "BANK_TOKEN=bench",
				"RATCHET_CARRIER="+far.URL+"/carrier", "RATCHET_CARRIER_TOKEN=bench", "RATCHET_CARRIER_SECRET="+secret.Reveal(),
				"RATCHET_NOTIFY="+far.URL+"/hooks", "RATCHET_WEBHOOK_SECRET="+secret.Reveal(), "RATCHET_ADMIN_LISTEN=off")

			return cmd, nil
		},
		fill: func(ctx context.Context, client *http.Client, sku string) error {
			return ask(ctx, client, http.MethodPut, api+"/v1/inventory/"+sku, map[string]int{"available": 1_000_000_000}, http.Header{"Ratchet-Reason": {"bench"}}, http.StatusOK)
		},
		place: func(ctx context.Context, client *http.Client, id, sku string) error {
			order := map[string]any{
				"items": []any{map[string]any{"sku": sku, "quantity": 1, "price": 1250}},
				"total": map[string]any{"amount": 1250, "currency": "EUR"},
			}

			return ask(ctx, client, http.MethodPut, api+"/v1/orders/"+id, order, nil, http.StatusOK, http.StatusCreated)
		},
		report: func(client *http.Client) func(context.Context, parcel, string) error {
			return func(ctx context.Context, p parcel, milestone string) error {
				return reportSigned(ctx, client, signer, api, p, milestone)
			}
		},
	}, nil
}

// reportSigned sends a report to Ratchet. A report that waits for its order is taken, too.
func reportSigned(ctx context.Context, client *http.Client, signer *webhooks.Keys, api string, p parcel, milestone string) error {
	id := p.OrderID + "/" + milestone
	body := fmt.Sprintf(`{"type":"shipment.%[3]s","timestamp":%[4]q,"data":{"id":%[1]q,"shipment":%[2]q,"orderId":%[5]q,"milestone":%[3]q}}`,
		id, strings.ReplaceAll(p.key, "~", "/"), milestone, time.Now().UTC().Format(time.RFC3339), p.OrderID)

	header, err := signer.Sign("rep_"+strings.ReplaceAll(id, "/", "_"), []byte(body))
	if err != nil {
		return err
	}

	got, err := send(ctx, client, http.MethodPost, api+"/v1/callbacks/carrier", []byte(body), header)
	if err == nil && got.status != http.StatusOK {
		err = fmt.Errorf("report %s: %d: %s", id, got.status, got.body)
	}

	return err
}

// restateGoSystem is Restate's server with cmd/bench/peers/restatego.
func restateGoSystem(ctx context.Context) (*orderSystem, error) {
	program, err := filepath.Abs(".cache/restatego-peer")
	if err != nil {
		return nil, err
	}

	// A module of its own, because its dependencies are not Ratchet's.
	build := exec.CommandContext(ctx, "go", "build", "-C", "cmd/bench/peers/restatego", "-o", program, ".")
	if err := prepare("go builds the program of Restate below .cache", build); err != nil {
		return nil, err
	}

	return restateSystem(ctx, "restate_go", "Set", "Run", program)
}

// restateSystem is Restate's server with the handlers of cmd/bench/peers/restate/order.mjs, or those of a program.
func restateSystem(ctx context.Context, name, set, run string, program ...string) (*orderSystem, error) {
	home, err := installRestate(ctx)
	if err != nil {
		return nil, err
	}

	// The server's addresses are the same after a kill.
	var addresses []string
	for range 4 {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		_, port, _ := strings.Cut(address, ":")
		addresses = append(addresses, port)
	}
	ingress := "http://127.0.0.1:" + addresses[0]

	return &orderSystem{
		name:  name,
		ready: "ready",
		command: func(ctx context.Context, dir string, far *farSides) (*exec.Cmd, error) {
			data := filepath.Join(dir, "data")
			if err := os.MkdirAll(data, 0o700); err != nil {
				return nil, err
			}

			arguments := append([]string{filepath.Join(home, "order.mjs"), data, far.URL, strings.Join(addresses, ",")}, program...)

			return exec.CommandContext(ctx, "node", arguments...), nil
		},
		fill: func(ctx context.Context, client *http.Client, sku string) error {
			return ask(ctx, client, http.MethodPost, ingress+"/stock/"+sku+"/"+set, 1_000_000_000, nil, http.StatusOK)
		},
		place: func(ctx context.Context, client *http.Client, id, sku string) error {
			return ask(ctx, client, http.MethodPost, ingress+"/order/"+id+"/"+run+"/send", map[string]any{"sku": sku, "quantity": 1, "amount": 1250}, nil, http.StatusOK, http.StatusAccepted)
		},
		report: func(client *http.Client) func(context.Context, parcel, string) error {
			return func(ctx context.Context, p parcel, milestone string) error {
				awaited := map[string]string{"shipped": p.Shipped, "delivered": p.Delivered}[milestone]

				return ask(ctx, client, http.MethodPost, ingress+"/restate/awakeables/"+awaited+"/resolve", milestone, nil, http.StatusOK, http.StatusAccepted)
			}
		},
	}, nil
}

// temporalSystem is Temporal's embedded server with cmd/bench/peers/temporal/order.go. Its data is in memory, and its stock is a
// service beside it.
func temporalSystem(ctx context.Context) (*orderSystem, error) {
	program, err := buildTemporal(ctx)
	if err != nil {
		return nil, err
	}

	listen, err := freeAddress()
	if err != nil {
		return nil, err
	}
	url := "http://" + listen

	return &orderSystem{
		name:  "temporal",
		ready: "ready",
		command: func(ctx context.Context, _ string, far *farSides) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, program, listen, far.URL), nil
		},
		fill: func(context.Context, *http.Client, string) error { return nil },
		place: func(ctx context.Context, client *http.Client, id, sku string) error {
			return ask(ctx, client, http.MethodPut, url+"/orders/"+id, map[string]any{"sku": sku, "quantity": 1, "amount": 1250}, nil, http.StatusOK)
		},
		report: func(client *http.Client) func(context.Context, parcel, string) error {
			return func(ctx context.Context, p parcel, milestone string) error {
				return ask(ctx, client, http.MethodPost, url+"/orders/"+p.OrderID+"/"+milestone, nil, nil, http.StatusOK)
			}
		},
	}, nil
}
