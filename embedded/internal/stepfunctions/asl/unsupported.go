package asl

// Reasons for refusing a field. They are part of a diagnostic's message.
const (
	noJSONata         = "JSONata is not supported by the embedded engine"
	noVariables       = "variables are not supported by the embedded engine"
	noCredentials     = "task credentials are not supported by the embedded engine"
	noDistributedMaps = "distributed Map is not supported by the embedded engine"
)

// unsupported are the fields of the language that the engine refuses, with the reason.
var unsupported = map[string]string{
	"Arguments": noJSONata,
	"Output":    noJSONata,
	"Items":     noJSONata,
	"Condition": noJSONata,

	"Assign": noVariables,

	"Credentials": noCredentials,

	"ItemReader":                     noDistributedMaps,
	"ItemBatcher":                    noDistributedMaps,
	"ResultWriter":                   noDistributedMaps,
	"Label":                          noDistributedMaps,
	"ToleratedFailureCount":          noDistributedMaps,
	"ToleratedFailureCountPath":      noDistributedMaps,
	"ToleratedFailurePercentage":     noDistributedMaps,
	"ToleratedFailurePercentagePath": noDistributedMaps,
}
