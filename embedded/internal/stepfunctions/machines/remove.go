package machines

import (
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/store"
)

// Mark marks a machine as deleting and returns it, nil if there is none. From then on no execution starts
// in it.
func (c *Catalog) Mark(arn string) (*Machine, error) {
	name, ours, err := c.account.Name(arn, "stateMachine")
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	m := c.machines[name]
	if m == nil || !ours {
		return nil, nil
	}

	// The mark is on disk before anything is removed: after a crash, Run finds the mark.
	marked := *m
	marked.Deleting = true

	return &marked, c.replace(&marked)
}

// Marked returns the machines whose deletion has begun.
func (c *Catalog) Marked() (marked []*Machine) {
	c.mu.RLock()
	defer c.mu.RUnlock()

	for _, m := range c.machines {
		if m.Deleting {
			marked = append(marked, m)
		}
	}

	return marked
}

// Remove removes a marked machine, in one batch with what commit adds to it: after a crash the machine is
// either there with its mark, or gone with everything. If commit returns false, the machine stays.
func (c *Catalog) Remove(m *Machine, commit func(*store.Batch) (done bool, err error)) (done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.machines[m.Name] != m {
		// Another call has removed or replaced the record. A new machine may have taken the name.
		return true, nil
	}

	b := c.db.NewBatch()
	b.Delete(keys.Named(keys.Machine, m.Name))

	if done, err := commit(b); err != nil || !done {
		return false, err
	}

	delete(c.machines, m.Name)

	return true, nil
}
