package expression

import "ratchet/embedded/internal/attr"

// Error is a refusal that DynamoDB answers as ValidationException; its text is
// the whole message.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

type Params struct {
	Names  map[string]string
	Values map[string]attr.Value
}

func NewParams(names map[string]string, values map[string]attr.Value) *Params { panic("soon") }
func (p *Params) Unused() error                                               { panic("soon") }

// Path is a document path: a top-level name, then names and list indexes.
type Path []Step

// Step is a map member (Name) or a list element (Index, with Name empty).
type Step struct {
	Name  string
	Index int
	List  bool
}

type Condition struct{}

func ParseCondition(field, src string, p *Params) (*Condition, error) { panic("soon") }
func (c *Condition) Match(item attr.Item) (bool, error)               { panic("soon") }

// TopLevel lists the top-level attribute names the condition reads (a
// FilterExpression of a Query may not name key attributes).
func (c *Condition) TopLevel() []string { panic("soon") }

type Update struct{}

func ParseUpdate(src string, p *Params) (*Update, error)  { panic("soon") }
func (u *Update) Apply(item attr.Item) (attr.Item, error) { panic("soon") }
func (u *Update) Paths() []Path                           { panic("soon") }
func (u *Update) Project(item attr.Item) attr.Item        { panic("soon") }

// TopLevel lists the top-level attribute names the update writes, sorted.
func (u *Update) TopLevel() []string { panic("soon") }

type Projection struct{}

func ParseProjection(src string, p *Params) (*Projection, error) { panic("soon") }
func (p *Projection) Apply(item attr.Item) attr.Item             { panic("soon") }

// TopLevel lists the top-level attribute names the projection reads, sorted.
func (p *Projection) TopLevel() []string { panic("soon") }

// RangeOp is how a key condition bounds the sort key.
type RangeOp uint8

const (
	RangeNone RangeOp = iota
	RangeEqual
	RangeLess
	RangeLessEqual
	RangeGreater
	RangeGreaterEqual
	RangeBetween    // Lo and Hi, both inclusive
	RangeBeginsWith // Lo is the prefix
)

// Range bounds the sort key.
type Range struct {
	Op     RangeOp
	Lo, Hi attr.Value
}

// KeyCondition is one partition and, when Range.Op is not RangeNone, a part of it.
type KeyCondition struct {
	Hash  attr.Value
	Range Range
}

func ParseKeyCondition(src, hash, rng string, p *Params) (*KeyCondition, error) { panic("soon") }
