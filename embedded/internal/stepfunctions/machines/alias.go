package machines

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// alias is a name for one or two versions of a machine.
type alias struct {
	ID          uint64  `json:"id"`
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Routes      []route `json:"routes"`
	Created     int64   `json:"created"`
	Updated     int64   `json:"updated"`
}

// route is a version and the share of executions that it gets, in percent.
type route struct {
	Version uint64 `json:"version"`
	Weight  int    `json:"weight"`
}

// routeRequest is a route as requests write it.
type routeRequest struct {
	StateMachineVersionArn string
	Weight                 int
}

// aliasNamed returns an alias of the machine, nil if there is none.
func (m *Machine) aliasNamed(name string) *alias {
	for i := range m.Aliases {
		if m.Aliases[i].Name == name {
			return &m.Aliases[i]
		}
	}

	return nil
}

// aliasesOf returns the names of the aliases that refer to a version.
func (m *Machine) aliasesOf(number uint64) (names []string) {
	for _, a := range m.Aliases {
		if slices.ContainsFunc(a.Routes, func(r route) bool { return r.Version == number }) {
			names = append(names, a.Name)
		}
	}

	return names
}

// pick returns the version that an execution gets. draw is a random number from 0 to 99.
func (a *alias) pick(draw int) uint64 {
	for _, r := range a.Routes {
		if draw -= r.Weight; draw < 0 {
			return r.Version
		}
	}

	// Not reached: the weights of an alias add up to 100.
	return a.Routes[0].Version
}

// aliasName is the form of an alias's name: not a number, which names a version.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachineAlias.html
var aliasName = regexp.MustCompile(`^[a-zA-Z0-9_\-.]*[a-zA-Z_\-.][a-zA-Z0-9_\-.]*$`)

func checkAliasName(name string) error {
	if err := requests.AtMost(name, "name", arns.MaxName); err != nil {
		return err
	}

	if !aliasName.MatchString(name) {
		return wire.BadParameter("'"+name+"'", "name", `Member must satisfy regular expression pattern: ^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$`)
	}

	return nil
}

// checkRoutes fails for a routing configuration that the service refuses, apart from versions
// that do not exist.
func checkRoutes(routes []routeRequest) error {
	const invalid = "1 validation error detected: Value '%s' at 'routingConfiguration%s' failed to satisfy constraint: Member must have "

	if n := len(routes); n < 1 || n > 2 {
		texts := make([]string, n)
		for i, r := range routes {
			texts[i] = fmt.Sprintf("RoutingConfigurationListItem(stateMachineVersionArn=%s, weight=%d)", r.StateMachineVersionArn, r.Weight)
		}

		rule := "length less than or equal to 2"
		if n < 1 {
			rule = "length greater than or equal to 1"
		}

		return requests.Invalid(invalid+rule, "["+strings.Join(texts, ", ")+"]", "")
	}

	var arns, weights []string
	sum := 0
	for i, r := range routes {
		at := fmt.Sprintf(".%d.member.weight", i+1)
		switch {
		case r.Weight > 100:
			return requests.Invalid(invalid+"value less than or equal to 100", strconv.Itoa(r.Weight), at)
		case r.Weight < 0:
			return requests.Invalid(invalid+"value greater than or equal to 0", strconv.Itoa(r.Weight), at)
		}

		arns = append(arns, r.StateMachineVersionArn)
		weights = append(weights, strconv.Itoa(r.Weight))
		sum += r.Weight
	}

	switch {
	case len(arns) == 2 && arns[0] == arns[1]:
		return requests.Invalid("Routing configuration must contain distinct state machine version ARNs. Received: [%s]", strings.Join(arns, ", "))
	case slices.ContainsFunc(arns, func(arn string) bool { return !versionARN.MatchString(arn) }):
		return requests.Invalid("Routing configuration must contain state machine version ARNs. Received: [%s]", strings.Join(arns, ", "))
	case sum != 100:
		return requests.Invalid("Sum of routing configuration weights must equal 100. Received: [%s]", strings.Join(weights, ", "))
	}

	return nil
}

// versionARN is the form of a version's ARN.
var versionARN = regexp.MustCompile(`^arn:[^:]+:states:[^:]*:[^:]*:stateMachine:[^:]+:[0-9]+$`)

// routesOf checks a routing configuration and returns it with the name of its machine.
func (c *Catalog) routesOf(asked []routeRequest) (name string, routes []route, err error) {
	if err := checkRoutes(asked); err != nil {
		return "", nil, err
	}

	for i, r := range asked {
		// The versions are looked up without the lock. change
		// looks again where the alias is written.
		machine, number, ours, err := c.account.Qualified(r.StateMachineVersionArn)
		if err != nil {
			return "", nil, err
		}

		if i > 0 && machine != name {
			return "", nil, requests.Invalid("Routing configuration must contain versions of one state machine.")
		}

		m := c.Lookup(machine)

		if m == nil || !ours || m.versionNumbered(number) == nil {
			return "", nil, noAlias()
		}

		name = machine
		routes = append(routes, route{m.versionNumbered(number).Number, r.Weight})
	}

	return name, routes, nil
}

func noAlias() error {
	return wire.Errorf("ResourceNotFound", "Request references a resource that does not exist.")
}

// hasVersions reports whether the machine still has the versions of the routes. It is called again, under
// the lock, where the alias is written.
func (m *Machine) hasVersions(routes []route) bool {
	return !slices.ContainsFunc(routes, func(r route) bool {
		return m.findVersion(func(v *version) bool { return v.Number == r.Version }) == nil
	})
}

// createAlias creates an alias. Creating an alias that exists succeeds if both are the same.
func (c *Catalog) createAlias(_ context.Context, in *struct {
	Name, Description    string
	RoutingConfiguration []routeRequest
}) (any, error) {
	if err := checkAliasName(in.Name); err != nil {
		return nil, err
	}

	if err := checkDescription("description", in.Description); err != nil {
		return nil, err
	}

	name, routes, err := c.routesOf(in.RoutingConfiguration)
	if err != nil {
		return nil, err
	}

	id, err := c.ids.Next()
	if err != nil {
		return nil, err
	}

	now := c.clock.Now().UnixMilli()
	created := alias{ID: id, Name: in.Name, Description: in.Description, Routes: routes, Created: now, Updated: now}

	err = c.change(in.RoutingConfiguration[0].StateMachineVersionArn, name, func(m *Machine) error {
		if old := m.aliasNamed(in.Name); old != nil {
			if old.Description != in.Description || !slices.Equal(old.Routes, routes) {
				return wire.Errorf("ConflictException",
					"Failed to create alias because an alias with the same name and a different routing configuration already exists.")
			}

			// The answer has the date of the existing alias.
			created = *old

			return nil
		}

		switch {
		case len(m.Aliases) >= maxAliases:
			return wire.Errorf("ServiceQuotaExceededException", "a state machine has at most %d aliases", maxAliases)
		case !m.hasVersions(routes):
			return noAlias()
		}

		// A clone, because readers of the old record share its slice.
		m.Aliases = append(slices.Clone(m.Aliases), created)

		return nil
	})
	if err != nil {
		return nil, err
	}

	return map[string]any{
		"stateMachineAliasArn": c.account.Alias(name, in.Name),
		"creationDate":         requests.Stamp(created.Created),
	}, nil
}

type aliasRequest struct{ StateMachineAliasArn string }

// aliasWithARN returns an alias and its machine.
func (c *Catalog) aliasWithARN(arn string) (*Machine, *alias, error) {
	m, name, err := c.qualifiedMachine(arn)
	switch {
	case err != nil:
		return nil, nil, err
	case m == nil || m.aliasNamed(name) == nil:
		return nil, nil, noAlias()
	default:
		return m, m.aliasNamed(name), nil
	}
}

func (c *Catalog) describeAlias(_ context.Context, in *aliasRequest) (any, error) {
	m, a, err := c.aliasWithARN(in.StateMachineAliasArn)
	if err != nil {
		return nil, err
	}

	routes := make([]any, len(a.Routes))
	for i, r := range a.Routes {
		routes[i] = map[string]any{"stateMachineVersionArn": c.account.Version(m.Name, r.Version), "weight": r.Weight}
	}

	answer := map[string]any{
		"stateMachineAliasArn": c.account.Alias(m.Name, a.Name),
		"name":                 a.Name,
		"routingConfiguration": routes,
		"creationDate":         requests.Stamp(a.Created),
		"updateDate":           requests.Stamp(a.Updated),
	}
	if a.Description != "" {
		answer["description"] = a.Description
	}

	return answer, nil
}

func (c *Catalog) updateAlias(_ context.Context, in *struct {
	StateMachineAliasArn string
	Description          *string
	RoutingConfiguration []routeRequest
}) (any, error) {
	if in.Description == nil && in.RoutingConfiguration == nil {
		return nil, requests.Invalid("at least one of description and routingConfiguration is required")
	}

	m, a, err := c.aliasWithARN(in.StateMachineAliasArn)
	if err != nil {
		return nil, err
	}

	var routes []route
	if in.RoutingConfiguration != nil {
		var name string
		if name, routes, err = c.routesOf(in.RoutingConfiguration); err != nil {
			return nil, err
		}

		if name != m.Name {
			return nil, requests.Invalid("Routing configuration must contain versions of the alias's state machine.")
		}
	}

	if in.Description != nil {
		if err := checkDescription("description", *in.Description); err != nil {
			return nil, err
		}
	}

	now := c.clock.Now().UnixMilli()
	err = c.change(in.StateMachineAliasArn, m.Name, func(m *Machine) error {
		if m.aliasNamed(a.Name) == nil || !m.hasVersions(routes) {
			return noAlias()
		}

		// m is a copy, but it shares its slice with the old record.
		m.Aliases = slices.Clone(m.Aliases)

		changed := m.aliasNamed(a.Name)
		changed.Updated = now
		if in.Description != nil {
			changed.Description = *in.Description
		}

		if routes != nil {
			changed.Routes = routes
		}

		return nil
	})

	return map[string]any{"updateDate": requests.Stamp(now)}, err
}

// deleteAlias deletes an alias. Executions that it started go on.
func (c *Catalog) deleteAlias(_ context.Context, in *aliasRequest) (any, error) {
	m, name, err := c.qualifiedMachine(in.StateMachineAliasArn)
	if err != nil {
		return nil, err
	}

	if m == nil || m.aliasNamed(name) == nil {
		return requests.Empty, nil
	}

	return requests.Empty, c.change(in.StateMachineAliasArn, m.Name, func(m *Machine) error {
		m.Aliases = slices.DeleteFunc(slices.Clone(m.Aliases), func(a alias) bool { return a.Name == name })
		return nil
	})
}

// listAliases lists a machine's aliases in the order of their creation. With the ARN of a version it lists
// the aliases that refer to the version.
func (c *Catalog) listAliases(_ context.Context, in *struct {
	pages.Request
	StateMachineArn string
}) (any, error) {
	m, number, err := c.qualifiedMachine(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	if m == nil || number != "" && m.versionNumbered(number) == nil {
		return nil, doesNotExist(in.StateMachineArn)
	}

	all := slices.Clone(m.Aliases)
	if number != "" {
		names := m.aliasesOf(m.versionNumbered(number).Number)
		all = slices.DeleteFunc(all, func(a alias) bool { return !slices.Contains(names, a.Name) })
	}

	// With leading zeros, because pages.Of compares texts.
	order := func(a alias) string { return fmt.Sprintf("%020d", a.ID) }

	page, next, err := pages.Of(all, &in.Request, keys.Aliases, order)
	if err != nil {
		return nil, err
	}

	list := make([]any, len(page))
	for i, a := range page {
		list[i] = map[string]any{"stateMachineAliasArn": c.account.Alias(m.Name, a.Name), "creationDate": requests.Stamp(a.Created)}
	}

	return struct {
		StateMachineAliases []any   `json:"stateMachineAliases"`
		NextToken           *string `json:"nextToken,omitempty"`
	}{list, next}, nil
}
