package asl

import (
	"strings"
	"testing"
)

// standard is the ProcessorConfig of a distributed Map.
const standard = `{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"}`

// distributedMap returns a definition with one Map; more fields of it end with a comma.
func distributedMap(config, more string) string {
	return machineOf(`"A":{"Type":"Map",` + more + `"End":true,"ItemProcessor":{"ProcessorConfig":` + config +
		`,"StartAt":"X","States":{"X":{"Type":"Succeed"}}}}`)
}

// A distributed Map has its item processor as a machine of its own, whose states have the
// ordinals of the definition.
func TestDistributedMap(t *testing.T) {
	m, found := Parse([]byte(machineOf(`"A":{"Type":"Map","Label":"a/b","ToleratedFailurePercentage":12.5,"ToleratedFailureCountPath":"$.c",
		"ItemBatcher":{"MaxInputBytesPerBatch":262144,"MaxItemsPerBatchPath":"$.n"},"Next":"B","Iterator":{"ProcessorConfig":` + standard + `,
		"StartAt":"X","States":{"X":{"Type":"Pass","Assign":{"v":1},"Next":"Y"},"Y":{"Type":"Pass","Parameters":{"v.$":"$v"},"End":true}}}},
		"B":{"Type":"Succeed"}`)))
	if m == nil {
		t.Fatal(found.Err())
	}

	d := m.Flow.Start.Distributed
	if d.Child.Flow.Start.Name != "X" || len(d.Child.States) != 4 || d.Child.States[d.Child.Flow.Start.Ordinal] != d.Child.Flow.Start {
		t.Errorf("the machine of the executions is %+v", d.Child)
	}

	if d.Label != "a/b" || d.ToleratedPercentage.Value != 12.5 || d.ToleratedCount.Path == nil || d.Batcher.Bytes.Value != 262144 ||
		d.Batcher.Items.Path == nil || d.Express {
		t.Errorf("%+v %+v", d, d.Batcher)
	}

	if _, found := ParseExpress([]byte(distributedMap(standard, ""))); found.Err() == nil {
		t.Error("an Express machine may have a distributed Map")
	}
}

// Each fault of a distributed Map is refused at its place.
func TestRefusedDistributedMaps(t *testing.T) {
	for _, row := range []struct{ says, definition, at string }{
		{
			says:       "a distributed map without the type of its executions",
			definition: distributedMap(`{"Mode":"DISTRIBUTED"}`, ""),
			at:         "/States/A/ItemProcessor/ProcessorConfig",
		},
		{
			says:       "executions of an unknown type",
			definition: distributedMap(`{"Mode":"DISTRIBUTED","ExecutionType":"FAST"}`, ""),
			at:         "/States/A/ItemProcessor/ProcessorConfig/ExecutionType",
		},
		{
			says:       "executions of an inline map",
			definition: distributedMap(`{"Mode":"INLINE","ExecutionType":"EXPRESS"}`, ""),
			at:         "/States/A/ItemProcessor/ProcessorConfig/ExecutionType",
		},
		{
			says:       "an unknown mode",
			definition: distributedMap(`{"Mode":"REMOTE"}`, ""),
			at:         "/States/A/ItemProcessor/ProcessorConfig/Mode",
		},
		{
			says:       "batches in an inline map",
			definition: distributedMap(`{}`, `"ItemBatcher":{"MaxItemsPerBatch":1},`),
			at:         "/States/A/ItemBatcher",
		},
		{
			says:       "batches without a limit",
			definition: distributedMap(standard, `"ItemBatcher":{"BatchInput":1},`),
			at:         "/States/A/ItemBatcher",
		},
		{
			says:       "batches of no items",
			definition: distributedMap(standard, `"ItemBatcher":{"MaxItemsPerBatch":0},`),
			at:         "/States/A/ItemBatcher/MaxItemsPerBatch",
		},
		{
			says:       "batches over the limit of an input",
			definition: distributedMap(standard, `"ItemBatcher":{"MaxInputBytesPerBatch":262145},`),
			at:         "/States/A/ItemBatcher/MaxInputBytesPerBatch",
		},
		{
			says:       "a number of batches and a path to one",
			definition: distributedMap(standard, `"ItemBatcher":{"MaxItemsPerBatch":2,"MaxItemsPerBatchPath":"$.n"},`),
			at:         "/States/A/ItemBatcher",
		},
		{
			says:       "an empty label",
			definition: distributedMap(standard, `"Label":"",`),
			at:         "/States/A/Label",
		},
		{
			says:       "a label with a space",
			definition: distributedMap(standard, `"Label":"a b",`),
			at:         "/States/A/Label",
		},
		{
			says:       "a label with a control character",
			definition: distributedMap(standard, `"Label":"a\u0085",`),
			at:         "/States/A/Label",
		},
		{
			says:       "a long label",
			definition: distributedMap(standard, `"Label":"`+strings.Repeat("x", 41)+`",`),
			at:         "/States/A/Label",
		},
		{
			says: "a label that another map has",
			definition: machineOf(`"A":{"Type":"Map","Label":"l","Next":"B","ItemProcessor":{"ProcessorConfig":` + standard + `,"StartAt":"X","States":{"X":{"Type":"Succeed"}}}},` +
				`"B":{"Type":"Map","Label":"l","End":true,"ItemProcessor":{"ProcessorConfig":` + standard + `,"StartAt":"Y","States":{"Y":{"Type":"Succeed"}}}}`),
			at: "/States/B/Label",
		},
		{
			says:       "a negative tolerance",
			definition: distributedMap(standard, `"ToleratedFailureCount":-1,`),
			at:         "/States/A/ToleratedFailureCount",
		},
		{
			says:       "more than all as tolerance",
			definition: distributedMap(standard, `"ToleratedFailurePercentage":100.5,`),
			at:         "/States/A/ToleratedFailurePercentage",
		},
		{
			says:       "a tolerance and a path to one",
			definition: distributedMap(standard, `"ToleratedFailurePercentage":1,"ToleratedFailurePercentagePath":"$.p",`),
			at:         "/States/A",
		},
		{
			says: "a variable of an outer scope in a distributed map",
			definition: machineOf(`"A":{"Type":"Map","End":true,"Assign":{"v":1},"ItemProcessor":{"ProcessorConfig":` + standard +
				`,"StartAt":"X","States":{"X":{"Type":"Pass","Parameters":{"x.$":"$v"},"End":true}}}}`),
			at: "/States/A/ItemProcessor",
		},
		{
			says: "an activity in an Express execution",
			definition: machineOf(`"A":{"Type":"Map","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"EXPRESS"},` +
				`"StartAt":"X","States":{"X":{WORK,"End":true}}}}`),
			at: "/States/A/ItemProcessor/States/X/Resource",
		},
		{
			says: "a distributed map in an Express execution",
			definition: machineOf(`"A":{"Type":"Map","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"EXPRESS"},` +
				`"StartAt":"X","States":{"X":{"Type":"Map","End":true,"ItemProcessor":{"ProcessorConfig":` + standard +
				`,"StartAt":"Y","States":{"Y":{"Type":"Succeed"}}}}}}}`),
			at: "/States/A/ItemProcessor/States/X/ItemProcessor/ProcessorConfig/Mode",
		},
		{
			says:       "an item reader",
			definition: distributedMap(standard, `"ItemReader":{},`),
			at:         "/States/A/ItemReader",
		},
		{
			says:       "a result writer",
			definition: distributedMap(standard, `"ResultWriter":{},`),
			at:         "/States/A/ResultWriter",
		},
	} {
		checkRefused(t, row.says, row.definition, codeSchema, row.at)
	}
}
