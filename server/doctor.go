package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/internal/plural"
	"ratchet/operate/doctor"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/server/deploy"
	"ratchet/streams/leases"
)

// Examine checks whether the setup fits this program. It compares the settings with each other, and
// credentials, endpoints, clock, tables, stream, state machine and queue with the settings. It writes
// and creates nothing. It checks the permissions of the named parts ([PermissionParts]), or of all
// parts that the settings use if none is named. See package doctor.
func (b *Backend) Examine(ctx context.Context, parts ...string) []doctor.Check {
	checks := b.checkSettings()

	permissions, err := b.permissions(parts)
	if err != nil {
		checks = append(checks, doctor.NewFailure("permissions", err.Error(), "name a part that there is"))
	}

	cfg := b.doctorConfig()
	cfg.Permissions = permissions

	if b.onAWS() {
		if cfg.Alarms, err = b.neededAlarms(); err != nil {
			checks = append(checks, doctor.NewUnchecked("alarms", err.Error(), "report this as a fault of Ratchet"))
		}

		if cfg.Templates, err = b.neededTemplates(); err != nil {
			checks = append(checks, doctor.NewUnchecked("templates", err.Error(), "report this as a fault of Ratchet"))
		}
	}
	checks = append(checks, doctor.Examine(ctx, cfg)...)

	if b.onAWS() && !hasFault(checks, "table "+b.Tables.Processes) {
		checks = append(checks, b.checkFigures(ctx))
	}

	// The orders are read only if the checks of their table have succeeded.
	if !hasFault(checks, "table "+b.Tables.Orders) {
		checks = append(checks, b.checkOrdersTable(ctx)...)
		checks = append(checks, b.checkStates(ctx))
	}

	if b.Orders.HasTimers() {
		checks = append(checks, b.checkTimers(ctx))
	}

	if !hasFault(checks, "table "+b.Tables.Scheduled, "table "+b.Tables.OrdersDue) {
		checks = append(checks, b.checkScheduled(ctx))
	}

	if b.Lists != nil {
		checks = append(checks, b.checkLists(ctx))
	}

	return checks
}

// checkFigures names the processes that do not write the figures of CloudWatch's alarms. Only the processes know it: the
// doctor runs with other settings.
func (b *Backend) checkFigures(ctx context.Context) doctor.Check {
	const subject = "figures of alarms"

	found, err := b.Processes.Check(ctx)
	if err != nil {
		return doctor.NewUnchecked(subject, err.Error(), "fix the table of processes first")
	}

	var silent []string
	for i, name := range processes.Names(found) {
		if found[i].State == processes.Live && !found[i].Figures {
			silent = append(silent, name)
		}
	}

	if len(silent) == 0 {
		return doctor.NewOK(subject, "")
	}

	return doctor.NewWarning(subject,
		"none from "+plural.First(silent, 3)+": alarms on its stream lag, API, payments and notifications see nothing, and stream-lag fires if no worker writes any",
		"set RATCHET_CLOUDWATCH_FIGURES=true where CloudWatch Logs gets its standard output, or use the alerts of Prometheus in their place")
}

// hasFault reports whether a check of the subjects has found a fault, or one without which they could not be checked.
func hasFault(checks []doctor.Check, subjects ...string) bool {
	return slices.ContainsFunc(checks, func(c doctor.Check) bool {
		return c.Result != doctor.OK && slices.Contains(append(subjects, "tables", "everything else"), c.Subject)
	})
}

// checkOrdersTable checks whether the orders' table fits its mapping, beyond its key, stream and time to live.
func (b *Backend) checkOrdersTable(ctx context.Context) (checks []doctor.Check) {
	subject := "table " + b.Tables.Orders

	found, err := b.Orders.Check(ctx)
	if err != nil {
		return []doctor.Check{doctor.NewUnchecked(subject, err.Error(), "allow dynamodb:DescribeTable, DescribeTimeToLive and Scan on it")}
	}

	for _, f := range found {
		if f.Refused {
			checks = append(checks, doctor.NewFailure(subject, f.What, "use another table, or change this one"))
		} else {
			checks = append(checks, doctor.NewWarning(subject, f.What, "change the mapping, the item or the index, or accept it"))
		}
	}

	return checks
}

// checkLists checks whether the lists of orders show all orders.
func (b *Backend) checkLists(ctx context.Context) doctor.Check {
	const subject = "lists of orders"

	ready, err := b.Lists.Ready(ctx)
	switch {
	case err != nil:
		return doctor.NewUnchecked(subject, err.Error(), "fix their table first")
	case !ready:
		return doctor.NewWarning(subject, "they lack changes of orders, so listing orders scans the table",
			"run all workers with order-lists; then one of them rebuilds the lists, or `ratchet orders rebuild-lists`")
	}

	return doctor.NewOK(subject, "")
}

// doctorConfig returns the needs of this program without the permissions.
func (b *Backend) doctorConfig() doctor.Config {
	cfg := doctor.Config{
		AWS:       b.awsConfig,
		InProcess: b.Engine != nil,
		Machine:   b.neededMachine(),
		Queue:     b.neededQueue(),
		Readers: func(ctx context.Context, arn string) ([]string, error) {
			return leases.Readers(ctx, b.DynamoDB, b.Tables.Leases, arn)
		},
	}

	for _, spec := range b.tables() {
		cfg.Tables = append(cfg.Tables, doctor.Table{Input: spec.input, TTL: spec.expiryAttribute, Given: spec.given})
	}

	return cfg
}

// onAWS reports whether the backend is AWS, and neither another endpoint nor the engine.
func (b *Backend) onAWS() bool { return b.Engine == nil && b.SFN.Options().BaseEndpoint == nil }

func (b *Backend) neededMachine() *doctor.Machine {
	m := &doctor.Machine{Name: b.stateMachineName(), AWS: b.onAWS()}

	// The default role is not compared: the settings of a worker need not name the role that the
	// templates have created.
	if role := b.Config.RoleARN; role != (Config{}).WithDefaults().RoleARN {
		m.RoleARN = role
	}

	placeholders := map[string]string{}
	for _, a := range b.neededActivities() {
		placeholders[b.Config.Prefix+a.Name] = a.Placeholder
	}
	m.Activities = slices.Sorted(maps.Keys(placeholders))

	m.Definition = func(arns map[string]string) string {
		byPlaceholder := map[string]string{}
		for name, arn := range arns {
			byPlaceholder[placeholders[name]] = arn
		}

		return b.machineDefinition(byPlaceholder)
	}

	return m
}

// neededAlarms returns the alarms of the templates that this program writes.
func (b *Backend) neededAlarms() (needed []doctor.Alarm, err error) {
	program, err := b.deployment()
	if err != nil {
		return nil, err
	}

	all, err := deploy.Alarms(program, b.Config.Prefix)
	if err != nil {
		return nil, err
	}

	for _, a := range all {
		one := doctor.Alarm{Alternative: a.Alternative}
		if err := json.Unmarshal(a.Properties, &one.Is); err != nil {
			return nil, fmt.Errorf("the alarms of the templates: %w", err)
		}
		needed = append(needed, one)
	}

	return needed, nil
}

// neededTemplates returns the templates that this program writes.
func (b *Backend) neededTemplates() (*doctor.Templates, error) {
	program, err := b.deployment()
	if err != nil {
		return nil, err
	}

	files, err := deploy.CloudFormation.Files(program)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".yaml") })

	return &doctor.Templates{Files: files, Prefix: b.Config.Prefix, StateMachineRole: "state-machine"}, nil
}

// neededQueue returns nil if no queue is configured.
func (b *Backend) neededQueue() *doctor.Queue {
	name := b.Config.RequestsQueue
	if name == "" {
		return nil
	}

	q := &doctor.Queue{Name: name, Visibility: leastVisibility, Receives: leastReceives}
	if isURL(name) {
		q.Name, q.URL = "", name
	}

	return q
}

const (
	// leastVisibility is the default visibility timeout of package queues. A worker sets it for each
	// received message. A Lambda function relies on the queue's own visibility timeout.
	leastVisibility = 30 * time.Second
	// leastReceives is the smallest maxReceiveCount that is accepted. It is higher than a handler's
	// attempts, so that the handler gives up before the redrive policy moves the message.
	leastReceives = 20
)

// maxReadyLag is the retention of a stream: older records are lost.
const maxReadyLag = 24 * time.Hour

// checkSettings looks for settings that contradict each other or have no use.
func (b *Backend) checkSettings() (checks []doctor.Check) {
	const subject = "settings"

	if err := b.flow.fit(); err != nil {
		checks = append(checks, doctor.NewFailure("workflow", err.Error(), "`ratchet workflow check` with the same settings lists all findings"))
	}

	if err := b.checkSides(); err != nil {
		checks = append(checks, doctor.NewFailure("bank and carrier", err.Error(), "name them in the settings bank and carrier, or in the program's Parts"))
	}

	warn := func(applies bool, found, action string) {
		if applies {
			checks = append(checks, doctor.NewWarning(subject, found, action))
		}
	}

	// Each of these settings is valid by itself, so Validate accepts it.
	c := b.Config
	warn(isHTTPURL(c.Carrier) && c.CarrierSecret == "",
		"carrier is a URL, but carrier-secret is not set: every report of the carrier is refused", "set carrier-secret to the secret that the carrier signs with")
	warn(c.ReadyLag >= maxReadyLag,
		fmt.Sprintf("ready-lag is %s, but the stream keeps records for 24h: a worker that loses records counts as ready", c.ReadyLag), "set ready-lag to minutes")
	warn(slices.Contains(c.AcceptVersions, b.Orders.Definition().Version()),
		fmt.Sprintf("accept-versions has %d, which is the version of the definition itself", b.Orders.Definition().Version()), "remove it, or set order-definition to the newer version")
	warn(c.EndpointURL != "" && isPlainHTTP(c.EndpointURL) && !isLocal(c.EndpointURL),
		"endpoint-url sends secrets to another machine without TLS", "use https, or an address of this machine")

	if len(checks) == 0 {
		checks = append(checks, doctor.NewOK(subject, ""))
	}

	return checks
}

func isPlainHTTP(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Scheme == "http"
}

// sampledOrders is how many orders checkStates reads, at most.
const sampledOrders = 1000

// checkStates checks whether the definition has the states and versions of the first orders in the
// table.
func (b *Backend) checkStates(ctx context.Context) doctor.Check {
	const subject = "orders"

	found, err := inspect.List(ctx, b.Orders, inspect.Page{Limit: sampledOrders})
	if err != nil {
		return doctor.NewUnchecked(subject, err.Error(), "`ratchet verify` names orders that cannot be read")
	}

	for _, bad := range found.Unreadable {
		return doctor.NewFailure(subject, fmt.Sprintf("order %s cannot be read: %s", bad.OrderID, bad.Reason), "`ratchet verify` names all orders that cannot be read; correct the attribute, or map it to another name")
	}

	d := b.Orders.Definition()
	for _, order := range found.Orders {
		if err := b.Orders.CheckVersion(order); err != nil {
			return doctor.NewFailure(subject, err.Error(), "`ratchet workflow migrate`, or accept-versions while two versions of workers run")
		}

		if !d.HasState(order.State) {
			// What Ratchet has never moved has the state that another program gave it.
			if order.TransitionID == 0 {
				return doctor.NewFailure(subject, fmt.Sprintf("order %s is %s, which version %d of the definition %s does not have; no transition has led there", order.ID, order.State, d.Version(), d.Name()),
					"add the state to the definition, or correct the item; `ratchet orders import --table --dry-run` names all such orders")
			}

			return doctor.NewFailure(subject, fmt.Sprintf("order %s is %s, which version %d of the definition %s does not have", order.ID, order.State, d.Version(), d.Name()),
				"set order-definition to the definition of these orders, or give the new one another version and `ratchet workflow migrate`")
		}
	}

	text := fmt.Sprintf("%s with states of version %d of the definition %s", plural.Of(len(found.Orders), "order"), d.Version(), d.Name())
	if found.Next != "" {
		text = "the first " + text
	}

	return doctor.NewOK(subject, text)
}

// compareTimeout bounds the comparison at the start of a process.
const compareTimeout = 10 * time.Second

// compareMachine warns if the deployed state machine differs from the one of this program: then the
// workers may get other tasks than they expect. It is only a warning, because both versions run during
// a rollout.
func (b *Backend) compareMachine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()

	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		b.log.WarnContext(ctx, "the state machine was not compared with this program's", "error", err)
		return
	}

	is, err := b.SFN.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
	if err != nil {
		b.log.WarnContext(ctx, "the state machine was not compared with this program's", "error", err)
		return
	}

	if difference := b.neededMachine().Differs(arn, aws.ToString(is.Definition)); difference != "" {
		b.log.WarnContext(ctx, "the deployed state machine is not that of this program; `ratchet init` of the newer program updates it",
			"machine", b.stateMachineName(), "difference", strings.ToValidUTF8(difference, "?"))
	}
}
