package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ratchet/shipping"
)

// courier is a carrier that the shop itself runs: a label is a file, which a person
// prints. It is a shipping.Carrier and a shipping.Asker.
//
// Two files decide about a shipment, and the first write of each decides: KEY.begin says whether
// the shipment was booked or canceled, KEY.end whether the parcel has left or the booking was
// canceled.
type courier struct{ dir string }

var (
	_ shipping.Carrier = courier{}
	_ shipping.Asker   = courier{}
)

// decision is the content of a file.
type decision struct {
	Is       shipping.Milestone `json:"is"`
	Key      string             `json:"key,omitempty"`
	OrderID  string             `json:"orderId,omitempty"`
	Tracking string             `json:"tracking,omitempty"`
}

// newCourier keeps the labels in the directory.
func newCourier(dir string) (courier, error) { return courier{dir}, os.MkdirAll(dir, 0o700) }

// Book writes the label, once per key. A repeat returns the first tracking number.
func (c courier) Book(_ context.Context, key, orderID string) (string, error) {
	// A repeat, and a Cancel that came first, get the decision that is stored.
	begin, err := c.decide(key, "begin", decision{shipping.Booked, key, orderID, tracking(key)})
	if err != nil {
		return "", err
	}

	end, _, err := c.read(key, "end")
	switch {
	case err != nil:
		return "", err
	// Both files count: a booking that was canceled later stays canceled.
	case begin.Is == shipping.Canceled, end.Is == shipping.Canceled:
		return "", fmt.Errorf("courier: book %s: %w", key, shipping.ErrCanceled)
	}

	return begin.Tracking, nil
}

// Cancel closes the key. It reports whether the parcel had left.
func (c courier) Cancel(_ context.Context, key string) (left bool, err error) {
	begin, err := c.decide(key, "begin", decision{Is: shipping.Canceled})
	// A key that was canceled before its booking has no parcel, so nothing can have left.
	if err != nil || begin.Is == shipping.Canceled {
		return false, err
	}

	// A parcel that left a moment ago has written the file first, and stays shipped.
	end, err := c.decide(key, "end", decision{Is: shipping.Canceled})

	return end.Is == shipping.Shipped, err
}

// PickUp records that the parcel leaves. It fails if the key has no parcel.
func (c courier) PickUp(key string) error {
	begin, known, err := c.read(key, "begin")
	switch {
	case err != nil:
		return err
	case !known || begin.Is == shipping.Canceled:
		return fmt.Errorf("courier: pick %s up: %w", key, shipping.ErrUnknownShipment)
	}

	end, err := c.decide(key, "end", decision{Is: shipping.Shipped})
	if err == nil && end.Is == shipping.Canceled {
		err = fmt.Errorf("courier: pick %s up: %w", key, shipping.ErrCanceled)
	}

	return err
}

// PickUpAll records that the parcels of the order leave. It fails if the order has none.
func (c courier) PickUpAll(orderID string) error {
	labels, err := filepath.Glob(filepath.Join(c.dir, "*.begin"))
	if err != nil {
		return err
	}

	found := false
	for _, label := range labels {
		var d decision

		text, err := os.ReadFile(label)
		if err := errors.Join(err, json.Unmarshal(text, &d)); err != nil {
			return err
		}

		if d.OrderID != orderID {
			continue
		}
		found = true

		if err := c.PickUp(d.Key); err != nil {
			return err
		}
	}

	if !found {
		return fmt.Errorf("courier: order %s: %w", orderID, shipping.ErrUnknownShipment)
	}

	return nil
}

// Get says where the shipment is. A report is believed only if this confirms it.
func (c courier) Get(_ context.Context, key string) (shipping.Shipment, error) {
	begin, known, err := c.read(key, "begin")
	switch {
	case err != nil:
		return shipping.Shipment{}, err
	case !known:
		return shipping.Shipment{}, shipping.ErrUnknownShipment
	}

	end, ended, err := c.read(key, "end")
	// The end, if there is one, is the newer decision.
	if ended {
		begin.Is = end.Is
	}

	return shipping.Shipment{Status: begin.Is, Tracking: begin.Tracking}, err
}

// decide writes the decision if there is none, and returns the stored one. The link is atomic and
// fails if the file exists, so a reader never sees half a file.
func (c courier) decide(key, which string, d decision) (decision, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return decision{}, err
	}

	draft, err := os.CreateTemp(c.dir, "draft-*")
	if err != nil {
		return decision{}, err
	}
	defer os.Remove(draft.Name())

	_, err = draft.Write(text)
	// On disk before the name exists: a power failure must not leave a name without its content.
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return decision{}, err
	}

	err = os.Link(draft.Name(), c.path(key, which))
	switch {
	case err == nil:
		return d, nil
	case !errors.Is(err, fs.ErrExist):
		return decision{}, err
	}

	// Another call decided first, and its decision counts.
	first, _, err := c.read(key, which)

	return first, err
}

func (c courier) read(key, which string) (d decision, exists bool, err error) {
	text, err := os.ReadFile(c.path(key, which))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return decision{}, false, nil
	case err != nil:
		return decision{}, false, err
	}

	return d, true, json.Unmarshal(text, &d)
}

func (c courier) path(key, which string) string {
	// A key holds slashes, so its digest is the name of the file.
	return filepath.Join(c.dir, tracking(key)+"."+which)
}

// tracking is the tracking number of a key. It is part of a file's name.
func tracking(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "CR" + hex.EncodeToString(sum[:8])
}
