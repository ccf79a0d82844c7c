package arns

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// MaxName is the length of the longest name, in characters.
const MaxName = 80

// Account is the account and the Region in which everything lies.
type Account struct{ Region, ID string }

// ARN returns the ARN of a resource.
func (a Account) ARN(resource, name string) string {
	return "arn:aws:states:" + a.Region + ":" + a.ID + ":" + resource + ":" + name
}

// Execution returns the ARN of a Standard execution.
func (a Account) Execution(machine, name string) string {
	return a.ARN("execution", machine) + ":" + name
}

// Express returns the ARN of an Express execution. Its last part tells executions of one
// name apart.
func (a Account) Express(machine, name, run string) string {
	return a.ARN("express", machine) + ":" + name + ":" + run
}

// Child returns the ARN of an execution that the Map Run with a label has started.
func (a Account) Child(machine, label, name string, express bool) string {
	if !express {
		return a.Execution(Labeled(machine, label), name)
	}

	// Computed from the name, because every answer must show the same ARN and no record keeps it.
	sum := sha256.Sum256([]byte(label + ":" + name))

	return a.Express(Labeled(machine, label), name, UUID(sum[:16]))
}

// Version returns the ARN of a version, "" for the number 0.
func (a Account) Version(machine string, number uint64) string {
	if number == 0 {
		return ""
	}

	return a.ARN("stateMachine", machine) + ":" + strconv.FormatUint(number, 10)
}

// Alias returns the ARN of an alias, "" for the name "".
func (a Account) Alias(machine, name string) string {
	if name == "" {
		return ""
	}

	return a.ARN("stateMachine", machine) + ":" + name
}

// CheckName fails for names that AWS does not accept.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
func CheckName(name string) error {
	if err := requests.AtMost(name, "name", MaxName); err != nil {
		return err
	}

	bad := strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>{}[]?*\"#%\\^|~`$&,;:/", r) ||
			r == '\uFFFE' || r == '\uFFFF' || r == utf8.RuneError
	})
	if name == "" || bad {
		return wire.Errorf("InvalidName", "Invalid Name: '%s'", name)
	}

	return nil
}

// Invalid is the refusal of an ARN, which quotes the part that is wrong.
func Invalid(part, why string) error {
	return wire.Errorf("InvalidArn", "Invalid Arn: '%s: %s'", why, part)
}

// Name returns the name in an ARN. ok is false for an ARN of another account or
// Region: it is well formed, and nothing exists under it.
func (a Account) Name(arn, resource string) (name string, ok bool, err error) {
	parts := strings.SplitN(arn, ":", 7)
	if len(parts) != 7 || parts[0] != "arn" || parts[2] != "states" {
		return "", false, Invalid(arn, "Invalid ARN prefix")
	}

	if parts[5] != resource {
		return "", false, Invalid(parts[5], "Resource type not valid in this context")
	}

	// No operation takes the ARN of a Map inside of a machine.
	if resource == "stateMachine" && strings.Contains(parts[6], "/") {
		return "", false, requests.InvalidFor("API_DOES_NOT_SUPPORT_LABELED_ARNS", "This operation does not support labeled state machine ARNs: '%s'", arn)
	}

	return parts[6], strings.HasPrefix(arn, a.ARN(resource, "")), nil
}

// Qualified splits the ARN of a version or alias into the machine's name and the qualifier.
func (a Account) Qualified(arn string) (machine, qualifier string, ours bool, err error) {
	rest, ours, err := a.Name(arn, "stateMachine")
	machine, qualifier, _ = strings.Cut(rest, ":")

	return machine, qualifier, ours, err
}

// The ARNs of a Map Run and of its children have the machine's name and the Map's label with a slash
// between them. Names of machines cannot contain a slash.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html

// Labeled returns the name of a machine with the label of one of its Maps, which may be "".
func Labeled(machine, label string) string {
	if label == "" {
		return machine
	}

	return machine + "/" + label
}

// UUID returns 16 bytes in the form of a UUID that has been computed from a name.
func UUID(b []byte) string {
	// Version 8, which RFC 9562 leaves to the application, and the variant of the RFC.
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)

	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
