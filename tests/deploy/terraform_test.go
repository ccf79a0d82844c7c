package deploy

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// terraform is the module in deploy/terraform, with its locals and as much of its resources as the tests
// compare. It is read for the defaults of its variables and with the sandbox.
type terraform struct {
	t      *testing.T
	blocks map[string]*hclsyntax.Body // by type and labels, as "resource.aws_sqs_queue.requests"
	ctx    *hcl.EvalContext
	locals map[string]hclsyntax.Expression // that are to be evaluated
	local  map[string]cty.Value
	refs   map[string]map[string]cty.Value // resources that others name, by type and name
}

func readTerraform(t *testing.T) *terraform {
	t.Helper()

	return readTerraformIn(t, filepath.Join(root, "terraform"))
}

func readTerraformIn(t *testing.T, dir string) *terraform {
	t.Helper()

	m := &terraform{t: t, blocks: map[string]*hclsyntax.Body{}, local: map[string]cty.Value{}, refs: map[string]map[string]cty.Value{}}
	locals := map[string]hclsyntax.Expression{}
	variables := map[string]cty.Value{}

	for name, text := range terraformFiles(t, dir) {
		file, problems := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		m.must(problems)

		for _, block := range file.Body.(*hclsyntax.Body).Blocks {
			switch block.Type {
			case "locals":
				for name, attribute := range block.Body.Attributes {
					locals[name] = attribute.Expr
				}
			case "variable":
				if d, ok := block.Body.Attributes["default"]; ok {
					value, problems := d.Expr.Value(nil)
					m.must(problems)
					variables[block.Labels[0]] = value
				}
			default:
				m.blocks[strings.Join(append([]string{block.Type}, block.Labels...), ".")] = block.Body
			}
		}
	}
	variables["sandbox"] = cty.True

	object := func(attribute, value string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"current": cty.ObjectVal(map[string]cty.Value{attribute: cty.StringVal(value)})})
	}
	m.ctx = &hcl.EvalContext{Functions: functions(), Variables: map[string]cty.Value{
		"var":  cty.ObjectVal(variables),
		"path": cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(dir)}),
		"data": cty.ObjectVal(map[string]cty.Value{
			"aws_caller_identity": object("account_id", account),
			"aws_partition":       object("partition", "aws"),
			"aws_region":          object("region", region),
		}),
	}}
	m.locals = locals
	m.refer()
	m.evaluate(locals)

	return m
}

// terraformFiles returns the texts of the module by name.
func terraformFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()

	names, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no .tf files: %v", err)
	}

	files := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = text
	}

	return files
}

// TestTerraformIsFormatted does what `terraform fmt -check` does, without the program.
func TestTerraformIsFormatted(t *testing.T) { wantsFormat(t, filepath.Join(root, "terraform")) }

func wantsFormat(t *testing.T, dir string) {
	t.Helper()

	for name, text := range terraformFiles(t, dir) {
		if !bytes.Equal(hclwrite.Format(text), text) {
			t.Errorf("%s is not formatted: terraform fmt %s", name, dir)
		}
	}
}

func (m *terraform) must(problems hcl.Diagnostics) {
	m.t.Helper()

	if problems.HasErrors() {
		m.t.Fatal(problems)
	}
}

// evaluate evaluates locals, each after the locals that it names.
func (m *terraform) evaluate(locals map[string]hclsyntax.Expression) {
	for len(locals) > 0 {
		before := len(locals)
		for _, name := range slices.Sorted(maps.Keys(locals)) {
			if m.waits(locals[name], locals) {
				continue
			}

			m.ctx.Variables["local"] = cty.ObjectVal(m.local)
			value, problems := locals[name].Value(m.ctx)
			m.must(problems)
			m.local[name] = value
			delete(locals, name)
		}

		if len(locals) == before {
			m.t.Fatalf("locals name each other in a circle: %v", slices.Sorted(maps.Keys(locals)))
		}
	}
	m.ctx.Variables["local"] = cty.ObjectVal(m.local)
}

// waits reports whether an expression names a local that is still to be evaluated.
func (m *terraform) waits(expression hclsyntax.Expression, rest map[string]hclsyntax.Expression) bool {
	for _, traversal := range expression.Variables() {
		if traversal.RootName() != "local" {
			continue
		}

		if _, open := rest[traversal[1].(hcl.TraverseAttr).Name]; open {
			return true
		}
	}

	return false
}

// instances returns the attributes and nested blocks of each instance of a resource, by key; a resource
// without for_each has the key "".
func (m *terraform) instances(kind, name string) map[string]map[string]cty.Value {
	body, ok := m.blocks["resource."+kind+"."+name]
	if !ok {
		m.t.Fatalf("there is no resource %s.%s", kind, name)
	}

	each, ok := body.Attributes["for_each"]
	if !ok {
		return map[string]map[string]cty.Value{"": m.content(body, m.ctx)}
	}

	set, problems := each.Expr.Value(m.ctx)
	m.must(problems)

	all := map[string]map[string]cty.Value{}
	for it := set.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if set.Type().IsSetType() {
			key = value
		}

		ctx := m.ctx.NewChild()
		ctx.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		all[key.AsString()] = m.content(body, ctx)
	}

	return all
}

// content evaluates a body. Nested blocks are lists of objects under their type; dynamic blocks
// are expanded.
func (m *terraform) content(body *hclsyntax.Body, ctx *hcl.EvalContext) map[string]cty.Value {
	all := map[string]cty.Value{}
	for name, attribute := range body.Attributes {
		if name == "for_each" {
			continue
		}

		value, problems := attribute.Expr.Value(ctx)
		m.must(problems)
		all[name] = value
	}

	nested := map[string][]cty.Value{}
	for _, block := range body.Blocks {
		if block.Type != "dynamic" {
			if block.Type != "lifecycle" {
				nested[block.Type] = append(nested[block.Type], cty.ObjectVal(m.content(block.Body, ctx)))
			}

			continue
		}

		each, problems := block.Body.Attributes["for_each"].Expr.Value(ctx)
		m.must(problems)

		for it := each.ElementIterator(); it.Next(); {
			key, value := it.Element()
			inner := ctx.NewChild()
			inner.Variables = map[string]cty.Value{block.Labels[0]: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
			nested[block.Labels[0]] = append(nested[block.Labels[0]], cty.ObjectVal(m.content(block.Body.Blocks[0].Body, inner)))
		}
	}

	for kind, blocks := range nested {
		all[kind] = cty.TupleVal(blocks)
	}

	return all
}

// refer makes the resources known that others name.
func (m *terraform) refer() {
	named := func(kind, name string, value cty.Value) {
		if m.refs[kind] == nil {
			m.refs[kind] = map[string]cty.Value{}
		}
		m.refs[kind][name] = value
		m.ctx.Variables[kind] = cty.ObjectVal(m.refs[kind])
	}
	object := func(name, arn string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "arn": cty.StringVal(arn), "id": cty.StringVal(arn)})
	}
	states := "arn:aws:states:" + region + ":" + account + ":"

	named("aws_dynamodb_table", "table", cty.ObjectVal(map[string]cty.Value{
		"parked-tasks": object(prefix+"parked-tasks", "arn:aws:dynamodb:"+region+":"+account+":table/"+prefix+"parked-tasks"),
	}))
	named("aws_sqs_queue", "requests_dead_letters", object("", "arn:aws:sqs:"+region+":"+account+":"+prefix+"requests-dead-letters"))
	named("aws_iam_role", "state_machine", object("", "role"))
	named("aws_sfn_state_machine", "order", object("", states+"stateMachine:"+m.workflow()))
	named("aws_sns_topic", "alarms", object("", "ref:AlarmTopic"))

	activities := map[string]cty.Value{}
	for _, name := range m.listed(m.locals["activities"]) {
		activities[name] = object("", states+"activity:"+prefix+name)
	}
	named("aws_sfn_activity", "activity", cty.ObjectVal(activities))
}

// workflow returns the name of the state machine.
func (m *terraform) workflow() string {
	name, problems := m.blocks["resource.aws_sfn_state_machine.order"].Attributes["name"].Expr.Value(m.ctx)
	m.must(problems)

	return name.AsString()
}

// listed returns the texts of a list of literals.
func (m *terraform) listed(list hclsyntax.Expression) (all []string) {
	value, problems := list.Value(nil)
	m.must(problems)

	for _, one := range value.AsValueSlice() {
		all = append(all, one.AsString())
	}

	return all
}

// decodeValue turns a value into a Go type, by its JSON.
func decodeValue[T any](t *testing.T, value cty.Value) T {
	t.Helper()

	return decode[T](t, ctyjson.SimpleJSONValue{Value: value})
}

// functions are the functions of Terraform that the module calls.
func functions() map[string]function.Function {
	text := func(impl func([]string) (cty.Value, error), kind cty.Type, parameters int) function.Function {
		spec := &function.Spec{Type: function.StaticReturnType(kind), Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			texts := make([]string, len(args))
			for i, a := range args {
				texts[i] = a.AsString()
			}

			return impl(texts)
		}}
		for range parameters {
			spec.Params = append(spec.Params, function.Parameter{Type: cty.String})
		}

		return function.New(spec)
	}

	return map[string]function.Function{
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "values": stdlib.ValuesFunc, "flatten": stdlib.FlattenFunc, "join": stdlib.JoinFunc,
		"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "merge": stdlib.MergeFunc,
		"replace": stdlib.ReplaceFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc,
		"title": stdlib.TitleFunc, "trimspace": stdlib.TrimSpaceFunc,
		"toset":      stdlib.MakeToFunc(cty.Set(cty.String)),
		"startswith": text(func(a []string) (cty.Value, error) { return cty.BoolVal(strings.HasPrefix(a[0], a[1])), nil }, cty.Bool, 2),
		"file": text(func(a []string) (cty.Value, error) {
			content, err := os.ReadFile(a[0])
			return cty.StringVal(string(content)), err
		}, cty.String, 1),
		"templatefile": function.New(&function.Spec{
			Params: []function.Parameter{{Type: cty.String}, {Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				content, err := os.ReadFile(args[0].AsString())
				if err != nil {
					return cty.NilVal, err
				}

				parsed, problems := hclsyntax.ParseTemplate(content, args[0].AsString(), hcl.InitialPos)
				if problems.HasErrors() {
					return cty.NilVal, problems
				}

				value, problems := parsed.Value(&hcl.EvalContext{Variables: args[1].AsValueMap()})
				if problems.HasErrors() {
					return cty.NilVal, problems
				}

				return value, nil
			},
		}),
	}
}
