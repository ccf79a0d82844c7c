package deploy

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func minimal() Program {
	return Program{
		Workflow: "ticket", Version: 1,
		Machine:    []byte(`{"States": {"Triage": {"Resource": "${TriageArn}"}, "Print": {"Resource": "arn:aws:states:::lambda:invoke"}}}`),
		Activities: []Activity{{Name: "triage", Placeholder: "TriageArn"}},
		Tables:     []Table{{Name: Name{Text: "orders"}, Keys: []string{"orderId"}, Attributes: []Attribute{{"orderId", "S"}}}},
		Orders:     Name{Text: "orders"},
		Parts:      []string{"activities"},
		Policies:   []Policy{{Part: "activities", Permissions: []Permission{{"states:GetActivityTask", "activity", Name{Text: "triage"}}}}},
	}
}

// TestAMachineThatIsTooLargeIsRefused: one of the largest size that Step Functions takes goes by its file, and is not
// a part of the template; a larger one is refused.
func TestAMachineThatIsTooLargeIsRefused(t *testing.T) {
	for _, kind := range Kinds() {
		p := minimal()
		p.Machine = append(p.Machine, bytes.Repeat([]byte(" "), maxMachine-len(p.Machine))...)

		files, err := kind.Files(p)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}

		for name, text := range files {
			if name != machineFile && len(text) > 60_000 {
				t.Errorf("%s has %d bytes", name, len(text))
			}
		}

		if !bytes.Equal(files[machineFile], p.Machine) {
			t.Errorf("%s: the file of the state machine is another one", kind)
		}

		p.Machine = append(p.Machine, ' ')
		if _, err := kind.Files(p); !errors.Is(err, errMachine) {
			t.Errorf("%s: %v, want errMachine", kind, err)
		}
	}
}

// TestCallsOfTheStateMachineHaveAPlace: the templates cannot know what the role needs for them, and say so.
func TestCallsOfTheStateMachineHaveAPlace(t *testing.T) {
	for kind, file := range map[Kind]string{CloudFormation: "core.yaml", Terraform: "main.tf"} {
		files, err := kind.Files(minimal())
		if err != nil {
			t.Fatal(err)
		}

		text := string(files[file])
		if !strings.Contains(text, "The state machine calls lambda:invoke. Add a policy") || strings.Contains(text, "TaskTokensTable") {
			t.Errorf("%s:\n%s", file, text)
		}
	}
}

// TestTextsOfSettingsStayTexts: nothing in a value is read as an expression.
func TestTextsOfSettingsStayTexts(t *testing.T) {
	p := minimal()
	p.Settings = []Setting{{"orders-key", "pk=\"${x}%{y}\\"}}

	for kind, want := range map[Kind]string{
		CloudFormation: `{Name: RATCHET_ORDERS_KEY, Value: "pk=\"${x}%{y}\\"}`,
		Terraform:      `{ name = "RATCHET_ORDERS_KEY", value = "pk=\"$${x}%%{y}\\" }`,
	} {
		files, err := kind.Files(p)
		if err != nil {
			t.Fatal(err)
		}

		if name := "service" + kind.extension(); !strings.Contains(string(files[name]), want) {
			t.Errorf("%s lacks %s", name, want)
		}
	}
}
