package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ratchet/workflow"
)

// surface is what services with the same operations share: the routing of their requests, how these are read and
// checked, and the document. Making it takes a hundred times as long as all else of a service.
type surface struct {
	mux      *http.ServeMux
	document func() ([]byte, error) // OpenAPI, as JSON
}

// surfaces are those that this process has made, by shape.
var surfaces struct {
	sync.Mutex
	made map[string]*surface
}

// mostSurfaces bounds them: a process has one or two, but a test may make a definition for each of its cases.
const mostSurfaces = 8

// surfaceOf returns the surface of services like s.
func surfaceOf(s *service) *surface {
	surfaces.Lock()
	defer surfaces.Unlock()

	shape := s.shape()
	if known := surfaces.made[shape]; known != nil {
		return known
	}

	if surfaces.made == nil || len(surfaces.made) >= mostSurfaces {
		surfaces.made = map[string]*surface{}
	}

	made := newSurface(s)
	surfaces.made[shape] = made

	return made
}

// shape says all by which the surfaces of two services differ.
func (s *service) shape() string {
	definition := s.definition()

	states := definition.States()
	names := make([]string, 0, len(states))
	for _, state := range states {
		names = append(names, string(state.State))
	}

	return fmt.Sprintf("%t %t %q %q %q", s.cfg.Dev, definition.Has(workflow.PartTotal), names, definition.Events(), definition.Place())
}

// newSurface makes the surface of services like s. It keeps nothing of s.
func newSurface(s *service) *surface {
	mux := http.NewServeMux()
	h := humago.New(mux, humaConfig())
	s.routes(h)

	// The least specific pattern: it gets every request that no route matches.
	mux.HandleFunc("/", ofService((*service).noRoute))
	mux.HandleFunc("GET /openapi.json", ofService((*service).serveDocument))
	mux.HandleFunc("GET "+ErrorsPath, ofService((*service).serveErrors))

	return &surface{
		mux: mux,
		// Few processes are asked for the document.
		document: sync.OnceValues(func() ([]byte, error) { return json.MarshalIndent(h.OpenAPI(), "", "  ") }),
	}
}

// ofService lets the service of each call answer its request.
func ofService(serve func(*service, http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { serve(callOf(r.Context()).service, w, r) }
}

// describe changes the document while the surface is made.
func describe(h huma.API, change func(*huma.OpenAPI)) {
	if h != nil {
		change(h.OpenAPI())
	}
}
