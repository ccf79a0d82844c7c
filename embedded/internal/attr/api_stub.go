package attr

import "github.com/go-json-experiment/json/jsontext"

// ValidationError is a refusal that DynamoDB answers as ValidationException.
type ValidationError struct{ Message string }

func (e *ValidationError) Error() string { return e.Message }

// SerializationError is a refusal that DynamoDB answers as SerializationException.
type SerializationError struct{ Message string }

func (e *SerializationError) Error() string { return e.Message }

func (i *Item) UnmarshalJSONFrom(d *jsontext.Decoder) error  { panic("soon") }
func (i Item) MarshalJSONTo(e *jsontext.Encoder) error       { panic("soon") }
func (v *Value) UnmarshalJSONFrom(d *jsontext.Decoder) error { panic("soon") }
func (v Value) MarshalJSONTo(e *jsontext.Encoder) error      { panic("soon") }
func (i *Item) UnmarshalJSON(b []byte) error                 { panic("soon") }
func (i Item) MarshalJSON() ([]byte, error)                  { panic("soon") }
func (v *Value) UnmarshalJSON(b []byte) error                { panic("soon") }
func (v Value) MarshalJSON() ([]byte, error)                 { panic("soon") }
func (i Item) AppendJSON(dst []byte) []byte                  { panic("soon") }
func (v Value) AppendJSON(dst []byte) []byte                 { panic("soon") }
func (v Value) Size() int                                    { panic("soon") }
func (i Item) Size() int                                     { panic("soon") }
func Equal(a, b Value) bool                                  { panic("soon") }
func Compare(a, b Value) (int, bool)                         { panic("soon") }
func AppendBinary(dst []byte, i Item) []byte                 { panic("soon") }
func DecodeBinary(b []byte) (Item, error)                    { panic("soon") }
func AppendKey(dst []byte, v Value) []byte                   { panic("soon") }
func ParseNumber(text string) (string, error)                { panic("soon") }
func AddNumber(a, b string) (string, error)                  { panic("soon") }
func SubNumber(a, b string) (string, error)                  { panic("soon") }
func CompareNumber(a, b string) int                          { panic("soon") }

// String is the descriptor on the wire: "S", "N", ...
func (k Kind) String() string { panic("soon") }
