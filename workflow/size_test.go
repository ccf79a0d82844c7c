package workflow_test

import (
	"testing"

	"ratchet/workflow"
)

// TestTheSizeOfATextIsThatOfDynamoDB: the code units of UTF-16, not the bytes.
func TestTheSizeOfATextIsThatOfDynamoDB(t *testing.T) {
	for text, size := range map[string]int64{"": 0, "ab": 2, "é": 1, "€": 1, "𝄞": 2} {
		g := workflow.Guard{Name: "size", Attribute: "size(note)", Op: "=", Value: size}

		holds, err := g.Holds(map[string]any{"note": text}, nil)
		if err != nil || !holds {
			t.Errorf("size(%q) is not %d: %v", text, size, err)
		}
	}
}
