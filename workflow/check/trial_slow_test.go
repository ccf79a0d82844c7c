package check_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ratchet/workflow/check"
)

// slowed creates the machine whose branches beside the path of a finding begin late. It returns "" if there are
// no such branches.
func (l *lab) slowed(t testing.TB, asl string, f check.Finding) string {
	var machine part
	if err := json.Unmarshal([]byte(asl), &machine); err != nil {
		t.Fatal(err)
	}

	if !slowBranches(machine, f) {
		return ""
	}

	text, err := json.Marshal(machine)
	if err != nil {
		t.Fatal(err)
	}

	arn, err := l.machine(string(text))
	if err != nil {
		t.Fatal(err)
	}

	return arn
}

// slowBranches puts a Wait before the branches of a scope that the path of a finding does not enter.
func slowBranches(scope part, f check.Finding) bool {
	slowed := false
	for name, s := range scope["States"].(part) {
		branches, _ := s.(part)["Branches"].([]any)
		for i, b := range branches {
			b := b.(part)
			if slowBranches(b, f) {
				slowed = true
			}

			if entered(b, f) {
				continue
			}

			wait := name + "Late" + string(rune('0'+i))
			b["States"].(part)[wait] = part{"Type": "Wait", "Seconds": 90, "Next": b["StartAt"]}
			b["StartAt"] = wait
			slowed = true
		}
	}

	return slowed
}

// entered reports whether the path of a finding has a state of the scope.
func entered(scope part, f check.Finding) bool {
	states := scope["States"].(part)
	has := func(path string) bool {
		return slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return states[name] != nil })
	}

	return has(f.State) || slices.ContainsFunc(f.Path, func(s check.PathState) bool { return has(s.State) })
}
