package executions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"ratchet/transitions"
)

// nameRule allows the length of a name but fewer characters than Step Functions:
// https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// Name returns the name of an order's first execution: the order's id if Step Functions
// allows it as a name, else a digest of it. Names of executions are unique, so an order
// has at most one first execution.
func Name(id transitions.OrderID) string {
	if nameRule.MatchString(string(id)) {
		return string(id)
	}

	return "order-" + digest(id)
}

// numbered returns the name of an order's execution by its number in the chain. The name of
// a successor has a digest, so no order's id is likely to equal it.
func numbered(id transitions.OrderID, number int) string {
	if number <= 1 {
		return Name(id)
	}

	return fmt.Sprintf("successor-%d-%s", number, digest(id))
}

func digest(id transitions.OrderID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// ARN returns the ARN of the order's first execution, whether it exists or not.
func (e *Executions) ARN(ctx context.Context, id transitions.OrderID) (string, error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return "", err
	}

	return arnOf(machine, Name(id)), nil
}

// arnOf returns the ARN that Step Functions gives to an execution of that name.
func arnOf(machineARN, name string) string {
	return strings.Replace(machineARN, ":stateMachine:", ":execution:", 1) + ":" + name
}
