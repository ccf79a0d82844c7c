package streams

// page collects the records of one GetRecords as JSON.
type page struct {
	region       string
	limit        int
	count, bytes int    // records, and their sizes as DynamoDB counts them
	out          []byte // the records, with commas between them
}

// add appends one record, unless the page is full. A first record always fits, so that a
// reader gets past a large one.
func (p *page) add(st *Stream, seq sequence, raw []byte) (fits bool, err error) {
	if p.count == p.limit {
		return false, nil
	}

	c, err := decodeChange(raw)
	if err != nil {
		return false, err
	}

	if p.count > 0 && p.bytes+c.Size > maxRecordBytes {
		return false, nil
	}

	if p.count > 0 {
		p.out = append(p.out, ',')
	}

	p.count++
	p.bytes += c.Size
	p.out, err = c.appendJSON(p.out, st, seq, p.region)

	return true, err
}
