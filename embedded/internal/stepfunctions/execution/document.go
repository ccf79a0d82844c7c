package execution

// Ref is the place of a document in the history: the event ID, which was stored with the
// turn whose first event is Chunk. The zero Ref is no place.
type Ref struct{ Chunk, ID int64 }

// Doc is a JSON document and its place in the history.
type Doc struct {
	JSON []byte
	Ref  Ref
}

// document reads a document of this or an earlier turn.
func (t *turn) document(ref Ref) ([]byte, error) {
	// The events of this turn are not stored yet.
	if ref.Chunk == t.chunk {
		return t.events[ref.ID-ref.Chunk].Doc.JSON, nil
	}

	return t.env.History.Document(ref)
}

func (t *turn) loadDoc(ref Ref) (*Doc, error) {
	text, err := t.document(ref)
	return &Doc{JSON: text, Ref: ref}, err
}

// rawInput returns the input of the thread's state before InputPath.
func (t *turn) rawInput(th *thread) (*Doc, error) {
	// A branch or iteration that has not entered its first state has no event with its
	// input.
	if th.input.ID == 0 {
		return t.childInput(t.s.thread(th.parent), th.index)
	}

	return t.loadDoc(th.input)
}
