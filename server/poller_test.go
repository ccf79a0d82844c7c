package server

import "testing"

// TestWorkersOfEarlierProcessesHaveEnded, and no other ones: not those of this process, nor those that come over an endpoint.
func TestWorkersOfEarlierProcessesHaveEnded(t *testing.T) {
	b := &Backend{engineID: "ABCDEFGH"}
	for worker, ended := range map[string]bool{
		"dev@engine-ABCDEFGH-1234567890": false,
		"dev@engine-ABCDEFGI-1234567890": true,
		"worker-ABCDEFGI":                false,
		"":                               false,
	} {
		if b.ofEarlierProcess(worker) != ended {
			t.Errorf("%q: ended %t", worker, !ended)
		}
	}
}
