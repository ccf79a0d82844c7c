package deploy

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Program is what a deployment of a program has. Names are without the prefix, which is a parameter of the
// templates, unless they are marked as given.
type Program struct {
	// Workflow is the name of the definition of orders, and the state machine's name. Version is the definition's.
	Workflow string
	Version  int
	// Machine is the state machine (ASL) with its placeholders.
	Machine []byte
	// Activities are the activities that the state machine uses.
	Activities []Activity
	// Handlers are the names of the handlers of the orders' stream.
	Handlers []string
	// Tables are all tables, and Orders the name of the orders' table.
	Tables []Table
	Orders Name
	// Layout says how orders stand in a given table of orders, as "orders-key pk=ORDER#{id}". Empty: there is none.
	Layout []string
	// Timed says that time makes transitions of the definition, for which workers look in the table Due.
	Timed bool
	Due   Name
	// Queue is the queue of requests, nil if the program takes none.
	Queue *Queue
	// Parts are the parts of a worker.
	Parts []string
	// Policies are the permissions, one policy for each part that has a list of them.
	Policies []Policy
	// Undeclared are the steps and handlers of the program itself whose permissions nothing declares.
	Undeclared []Undeclared
	// Settings are settings without which the processes would not fit the templates.
	Settings []Setting
}

// Undeclared is a part of the program itself whose calls on AWS nothing declares.
type Undeclared struct {
	Part  string // as "the step reserve"
	Field string // of the Go program, where its permissions belong
}

// UndeclaredParts returns the parts of Undeclared, an empty list if there are none.
func (p Program) UndeclaredParts() []string {
	parts := []string{}
	for _, u := range p.Undeclared {
		parts = append(parts, u.Part)
	}

	return parts
}

// Name is the name of a table or queue.
type Name struct {
	Text string
	// Given says that Text is the whole name, of something that the deployment does not create.
	Given bool
}

// Activity is an activity of the state machine.
type Activity struct {
	Name        string
	Placeholder string // in the state machine, without ${}
}

// Table is a table of DynamoDB.
type Table struct {
	Name Name
	// Sandbox: only the sandbox bank and carrier need the table.
	Sandbox bool
	// Parked: the table of the parked tasks, in which the state machine itself writes.
	Parked bool
	// Attributes are those of keys.
	Attributes []Attribute
	Keys       []string // the partition key, and the sort key if there is one
	Indexes    []Index
	// Expiry is the attribute of the time to live, empty for none.
	Expiry string
	// Stream is the view type of the stream, empty for none.
	Stream string
}

// Attribute is an attribute of a key: S, N or B.
type Attribute struct{ Name, Type string }

// Index is a global secondary index.
type Index struct {
	Name       string
	Keys       []string
	Projection string
	Attributes []string // of the projection INCLUDE
}

// Queue is the queue of requests, with the queue of its dead letters.
type Queue struct {
	Name, DeadLetters Name
	Fifo              bool
	// MaxReceives is the maxReceiveCount of the redrive policy. Retention is in seconds.
	MaxReceives, Retention int
}

// Policy is what a part may call.
type Policy struct {
	Part        string
	Permissions []Permission
}

// Permission is an action of IAM on a resource.
type Permission struct {
	Action string
	// Kind is table, queue, activity, stateMachine, execution, role, policy, topic, rule or function. Empty: Name is an ARN, or "*".
	Kind string
	Name Name
}

// Setting is a setting of the processes.
type Setting struct{ Name, Value string }

// statement is the permission of several actions on several resources.
type statement struct {
	Actions   []string
	Resources []resource
}

// resource is a resource of a permission.
type resource struct {
	Kind string
	Name Name
}

// statements groups the permissions: resources with the same actions share a statement.
func (p Policy) statements() []statement {
	actions := map[resource][]string{}
	for _, one := range p.Permissions {
		r := resource{one.Kind, one.Name}
		if !slices.Contains(actions[r], one.Action) {
			actions[r] = append(actions[r], one.Action)
		}
	}

	shared := map[string]*statement{}

	for _, r := range slices.SortedFunc(maps.Keys(actions), compareResources) {
		slices.Sort(actions[r])
		key := strings.Join(actions[r], ",")

		if shared[key] == nil {
			shared[key] = &statement{Actions: actions[r]}
		}
		shared[key].Resources = append(shared[key].Resources, r)
	}

	all := make([]statement, 0, len(shared))
	for _, s := range shared {
		all = append(all, *s)
	}

	slices.SortFunc(all, func(a, b statement) int {
		return cmp.Or(compareResources(a.Resources[0], b.Resources[0]), slices.Compare(a.Actions, b.Actions))
	})

	return all
}

func compareResources(a, b resource) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name.Text, b.Name.Text))
}

// camel returns a name as the templates' logical names have it: order-events is OrderEvents.
func camel(name string) string {
	var text strings.Builder
	upper := true

	for _, r := range name {
		switch {
		case r == '-' || r == '_' || r == '.':
			upper = true
			continue
		case upper:
			r = unicode.ToUpper(r)
		}
		upper = false
		text.WriteRune(r)
	}

	return text.String()
}

// descriptions say what the parts do, for the policies. A part that is new has its name.
var descriptions = map[string]string{
	"activities":    "the activities of a worker",
	"api":           "the HTTP API",
	"doctor":        "what compares the deployment with the templates",
	"jobs":          "acts on many subjects",
	"notifications": "deliveries to endpoints",
	"operator":      "commands that mend; with the policy viewer",
	"own":           "what this program's own steps call",
	"parts":         "what this program's own bank, carrier and handlers call",
	"requests":      "the consumer of the requests queue",
	"sandbox":       "the sandbox bank and carrier",
	"stream":        "the reader of the orders stream and its handlers",
	"sweeps":        "what is due",
	"viewer":        "commands that only look",
}
