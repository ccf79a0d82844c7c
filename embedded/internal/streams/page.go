package streams

import "ratchet/embedded/internal/wire"

// page collects the records of one GetRecords as JSON.
type page struct {
	region       string
	limit        int
	ahead        int    // the most records that there are
	count, bytes int    // records, and their sizes as DynamoDB counts them
	out          []byte // the answer, up to the records so far, with commas between them
}

// add appends one record, unless the page is full. A first record always fits, so that a
// reader gets past a large one.
func (p *page) add(st *Stream, seq sequence, raw []byte) (fits bool, err error) {
	if p.count == p.limit {
		return false, nil
	}

	var c Change
	if err := c.decode(raw); err != nil {
		return false, err
	}

	if p.count > 0 && p.bytes+c.Size > maxRecordBytes {
		return false, nil
	}

	if p.count > 0 {
		// About the size of the record as JSON. To grow for many records at once copies the answer
		// less often than append does.
		if cap(p.out)-len(p.out) < 512+3*c.Size {
			p.out = wire.Grow(p.out, p.room())
		}
		p.out = append(p.out, ',')
	}

	p.count++
	p.bytes += c.Size
	p.out, err = c.appendJSON(p.out, st, seq, p.region)

	return true, err
}

// room returns by how many bytes the answer grows: enough for the records that are still to come if
// they are as large as the records so far, and at least as many bytes as the answer has now.
func (p *page) room() int {
	// The page ends at its limit, at the end of the shard, or when it has maxRecordBytes.
	records := min(p.limit, p.ahead, p.count*maxRecordBytes/max(p.bytes, 1))

	// The growth has an eighth to spare, for records that are larger than the average.
	average := len(p.out) / p.count

	return max(average*(records-p.count)*9/8, len(p.out))
}
