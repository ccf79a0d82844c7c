package executions

import (
	"context"
	"fmt"
	"regexp"
	"sync"

	"ratchet/internal/executionname"
	"ratchet/transitions"
)

// Name returns the name of an order's first execution: the order's id if Step Functions
// allows it as a name, else a digest of it. Names of executions are unique, so an order
// has at most one first execution. An id that looks like a digested name is digested, too, so that
// no two orders have the same name.
func Name(id transitions.OrderID) string {
	if executionname.IsValid(string(id)) && !digestedName().MatchString(string(id)) {
		return string(id)
	}

	return "order-" + digest(id)
}

var digestedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(order|successor-[0-9]+)-[0-9a-f]{32}$`)
})

// numbered returns the name of an order's execution by its number in the chain. The name of
// a successor has a digest, and is no name of an order's first execution.
func numbered(id transitions.OrderID, number int) string {
	if number <= 1 {
		return Name(id)
	}

	return fmt.Sprintf("successor-%d-%s", number, digest(id))
}

func digest(id transitions.OrderID) string { return executionname.Digest(string(id)) }

// ARN returns the ARN of the order's first execution, whether it exists or not.
func (e *Executions) ARN(ctx context.Context, id transitions.OrderID) (string, error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return "", err
	}

	return executionname.ARN(machine, Name(id)), nil
}
