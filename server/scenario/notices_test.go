package scenario

import "testing"

func TestANotificationCountsOncePerKey(t *testing.T) {
	lines := `{"key":"o-1/2/notify","orderId":"o-1"}
{"key":"o-1/3/notify","orderId":"o-1"}
{"key":"o-1/2/notify","orderId":"o-1"}
`

	sent, repeats, err := countNotices([]byte(lines))
	if err != nil || sent != 2 || repeats != 1 {
		t.Errorf("%d sent, %d repeated, %v", sent, repeats, err)
	}

	if _, _, err := countNotices([]byte("{\n")); err == nil {
		t.Error("a line that is no notification is accepted")
	}
}
