package deploy

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ratchet/internal/templates"
)

//go:embed templates/*.tmpl
var sources embed.FS

// Kind is a kind of templates.
type Kind string

// The kinds.
const (
	CloudFormation Kind = "cloudformation"
	Terraform      Kind = "terraform"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{CloudFormation, Terraform} }

// extension is what the names of a kind's files end with.
func (k Kind) extension() string {
	if k == Terraform {
		return ".tf"
	}

	return ".yaml"
}

// machineFile is the file with the state machine, beside the templates.
const machineFile = "statemachine.asl.json"

// maxMachine is how many characters the definition of a state machine may have (Step Functions quotas, "Maximum
// definition size").
const maxMachine = 1 << 20

// errMachine means that no deployment can have the state machine.
var errMachine = errors.New("state machine")

// Files returns the files of a deployment of the program by name: the templates, and the state machine, which
// both kinds read from its file.
func (k Kind) Files(p Program) (map[string][]byte, error) {
	if !slices.Contains(Kinds(), k) {
		return nil, fmt.Errorf("kind %q: must be cloudformation or terraform", k)
	}

	// Placeholders are replaced by ARNs, which are longer: a machine this large is refused before it is deployed.
	if len(p.Machine) > maxMachine {
		return nil, fmt.Errorf("%w: %d bytes, and Step Functions takes at most %d: move parts of it into state machines of their own", errMachine, len(p.Machine), maxMachine)
	}

	names, err := fs.Glob(sources, "templates/*"+k.extension()+".tmpl")
	if err != nil {
		return nil, err
	}

	files := map[string][]byte{machineFile: p.Machine}

	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}

		file := strings.TrimSuffix(path.Base(name), ".tmpl")
		if files[file], err = render(file, string(text), page{Program: p, Kind: k}); err != nil {
			return nil, err
		}
	}

	return files, nil
}

func render(name, text string, data page) ([]byte, error) {
	t, err := templates.Parse(name, text, templates.Options{Left: "<<", Right: ">>", Strict: true, Functions: functions, Methods: methods})
	if err != nil {
		return nil, err
	}

	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, err
	}

	// A block that is left out at the end of a list leaves its blank line.
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), nil
}

// page is what a template is filled with.
type page struct {
	Program
	Kind Kind
}

// marker begins the first line of every template, after the comment sign.
const marker = "Written by `ratchet deploy "

// Marker is the first line of a template.
func (p page) Marker() string {
	return marker + string(p.Kind) + "`: change the program or its settings, and write it again."
}

// MachineFile is the name of the state machine's file.
func (p page) MachineFile() string { return machineFile }

// Waits reports whether executions of the state machine park tasks in a table.
func (p page) Waits() bool { return bytes.Contains(p.Machine, []byte("${TaskTokensTable}")) }

// Parked is the name of the table of parked tasks.
func (p page) Parked() string {
	for _, t := range p.Tables {
		if t.Parked {
			return t.Name.Text
		}
	}

	return ""
}

var integration = regexp.MustCompile(`"arn:aws[a-z-]*:states:::([^"]*)"`)

// Integrations returns the services that the state machine calls by itself, without the call that parks a
// task: the templates cannot know what its role needs for them.
func (p page) Integrations() []string {
	found := map[string]bool{}

	for _, match := range integration.FindAllSubmatch(p.Machine, -1) {
		if call := string(match[1]); !strings.HasPrefix(call, "aws-sdk:dynamodb:updateItem") || !p.Waits() {
			found[call] = true
		}
	}

	return slices.Sorted(maps.Keys(found))
}

// Role is a role of the deployment, with the parts whose policies it has.
type role struct {
	Name     string
	Person   bool
	Policies []string
}

// doctorPart is the policy of those that compare what is deployed with the templates.
const doctorPart = "doctor"

// Roles returns the roles: of a worker with all parts, of the API, of each part alone, and of people.
func (p page) Roles() []role {
	own, ownParts := p.part("own"), p.part("parts")

	// A part without a list of permissions has no policy that a role could name.
	var parts []string
	for _, part := range p.Parts {
		parts = append(parts, p.part(part)...)
	}

	roles := []role{
		{Name: "worker", Policies: slices.Concat(parts, own, ownParts)},
		{Name: "api", Policies: append([]string{"api", doctorPart}, ownParts...)},
	}

	for _, part := range p.Parts {
		one := role{Name: part, Policies: append(p.part(part), ownParts...)}
		// Steps are the tasks of activities.
		if part == "activities" {
			one.Policies = append(one.Policies, own...)
		}
		roles = append(roles, one)
	}

	return append(roles,
		role{Name: "viewer", Person: true, Policies: []string{"viewer", doctorPart}},
		role{Name: "operator", Person: true, Policies: []string{"viewer", "operator", doctorPart}})
}

// part returns the name of a policy in a list, or nothing if there is no such policy.
func (p page) part(name string) []string {
	if slices.ContainsFunc(p.Policies, func(one Policy) bool { return one.Part == name }) {
		return []string{name}
	}

	return nil
}

// endpoint is a service of AWS that the processes call through an interface endpoint of a VPC.
type endpoint struct{ Logical, Service string }

// Endpoints returns the services that a process calls, without those of gateway endpoints.
func (p page) Endpoints() []endpoint {
	all := []endpoint{
		{"States", "states"}, {"Streams", "dynamodb-streams"}, {"Logs", "logs"},
		{"Registry", "ecr.api"}, {"Images", "ecr.dkr"}, {"Secrets", "secretsmanager"},
	}
	if p.Queue != nil {
		all = append(all, endpoint{"Queues", "sqs"})
	}

	return all
}

// Services returns what a service of ECS can run.
func (p page) Services() []string { return slices.Concat([]string{"worker", "api"}, p.Parts) }

// TableWidth, PlaceholderWidth and RoleWidth are the columns to which Terraform's format aligns names.
func (p page) TableWidth() int {
	var names []string
	for _, t := range created(p.Tables) {
		names = append(names, t.Name.Text)
	}

	return longest(names)
}

// PlaceholderWidth: see TableWidth.
func (p page) PlaceholderWidth() int {
	var names []string
	if p.Waits() {
		names = append(names, "TaskTokensTable")
	}

	for _, a := range p.Activities {
		names = append(names, a.Placeholder)
	}

	return longest(names)
}

// RoleWidth: see TableWidth.
func (p page) RoleWidth() int { return longest(p.Services()) }

func longest(names []string) (width int) {
	for _, name := range names {
		width = max(width, len(name))
	}

	return width
}

// methods are the methods that the templates call.
var methods = map[reflect.Type]map[string]any{reflect.TypeFor[page](): {
	"Endpoints": page.Endpoints, "Integrations": page.Integrations, "MachineFile": page.MachineFile, "Marker": page.Marker,
	"Parked": page.Parked, "PlaceholderWidth": page.PlaceholderWidth, "RoleWidth": page.RoleWidth, "Roles": page.Roles,
	"Services": page.Services, "TableWidth": page.TableWidth, "UndeclaredParts": page.UndeclaredParts, "Waits": page.Waits,
}}

// functions are the functions of the templates.
var functions = map[string]any{
	"camel":       camel,
	"join":        strings.Join,
	"statements":  Policy.statements,
	"describe":    describe,
	"created":     created,
	"keyType":     func(i int) string { return []string{"HASH", "RANGE"}[i] },
	"sub":         cloudFormationName,
	"arn":         cloudFormationARN,
	"queueArn":    func(q *Queue) string { return cloudFormationARN(resource{"queue", q.Name}) },
	"hcl":         terraformName,
	"hclText":     terraformText,
	"quoted":      terraformList,
	"named":       terraformResources,
	"tableObject": terraformTable,
	"pad":         func(width int, name string) string { return fmt.Sprintf("%-*s", width, name) },
	"quote":       quote,
	"variable": func(setting string) string {
		return "RATCHET_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
	},
}

func describe(part string) string {
	if text, known := descriptions[part]; known {
		return text
	}

	return "the part " + part + " of a worker"
}

// created returns the tables that the deployment creates, sorted by name.
func created(tables []Table) (all []Table) {
	for _, t := range tables {
		if !t.Name.Given {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Table) int { return strings.Compare(a.Name.Text, b.Name.Text) })

	return all
}

// quote returns a text as JSON and YAML have it.
func quote(text string) (string, error) {
	encoded, err := json.Marshal(text)
	return string(encoded), err
}

func cloudFormationName(n Name) string {
	if n.Given {
		return strconv.Quote(n.Text)
	}

	return `!Sub "${Prefix}` + n.Text + `"`
}

// cloudFormationKinds are the ARNs of the kinds of resources, up to the name.
var cloudFormationKinds = map[string]string{
	"table":        "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/",
	"queue":        "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:",
	"activity":     "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:activity:",
	"stateMachine": "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:",
	"execution":    "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:execution:",
	"role":         "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/",
	"policy":       "arn:${AWS::Partition}:iam::${AWS::AccountId}:policy/",
	"topic":        "arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:",
	"rule":         "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:rule/",
	"function":     "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:",
}

func cloudFormationARN(r resource) string {
	switch {
	case r.Kind == "":
		return strconv.Quote(r.Name.Text)
	case r.Name.Given:
		return `!Sub "` + cloudFormationKinds[r.Kind] + r.Name.Text + `"`
	}

	return `!Sub "` + cloudFormationKinds[r.Kind] + "${Prefix}" + r.Name.Text + `"`
}

func terraformName(n Name) string {
	if n.Given {
		return terraformText(n.Text)
	}

	return `"${var.prefix}` + n.Text + `"`
}

// terraformText returns a text as an expression of Terraform, in which ${ and %{ mean nothing.
func terraformText(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(text))
}

func terraformList(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = terraformText(text)
	}

	return strings.Join(all, ", ")
}

func terraformResources(resources []resource) string {
	all := make([]string, len(resources))

	for i, r := range resources {
		kind, name := r.Kind, "@"+r.Name.Text
		if kind == "" {
			kind = "other"
		}

		if r.Kind == "" || r.Name.Given {
			name = r.Name.Text
		}
		all[i] = fmt.Sprintf("[%q, %s]", kind, terraformText(name))
	}

	return strings.Join(all, ", ")
}

// terraformTable returns the members of a table's object.
func terraformTable(t Table) string {
	types := make([]string, len(t.Attributes))
	for i, a := range t.Attributes {
		types[i] = fmt.Sprintf("%s = %q", a.Name, a.Type)
	}

	members := []string{
		fmt.Sprintf("keys = [%s]", terraformList(t.Keys)),
		fmt.Sprintf("types = { %s }", strings.Join(types, ", ")),
	}

	var indexes []string
	for _, i := range t.Indexes {
		text := fmt.Sprintf("name = %q, keys = [%s], projection = %q", i.Name, terraformList(i.Keys), i.Projection)
		if len(i.Attributes) > 0 {
			text += fmt.Sprintf(", attributes = [%s]", terraformList(i.Attributes))
		}
		indexes = append(indexes, "{ "+text+" }")
	}

	if len(indexes) > 0 {
		members = append(members, fmt.Sprintf("indexes = [%s]", strings.Join(indexes, ", ")))
	}

	if t.Expiry != "" {
		members = append(members, fmt.Sprintf("ttl = %q", t.Expiry))
	}

	if t.Stream != "" {
		members = append(members, fmt.Sprintf("stream = %q", t.Stream))
	}

	return strings.Join(members, ", ")
}
