package deploy

import (
	"fmt"
	"slices"
	"strings"
)

// core returns what main.tf creates, and the protection of its tables.
func (m *terraform) core() (resources, map[string]guarded) {
	t := m.t
	r := resources{Tables: map[string]table{}, Queues: map[string]queue{}}
	protection := map[string]guarded{}

	for _, content := range m.instances("aws_dynamodb_table", "table") {
		one := tableBlock{}
		for name, value := range content {
			switch name {
			case "name":
				one.Name = value.AsString()
			case "billing_mode":
				one.Billing = value.AsString()
			case "hash_key":
				one.Hash = value.AsString()
			case "range_key":
				if !value.IsNull() {
					one.Range = value.AsString()
				}
			case "stream_view_type":
				if !value.IsNull() {
					one.Stream = value.AsString()
				}
			case "stream_enabled":
				one.StreamEnabled = value.True()
			case "deletion_protection_enabled":
				one.DeletionProtection = value.True()
			case "attribute":
				one.Attributes = decodeValue[[]struct{ Name, Type string }](t, value)
			case "global_secondary_index":
				one.Indexes = decodeValue[[]indexBlock](t, value)
			case "ttl":
				one.TTL = decodeValue[[]ttlBlock](t, value)
			case "point_in_time_recovery":
				one.PointInTime = decodeValue[[]struct{ Enabled bool }](t, value)
			default:
				t.Errorf("the test does not know %s of a table", name)
			}
		}
		r.Tables[one.Name] = one.table()
		protection[one.Name] = guarded{len(one.PointInTime) == 1 && one.PointInTime[0].Enabled, one.DeletionProtection}

		if one.StreamEnabled != (one.Stream != "") {
			t.Errorf("stream_enabled of %s is %t", one.Name, one.StreamEnabled)
		}
	}

	for _, name := range []string{"requests", "requests_dead_letters"} {
		if m.blocks["resource.aws_sqs_queue."+name] == nil {
			continue // the program takes no requests from a queue
		}

		content := m.instances("aws_sqs_queue", name)[""]
		q := queue{Retention: content["message_retention_seconds"].AsBigFloat().String()}
		if policy, ok := content["redrive_policy"]; ok {
			q.Redrive = canonical(t, policy.AsString())
		}
		r.Queues[content["name"].AsString()] = q
	}

	for _, content := range m.instances("aws_sfn_activity", "activity") {
		r.Activities = append(r.Activities, content["name"].AsString())
	}
	slices.Sort(r.Activities)

	machine := m.instances("aws_sfn_state_machine", "order")[""]
	r.Machine, r.Definition = machine["name"].AsString(), machine["definition"].AsString()

	return r, protection
}

type indexBlock struct {
	Name       string
	Hash       string `json:"hash_key"`
	Range      string `json:"range_key"`
	Projection string `json:"projection_type"`
}

type ttlBlock struct {
	Attribute string `json:"attribute_name"`
	Enabled   bool
}

type tableBlock struct {
	Name, Billing, Hash, Range, Stream string
	StreamEnabled, DeletionProtection  bool
	Attributes                         []struct{ Name, Type string }
	Indexes                            []indexBlock
	TTL                                []ttlBlock
	PointInTime                        []struct{ Enabled bool }
}

func (b tableBlock) table() table {
	keys := func(names ...string) string {
		var typed []string
		for _, name := range names {
			for _, a := range b.Attributes {
				if a.Name == name {
					typed = append(typed, fmt.Sprintf("%s:%s", name, a.Type))
				}
			}
		}

		return strings.Join(typed, ",")
	}

	one := table{Keys: keys(b.Hash, b.Range), Billing: b.Billing, Stream: b.Stream}
	for _, index := range b.Indexes {
		one.Index = indexOf(index.Name, keys(index.Hash, index.Range), index.Projection)
	}

	for _, ttl := range b.TTL {
		if ttl.Enabled {
			one.TTL = ttl.Attribute
		}
	}

	return one
}
