package streams

// View says which parts of an item a record holds (StreamViewType).
type View string

// The four view types.
const (
	KeysOnly        View = "KEYS_ONLY"
	NewImage        View = "NEW_IMAGE"
	OldImage        View = "OLD_IMAGE"
	NewAndOldImages View = "NEW_AND_OLD_IMAGES"
)

// Valid reports whether v is one of the four.
func (v View) Valid() bool {
	return v == KeysOnly || v == NewImage || v == OldImage || v == NewAndOldImages
}
