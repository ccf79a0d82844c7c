package asl

import (
	"slices"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// The query languages.
const (
	languageJSONPath = "JSONPath"
	languageJSONata  = "JSONata"
)

// Fields that only one of the query languages has.
// Source: https://github.com/floci-io/floci/issues/2968: measured on AWS.
var (
	jsonPathFields = []string{
		"InputPath", "OutputPath", "ResultPath", "ResultSelector", "Parameters", "Result", "ItemsPath", "Variable",
		"TimeoutSecondsPath", "HeartbeatSecondsPath", "SecondsPath", "TimestampPath", "ErrorPath", "CausePath",
		"MaxConcurrencyPath", "ToleratedFailureCountPath", "ToleratedFailurePercentagePath",
		"MaxItemsPerBatchPath", "MaxInputBytesPerBatchPath",
	}
	jsonataFields = []string{"Arguments", "Output", "Items", "Condition"}
)

// queryLanguage reads QueryLanguage and reports whether it is JSONata. As on the service, a wrong value is
// a fault and counts as JSONata.
func (p *parser) queryLanguage(o *object, inherited bool) (jsonata bool) {
	const field = "QueryLanguage"

	v, ok := o.field(field)
	if !ok {
		return inherited
	}

	name, isText := rawjson.Text(v)
	switch {
	case !isText:
		p.fault(codeSchema, o.at+"/"+field, "Expected value of type [STRING]")
	case name != languageJSONPath && name != languageJSONata:
		p.fault(codeSchema, o.at+"/"+field, "Value should be one of the following: [%s, %s]", languageJSONPath, languageJSONata)
	case name == languageJSONPath && inherited:
		p.fault(codeSchema, o.at, "'%s' can not be '%s' if set to '%s' for whole state machine", field, languageJSONPath, languageJSONata)
	}

	return name != languageJSONPath || inherited
}

// otherLanguage reports a field of the query language that the state does not have.
func (o *object) otherLanguage(field string) bool {
	language, other, fields := languageJSONPath, languageJSONata, jsonataFields
	if o.p.jsonata {
		language, other, fields = languageJSONata, languageJSONPath, jsonPathFields
	}

	// reads is nil outside of states, where fields belong to no language.
	if o.p.reads == nil || !slices.Contains(fields, field) {
		return false
	}

	o.p.fault(codeSchema, o.at, "The QueryLanguage is set to '%s', but field '%s' is only supported for the '%s' QueryLanguage",
		language, field, other)

	return true
}
