package stepfunctions

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/embedded/internal/wire"
)

// maxName is the length of the longest name, in characters.
const maxName = 80

func (s *Service) arn(resource, name string) string {
	return "arn:aws:states:" + s.cfg.Region + ":" + s.cfg.AccountID + ":" + resource + ":" + name
}

func (s *Service) executionARN(machine, name string) string {
	return s.arn("execution", machine) + ":" + name
}

// checkName fails for names that AWS does not accept.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
func checkName(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>{}[]?*\"#%\\^|~`$&,;:/", r) ||
			r == '\uFFFE' || r == '\uFFFF' || r == utf8.RuneError
	})
	if n := utf8.RuneCountInString(name); n == 0 || n > maxName || bad {
		return wire.Errorf("InvalidName", "Invalid Name: '%s'", name)
	}

	return nil
}

// invalidARN is the refusal of an ARN, which quotes the part that is wrong.
func invalidARN(part, why string) error {
	return wire.Errorf("InvalidArn", "Invalid Arn: '%s: %s'", why, part)
}

// resourceName returns the name in an ARN. ok is false for an ARN of another account or
// Region: it is well formed, and nothing exists under it.
func (s *Service) resourceName(arn, resource string) (name string, ok bool, err error) {
	parts := strings.SplitN(arn, ":", 7)
	if len(parts) != 7 || parts[0] != "arn" || parts[2] != "states" {
		return "", false, invalidARN(arn, "Invalid ARN prefix")
	}

	if parts[5] != resource {
		return "", false, invalidARN(parts[5], "Resource type not valid in this context")
	}

	// No operation takes the ARN of a Map inside of a machine.
	if resource == "stateMachine" && strings.Contains(parts[6], "/") {
		return "", false, invalidFor("API_DOES_NOT_SUPPORT_LABELED_ARNS", "This operation does not support labeled state machine ARNs: '%s'", arn)
	}

	return parts[6], strings.HasPrefix(arn, s.arn(resource, "")), nil
}
