package machines

import (
	"encoding/json"
	"errors"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// Revision is one definition of a machine. Executions keep the revision with which they
// were started.
type Revision struct {
	ID         uint64 `json:"id"`
	Machine    string `json:"machine"`
	Definition string `json:"definition"`
	RoleARN    string `json:"role"`
	Updated    int64  `json:"updated"`
	Express    bool   `json:"express,omitempty"`

	Program *asl.Machine `json:"-"` // compiled from Definition
}

// revisionCache is the number of compiled definitions that are kept in memory.
const revisionCache = 1024

// Revision returns a revision with its compiled definition.
func (c *Catalog) Revision(machine, id uint64) (*Revision, error) {
	c.revisionsMu.RLock()
	rev := c.revisions[id]
	c.revisionsMu.RUnlock()

	if rev != nil {
		return rev, nil
	}

	data, ok, err := c.db.Get(keys.Of(keys.Revision, machine, id))
	if err == nil && !ok {
		err = errors.New("it is missing")
	}

	rev = &Revision{}
	if err == nil {
		err = json.Unmarshal(data, rev)
	}

	if err != nil {
		return nil, fmt.Errorf("read definition %d: %w", id, err)
	}

	// The definition was accepted before it was stored, so a fault now is damage.
	program, found := parserOf(rev.Express)([]byte(rev.Definition))
	if program == nil {
		return nil, fmt.Errorf("read definition %d: %w", id, found.Err())
	}

	rev.Program = program
	c.cacheRevision(rev)

	return rev, nil
}

// cacheRevision adds a revision to the cache. If the cache is full, some other revision makes room.
func (c *Catalog) cacheRevision(rev *Revision) {
	c.revisionsMu.Lock()
	defer c.revisionsMu.Unlock()

	if len(c.revisions) >= revisionCache {
		// The first in a map's random order. An unlucky choice costs one compilation.
		for id := range c.revisions {
			delete(c.revisions, id)
			break
		}
	}

	c.revisions[rev.ID] = rev
}

// revisionID returns a revision's number in the form of AWS's revision ids.
func revisionID(id uint64) string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", id)
}

// parserOf returns the compiler of a type of machines.
func parserOf(express bool) func([]byte) (*asl.Machine, asl.Diagnostics) {
	if express {
		return asl.ParseExpress
	}

	return asl.Parse
}

// parseDefinition compiles a definition. It fails with InvalidDefinition.
func parseDefinition(definition string, express bool) (*asl.Machine, error) {
	if len(definition) > asl.MaxDefinition {
		return nil, requests.Invalid("1 validation error detected: Value at 'definition' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", asl.MaxDefinition)
	}

	program, found := parserOf(express)([]byte(definition))
	if program == nil {
		return nil, wire.Errorf("InvalidDefinition", "%v", found.Err())
	}

	return program, nil
}
