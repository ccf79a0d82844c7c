package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

const (
	ofPrograms = "a program of the shop does it; a person only for a trial"
	ofMachine  = "it is about a machine, a table or a file, and not about an order"
	ofSecurity = "the console must not widen what a stolen session can do"
)

// withoutForm are the commands that act without a form in the console, with the reason.
var withoutForm = map[string]string{
	"accounts close":         ofPrograms,
	"accounts create":        ofPrograms,
	"actions bulk":           ofPrograms,
	"actions cancel":         "only who has the id of an action may use it, and pages show no such ids",
	"actions consume":        "only who has the id of an action may use it, and pages show no such ids",
	"actions create":         ofPrograms,
	"actions release":        "only who has the id of an action may use it, and pages show no such ids",
	"actions reserve":        "only who has the id of an action may use it, and pages show no such ids",
	"backup":                 ofMachine,
	"claims force-release":   "only for those who know that the owner is dead, on its machine",
	"compact":                ofMachine,
	"endpoints change":       "the settings of an endpoint belong to the deployment of its receiver",
	"endpoints delete":       "to disable it stops it, and can be undone",
	"executions start":       ofPrograms,
	"holds create":           ofPrograms,
	"holds release":          ofPrograms,
	"inventory add-items":    ofPrograms,
	"inventory commit":       ofPrograms,
	"inventory expire":       ofPrograms,
	"inventory release":      ofPrograms,
	"inventory reserve":      ofPrograms,
	"inventory set":          ofPrograms,
	"keys create":            ofSecurity,
	"keys revoke":            ofSecurity,
	"keys rotate":            ofSecurity,
	"orders adopt":           ofMachine,
	"orders create":          ofPrograms,
	"orders import":          ofMachine,
	"orders rebuild":         "it follows a restore of a table, which is done with commands",
	"orders rebuild-timers":  "it follows a restore of a table, which is done with commands",
	"orders renew":           ofPrograms,
	"orders ship":            ofPrograms,
	"payments authorize":     ofPrograms,
	"payments capture":       "the order's own steps capture; a second capture by hand would be money twice",
	"payments recover":       "workers do it all the time",
	"shipments reports done": "an answer to the carrier's report needs what the carrier says, which pages do not show",
	"transfers create":       ofPrograms,
	"trigger":                "it is a command for trials",
	"jobs start":             "each kind has a form of its own",
	"orders rebuild-lists":   "form lists-rebuild",
	"streams rebuild":        "form streams-refill",
	"streams replay":         "form streams-replay",
	"jobs pause":             "form pause-job",
	"jobs resume":            "form resume-job",
	"jobs stop":              "form stop-job",
}

// TestEachCommandThatActsHasAFormOrAReason: what an operator does by a command can be done in the console, too.
func TestEachCommandThatActsHasAFormOrAReason(t *testing.T) {
	files, err := filepath.Glob("../../console/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}

	var lines []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for _, found := range regexp.MustCompile(`command: "ratchet ([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			lines = append(lines, found[1])
		}
	}

	// Every command of a form is one that there is, and one that the list of acts knows.
	forms := map[string]bool{}
	for _, line := range lines {
		if line == "jobs " {
			continue // and the verb of a job behind it
		}

		c, _, err := newRoot(server.Parts{}).Find(regexp.MustCompile(`[a-z-]+`).FindAllString(regexp.MustCompile(`^[a-z -]+`).FindString(line), -1))
		if err != nil {
			t.Errorf("the form's command %q: %v", line, err)
			continue
		}
		name := settings.CommandName(c)
		forms[name] = true

		if _, listed := acts[name]; !listed {
			t.Errorf("%s has a form, and is not in the list of commands that act", name)
		}
	}

	for name := range acts {
		if reason, listed := withoutForm[name]; forms[name] == listed || listed && reason == "" {
			t.Errorf("%s: has a form: %t, is listed as without one: %t (%s)", name, forms[name], listed, reason)
		}
	}

	for name := range withoutForm {
		if _, known := acts[name]; !known {
			t.Errorf("%s is no command that acts", name)
		}
	}
}
