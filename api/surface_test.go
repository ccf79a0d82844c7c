package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestServicesShareWhatIsMadeOfTheirOperations: each answers for itself all the same.
func TestServicesShareWhatIsMadeOfTheirOperations(t *testing.T) {
	serviceOf := func(dev bool, draining chan struct{}) *service {
		s, err := newService(Config{Secret: make([]byte, secretBytes), Dev: dev, Draining: draining}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}

		return s
	}
	stopping := serviceOf(true, closed())
	serving := serviceOf(true, nil)

	if stopping.surface != serving.surface || serving.surface == serviceOf(false, nil).surface {
		t.Error("services that differ in their operations share a surface, or those that do not differ have two")
	}

	for s, want := range map[*service]int{stopping: http.StatusServiceUnavailable, serving: http.StatusOK} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+readyPath, nil))

		if w.Code != want {
			t.Errorf("%d, want %d", w.Code, want)
		}
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)

	return c
}
