package transitions

// Change is one applied transition as the orders' stream reports it.
type Change struct {
	// Old is the order before, nil when it was placed. New is the order after.
	Old, New   *Order
	Transition Transition
}

// previousID is the id of the transition before this one, 0 for the first.
func (c Change) previousID() TransitionID {
	if c.Old == nil {
		return 0
	}
	return c.Old.TransitionID
}

// EffectKey names the effect of a handler about this change; see [Order.EffectKey].
func (c Change) EffectKey(handler string) string {
	return c.New.EffectKey(c.Transition.ID, handler)
}

// Removed reads the two images of a stream record that reports the deletion of an order. It
// reports false for other records. The returned order is as it was before the deletion.
func (m Mapping) Removed(oldImage, newImage image) (*Order, bool, error) {
	if len(newImage) > 0 || len(oldImage) == 0 {
		return nil, false, nil
	}

	img, ofOrder := m.image(oldImage, "")
	if !ofOrder {
		return nil, false, nil
	}
	o, err := decode(img)

	return o, err == nil, err
}

// Images reads the two images of a stream record as orders: nil for an image that is not there or not of an order, and
// for an old image that cannot be read. The error is about the new image.
func (m Mapping) Images(oldImage, newImage image) (before, after *Order, err error) {
	read := func(item image) (*Order, error) {
		img, ofOrder := m.image(item, "")
		if len(item) == 0 || !ofOrder {
			return nil, nil
		}

		return decode(img)
	}

	if after, err = read(newImage); err != nil {
		return nil, nil, err
	}

	// Another program may have repaired the order.
	if before, err = read(oldImage); err != nil {
		before = nil
	}

	return before, after, nil
}

// FromRecord reads the two images of a stream record. It reports false when the
// record is no transition: the order was deleted, or its transitionId did not
// grow (an address was corrected, a note added, a replica wrote the same image
// again). The event name of the record plays no part.
func (m Mapping) FromRecord(oldImage, newImage image) (Change, bool, error) {
	if len(newImage) == 0 {
		return Change{}, false, nil
	}

	newImage, ofOrder := m.image(newImage, "")
	if !ofOrder {
		return Change{}, false, nil
	}
	oldImage, _ = m.image(oldImage, "") // it has the same key

	c := Change{}
	var err error
	if c.New, err = decode(newImage); err != nil {
		return Change{}, false, err
	}

	if len(oldImage) > 0 {
		if c.Old, err = decode(oldImage); err != nil {
			return Change{}, false, err
		}
	}

	// Edits, notes and repeated images of a replica have the same id.
	if c.New.TransitionID <= c.previousID() {
		return Change{}, false, nil
	}

	t, found := c.New.slot(c.New.TransitionID)
	if !found {
		// Another program has moved the order and left no trace in the ring.
		t = Transition{ID: c.New.TransitionID, To: c.New.State, From: c.New.PreviousState, At: c.New.UpdatedAt}
	}
	c.Transition = t

	return c, true, nil
}
