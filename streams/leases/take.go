package leases

import (
	"slices"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// maxTakes is how many takes a lease remembers, about 40 bytes each. They are for writes that arrive
// late (see judge). A write that is later than that many takes would have to be older than the five
// minutes for which DynamoDB accepts a signature.
const maxTakes = 10

// leaseTake is the begin of a holder: its epoch, and the checkpoint from which it reads on, "" if
// there was none.
type leaseTake struct {
	epoch int64
	From  string
}

// TakenAfter returns the first remembered take under a higher epoch. ok is false if there is none.
func (l Lease) TakenAfter(epoch int64) (take leaseTake, ok bool) {
	i := slices.IndexFunc(l.takes, func(t leaseTake) bool { return t.epoch > epoch })
	if i < 0 {
		return leaseTake{}, false
	}

	return l.takes[i], true
}

// takesWith returns the takes to store with the next one.
func (l Lease) takesWith(next leaseTake) []leaseTake {
	takes := append(slices.Clone(l.takes), next)
	return takes[max(0, len(takes)-maxTakes):]
}

func encodeTakes(takes []leaseTake) ddbtypes.AttributeValue {
	list := make([]ddbtypes.AttributeValue, len(takes))
	for i, t := range takes {
		m := dynamo.Item{leaseEpoch: dynamo.N(t.epoch)}
		if t.From != "" {
			m[leaseTakeFrom] = dynamo.S(t.From)
		}
		list[i] = dynamo.M(m)
	}

	return &ddbtypes.AttributeValueMemberL{Value: list}
}

func decodeTakes(row dynamo.Item) []leaseTake {
	list, _ := row[leaseTakes].(*ddbtypes.AttributeValueMemberL)
	if list == nil {
		return nil
	}

	var takes []leaseTake
	for _, element := range list.Value {
		if m, _ := element.(*ddbtypes.AttributeValueMemberM); m != nil {
			takes = append(takes, leaseTake{dynamo.Number(m.Value, leaseEpoch), dynamo.Text(m.Value, leaseTakeFrom)})
		}
	}

	return takes
}
