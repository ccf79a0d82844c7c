package streams

import "ratchet/embedded/internal/wire"

// page collects the records of one GetRecords as JSON.
type page struct {
	region       string
	limit        int
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

// mostGrowth is how many times its length an answer grows at a time.
const mostGrowth = 3

// room returns by how many bytes the answer grows: enough for as many records of the size so far as fit in the page, but not
// many times the bytes that it has now. How many records there are is not known, because numbers of records have gaps.
func (p *page) room() int {
	// The page ends at its limit, or when it has maxRecordBytes.
	records := min(p.limit, p.count*maxRecordBytes/max(p.bytes, 1))

	// The growth has an eighth to spare, for records that are larger than the average.
	average := len(p.out) / p.count
	rest := average * (records - p.count) * 9 / 8

	return max(min(rest, mostGrowth*len(p.out)), len(p.out))
}
