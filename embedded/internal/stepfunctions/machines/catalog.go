package machines

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Catalog has the machines of a store.
type Catalog struct {
	db      *store.DB
	account arns.Account
	clock   *clock.Clock
	random  *rand.Rand
	ids     *keys.Sequence

	// mu guards machines.
	mu       sync.RWMutex
	machines map[string]*Machine

	revisionsMu sync.RWMutex
	revisions   map[uint64]*Revision
}

// Open reads the machines of a store.
func Open(db *store.DB, account arns.Account, clock *clock.Clock, random *rand.Rand, ids *keys.Sequence) (*Catalog, error) {
	c := &Catalog{
		db: db, account: account, clock: clock, random: random, ids: ids,
		machines: map[string]*Machine{}, revisions: map[uint64]*Revision{},
	}

	err := keys.Each(db, keys.Machine, func(_, v []byte) (bool, error) {
		m := &Machine{starts: &sync.RWMutex{}}
		err := json.Unmarshal(v, m)
		c.machines[m.Name] = m

		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read state machines: %w", err)
	}

	return c, nil
}

// Operations are the operations that concern machines only.
func (c *Catalog) Operations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CreateStateMachine":             requests.Decoded(c.create),
		"UpdateStateMachine":             requests.Decoded(c.update),
		"DescribeStateMachine":           requests.Decoded(c.describe),
		"ListStateMachines":              requests.Decoded(c.list),
		"ValidateStateMachineDefinition": requests.Decoded(c.validate),
		// version.go, alias.go
		"PublishStateMachineVersion": requests.Decoded(c.publishVersion),
		"DeleteStateMachineVersion":  requests.Decoded(c.deleteVersion),
		"ListStateMachineVersions":   requests.Decoded(c.listVersions),
		"CreateStateMachineAlias":    requests.Decoded(c.createAlias),
		"DescribeStateMachineAlias":  requests.Decoded(c.describeAlias),
		"UpdateStateMachineAlias":    requests.Decoded(c.updateAlias),
		"DeleteStateMachineAlias":    requests.Decoded(c.deleteAlias),
		"ListStateMachineAliases":    requests.Decoded(c.listAliases),
	}
}

// named returns the machine with an ARN, which must not be the ARN of a version or alias.
func (c *Catalog) named(arn string) (*Machine, error) {
	name, ours, err := c.account.Name(arn, "stateMachine")
	if err != nil {
		return nil, err
	}

	m := c.Lookup(name)
	if m == nil || !ours {
		return nil, doesNotExist(arn)
	}

	return m, nil
}

func doesNotExist(arn string) error {
	return wire.Errorf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", arn)
}

// Lookup returns the machine with the name, nil if there is none.
func (c *Catalog) Lookup(name string) *Machine {
	c.mu.RLock()
	defer c.mu.RUnlock()

	return c.machines[name]
}

// Hold keeps a machine while an execution starts in it or runs again, until release is called. held is
// false if the machine is being deleted or is gone. A start may take long because of its expressions.
// Meanwhile only the deletion of this machine waits.
func (c *Catalog) Hold(m *Machine) (release func(), held bool) {
	if m.Deleting {
		return nil, false
	}
	m.starts.RLock()

	// m may be an old copy. The deletion marks the machine before it waits
	// for the starts, so this look sees the mark.
	if now := c.Lookup(m.Name); now == nil || now.ID != m.ID || now.Deleting {
		m.starts.RUnlock()
		return nil, false
	}

	return m.starts.RUnlock, true
}
