package execution

import "time"

// Limits of executions.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const (
	// MaxDocument is the size of the largest input, output or task result, in bytes.
	MaxDocument = 256 << 10
	// maxEvents is the length of the longest history. An execution that reaches it fails.
	maxEvents = 25000
	// maxConcurrency is the number of iterations of a Map that run at a time.
	maxConcurrency = 40

	// redriveWindow is the time after its end in which an execution can be redriven.
	redriveWindow = 14 * 24 * time.Hour
	maxRedrives   = 1000
)

// Limits of the engine. A turn that has grown past one of them continues in the next turn,
// so that a loop without waits does not become one unbounded batch.
const (
	maxTurnEvents = 1000
	maxTurnBytes  = 4 << 20
	maxTurnTime   = time.Second
	// maxSelection is the time in which a Map has to select the inputs of its iterations in one turn. The
	// lock of the execution is held for that long.
	maxSelection = 30 * time.Second
)
