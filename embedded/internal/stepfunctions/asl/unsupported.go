package asl

// Reasons for refusing a field. They are part of a diagnostic's message.
const (
	noCredentials = "task credentials are not supported by the embedded engine"
	noItemReader  = "ItemReader reads from Amazon S3, which the embedded engine does not have: " +
		"a distributed Map takes its items from the state's input (ItemsPath, or Items in JSONata)"
	noResultWriter = "ResultWriter is not supported by the embedded engine: " +
		"a distributed Map returns the array of its results"
)

// unsupported are the fields of the language that the engine refuses, with the reason.
var unsupported = map[string]string{
	"Credentials": noCredentials,

	"ItemReader":   noItemReader,
	"ResultWriter": noResultWriter,
}
