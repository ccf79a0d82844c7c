package counter

import (
	"strings"
	"testing"
)

func TestCounter(t *testing.T) {
	c := Counter{Limit: 3}
	if c.Positive() {
		t.Error("positive before the first")
	}

	if err := c.Add(); err != nil || c.N != 1 || !c.Positive() {
		t.Errorf("%+v, %v", c, err)
	}

	if c.Drain(); c.N != 0 {
		t.Errorf("drained to %d", c.N)
	}

	if !strings.HasPrefix(Condition(), "attribute_not_exists(id) AND ") {
		t.Error(Condition())
	}
}
