package server

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/server/deploy"
)

// ordersTable is the name of the orders' table without the prefix, if it is Ratchet's own. The lists of
// permissions name it so.
const ordersTable = "orders"

// Deployment returns what a deployment of the program has that the configuration describes. It connects to
// nothing and writes nothing. It fails with [ErrDefinition] or [ErrStateMachine] if the workflow does not fit.
func Deployment(ctx context.Context, cfg Config) (deploy.Program, error) {
	// The parts are assembled as at an endpoint, so that the sandboxes are among them. None of them is run. What
	// would open files or send figures is off.
	cfg.EndpointURL, cfg.Notify, cfg.Tracing.Endpoint = "http://127.0.0.1:1", "none", "off"
	cfg.ActionKeys = ""

	b, err := Connect(ctx, cfg, slog.New(slog.DiscardHandler), Events{})
	if err != nil {
		return deploy.Program{}, err
	}
	defer func() { _ = b.seen.close() }() // nothing was collected

	if err := b.flow.fit(); err != nil {
		return deploy.Program{}, err
	}

	return b.deployment()
}

// deployment is Deployment, of this backend.
func (b *Backend) deployment() (deploy.Program, error) {
	p := deploy.Program{
		Workflow: b.flow.machineName(),
		Version:  b.flow.definition.Version(),
		Machine:  []byte(b.flow.asl),
		Orders:   b.deployedName(b.Tables.Orders, b.Config.OrdersTable.Name != ""),
		Layout:   b.layout(),
		Timed:    b.Orders.HasTimers(),
		Due:      b.deployedName(b.Tables.OrdersDue, false),
		Queue:    b.deployedQueue(),
		Settings: b.deployedSettings(),
	}

	for _, a := range b.neededActivities() {
		p.Activities = append(p.Activities, deploy.Activity{Name: a.Name, Placeholder: a.Placeholder})
	}
	slices.SortFunc(p.Activities, func(x, y deploy.Activity) int { return strings.Compare(x.Name, y.Name) })

	for _, h := range b.Handlers() {
		p.Handlers = append(p.Handlers, h.Name)
	}

	for _, spec := range b.tables() {
		p.Tables = append(p.Tables, b.deployedTable(spec))
	}

	for _, part := range WorkerParts() {
		p.Parts = append(p.Parts, string(part))
	}

	var err error
	if p.Policies, err = b.deployedPolicies(); err != nil {
		return p, err
	}
	p.Undeclared = b.undeclared()

	return p, nil
}

// deployedName returns a name without the prefix. A name that does not begin with it is whole.
func (b *Backend) deployedName(name string, given bool) deploy.Name {
	short, prefixed := strings.CutPrefix(name, b.Config.Prefix)
	if given || !prefixed {
		return deploy.Name{Text: name, Given: given}
	}

	return deploy.Name{Text: short}
}

// layout returns the settings that say how orders stand in a table of another program.
func (b *Backend) layout() (lines []string) {
	for _, s := range b.deployedSettings() {
		if strings.HasPrefix(s.Name, "orders-") {
			lines = append(lines, s.Name+" "+s.Value)
		}
	}

	return lines
}

// deployedSettings returns the settings that change what the templates have: a process without them would look for
// other tables, or for no transitions that time makes. Secrets and files are not among them.
func (b *Backend) deployedSettings() (all []deploy.Setting) {
	t := b.Config.OrdersTable

	for _, s := range []deploy.Setting{
		{Name: "orders-table", Value: t.Name},
		{Name: "orders-key", Value: t.Key},
		{Name: "orders-sort", Value: t.Sort},
		{Name: "orders-prefix", Value: t.Prefix},
		{Name: "orders-attributes", Value: strings.Join(t.Attributes, ",")},
		{Name: "orders-keep", Value: strings.Join(t.Keep, ",")},
		{Name: "expire-unpaid", Value: termText(b.Config.ExpireUnpaid)},
		{Name: "return-window", Value: termText(b.Config.ReturnWindow)},
	} {
		if s.Value != "" {
			all = append(all, s)
		}
	}

	if b.Config.OrderLists {
		all = append(all, deploy.Setting{Name: "order-lists", Value: strconv.FormatBool(true)})
	}

	return all
}

// termText returns the value of a term of the shop, "" for none.
func termText(term time.Duration) string {
	if term == 0 {
		return ""
	}

	return term.String()
}

func (b *Backend) deployedQueue() *deploy.Queue {
	name := b.Config.RequestsQueue
	if name == "" {
		return nil
	}

	q := &deploy.Queue{Name: deploy.Name{Text: name[strings.LastIndexByte(name, '/')+1:], Given: true}, MaxReceives: maxReceiveCount, Retention: queueRetention}
	if !isURL(name) {
		q.Name = b.deployedName(name, false)
	}
	q.DeadLetters = deploy.Name{Text: deadLetterQueue(q.Name.Text), Given: q.Name.Given}
	q.Fifo = strings.HasSuffix(name, ".fifo")

	return q
}

func (b *Backend) deployedTable(spec tableSpec) deploy.Table {
	in := spec.input
	t := deploy.Table{
		Name:    b.deployedName(aws.ToString(in.TableName), spec.given),
		Sandbox: spec.sandbox,
		Parked:  aws.ToString(in.TableName) == b.Tables.Parked,
		Keys:    keyNames(in.KeySchema),
		Expiry:  spec.expiryAttribute,
		Indexes: deployedIndexes(in),
	}

	for _, a := range in.AttributeDefinitions {
		t.Attributes = append(t.Attributes, deploy.Attribute{Name: aws.ToString(a.AttributeName), Type: string(a.AttributeType)})
	}

	if in.StreamSpecification != nil {
		t.Stream = string(in.StreamSpecification.StreamViewType)
	}

	return t
}

func deployedIndexes(in *dynamodb.CreateTableInput) (all []deploy.Index) {
	for _, i := range in.GlobalSecondaryIndexes {
		all = append(all, deploy.Index{
			Name:       aws.ToString(i.IndexName),
			Keys:       keyNames(i.KeySchema),
			Projection: string(i.Projection.ProjectionType),
			Attributes: i.Projection.NonKeyAttributes,
		})
	}

	return all
}

func keyNames(schema []types.KeySchemaElement) (names []string) {
	for _, k := range schema {
		names = append(names, aws.ToString(k.AttributeName))
	}

	return names
}

// deployedPolicies returns what each part may call, and what the program's own steps and parts declare.
func (b *Backend) deployedPolicies() (all []deploy.Policy, err error) {
	for _, part := range PermissionParts() {
		lines, err := recordedPermissions(part)
		if err != nil {
			return nil, err
		}

		policy := deploy.Policy{Part: part}
		for _, line := range lines {
			policy.Permissions = append(policy.Permissions, b.deployedPermissions(line)...)
		}

		// IAM refuses a policy without statements.
		if len(policy.Permissions) == 0 {
			policy.Permissions = []deploy.Permission{{Action: "states:ListStateMachines", Name: deploy.Name{Text: "*"}}}
		}
		all = append(all, policy)
	}

	var steps []string
	for _, step := range b.flow.steps {
		steps = append(steps, step.Permissions...)
	}

	for _, own := range []struct {
		part  string
		lines []string
	}{{"own", steps}, {"parts", b.Config.Parts.Permissions}} {
		policy := deploy.Policy{Part: own.part}
		for _, line := range own.lines {
			policy.Permissions = append(policy.Permissions, declaredPermission(line))
		}

		if len(policy.Permissions) > 0 {
			all = append(all, policy)
		}
	}

	return all, nil
}

// deployedPermissions returns what a line of a list means with this configuration: none for a resource
// that the settings do not use.
func (b *Backend) deployedPermissions(line string) (all []deploy.Permission) {
	action, what, _ := strings.Cut(line, " ")
	kind, name, _ := strings.Cut(what, "/")
	add := func(n deploy.Name) { all = append(all, deploy.Permission{Action: action, Kind: kind, Name: n}) }

	switch kind {
	case "table":
		for _, n := range b.deployedTableName(name) {
			add(n)
		}
	case "activity":
		// The list has activities of the shop, which stand for those of this workflow.
		for _, a := range b.neededActivities() {
			add(deploy.Name{Text: a.Name})
		}
	case "stateMachine":
		add(deploy.Name{Text: b.flow.machineName()})
	case "execution":
		add(deploy.Name{Text: b.flow.machineName() + ":*"})
	case "queue":
		if n, used := b.deployedQueueName(name); used {
			add(n)
		}
	case "role", "policy", "topic", "rule", "function":
		add(deploy.Name{Text: name})
	default:
		all = append(all, deploy.Permission{Action: action, Name: deploy.Name{Text: what}})
	}

	return all
}

// deployedTableName returns the name of a table of a list, with what follows it, or nothing if the
// configuration has no such table.
func (b *Backend) deployedTableName(name string) []deploy.Name {
	table, rest, _ := strings.Cut(name, "/")

	// All tables of the prefix, for the doctor. A table of another name is beside them.
	if table == "*" {
		all := []deploy.Name{{Text: name}}
		if b.Config.OrdersTable.Name != "" {
			all = append(all, deploy.Name{Text: b.Tables.Orders, Given: true})
		}

		return all
	}

	for _, spec := range b.tables() {
		n := b.deployedName(aws.ToString(spec.input.TableName), spec.given)
		if n.Text != table && (table != ordersTable || aws.ToString(spec.input.TableName) != b.Tables.Orders) {
			continue
		}

		if rest != "" {
			n.Text += "/" + rest
		}

		return []deploy.Name{n}
	}

	return nil
}

// deployedQueueName returns the name of a queue of a list, and whether the configuration uses it.
func (b *Backend) deployedQueueName(name string) (deploy.Name, bool) {
	q := b.deployedQueue()

	switch {
	case name == "requests" && q != nil:
		return q.Name, true
	case name == "requests-dead-letters" && q != nil:
		return q.DeadLetters, true
	case strings.HasPrefix(name, "requests"):
		return deploy.Name{}, false
	}

	return deploy.Name{Text: name}, true
}

// declaredPermission returns a permission of [Step.Permissions] or [Parts.Permissions], which were validated.
func declaredPermission(line string) deploy.Permission {
	action, what, _ := strings.Cut(line, " ")

	kind, name, _ := strings.Cut(what, "/")
	if what == "*" || strings.HasPrefix(what, "arn:") {
		return deploy.Permission{Action: action, Name: deploy.Name{Text: what}}
	}

	return deploy.Permission{Action: action, Kind: kind, Name: deploy.Name{Text: name}}
}

// undeclared returns what the program brings along and whose calls nothing declares.
func (b *Backend) undeclared() (all []deploy.Undeclared) {
	for _, step := range b.flow.steps {
		if step.Permissions == nil {
			all = append(all, deploy.Undeclared{Part: "the step " + step.Name, Field: "Permissions of its server.Step"})
		}
	}

	if b.Config.Parts.Permissions != nil {
		return all
	}

	add := func(part string) {
		all = append(all, deploy.Undeclared{Part: part, Field: "Permissions of server.Parts"})
	}

	for _, h := range b.ownHandlers {
		add("the handler " + h.Name)
	}

	if b.Config.Parts.Bank != nil {
		add("the bank")
	}

	if b.Config.Parts.Carrier != nil {
		add("the carrier")
	}

	for _, scheme := range slices.Sorted(maps.Keys(b.Config.Parts.Destinations)) {
		add("the destination " + scheme)
	}

	return all
}
