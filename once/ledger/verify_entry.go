package ledger

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// origins checks that each entry of a page is among the postings of its transfer. The transfers
// were checked before, with the accounts of their postings. origins only has to find entries
// without a transfer, whether or not an account has counted them or exists.
func (v *verification) origins(page []dynamo.Item) error {
	var keys []dynamo.Item
	wanted := map[string]bool{} // transfers that keys contains
	for _, item := range page {
		if id := dynamo.Text(item, "transferId"); id != "" && !wanted[id] {
			wanted[id] = true
			keys = append(keys, transferKey(id))
		}
	}

	items, err := v.getAll(v.cfg.Tables.Transfers, keys)
	if err != nil {
		return err
	}

	// Compared by the whole posting, so that an entry with a changed amount is found, too.
	made := map[string]bool{}
	for _, item := range items {
		for _, p := range decodePosted(item).Postings {
			made[fmt.Sprint(dynamo.Text(item, "transferId"), p)] = true
		}
	}

	for _, item := range page {
		if e := decodeEntry(item); !made[fmt.Sprint(e.TransferID, e.Posting)] {
			if err := v.orphan(dynamo.Text(item, "accountId"), e); err != nil {
				return err
			}
		}
	}

	return nil
}

// orphan reports an entry that its transfer does not seem to have. It first reads transfer
// and account together: a transfer that is being written may be visible in one table
// before it is visible in the other.
func (v *verification) orphan(key string, e Entry) error {
	gets := []types.TransactGetItem{{Get: &types.Get{TableName: &v.cfg.Tables.Accounts, Key: accountKey(key)}}}
	if e.TransferID != "" {
		gets = append(gets, types.TransactGetItem{Get: &types.Get{
			TableName: &v.cfg.Tables.Transfers,
			Key:       transferKey(e.TransferID),
		}})
	}

	read, err := v.readTogether(v.ctx, "entry of", key, gets)
	if err != nil {
		return err
	}

	transfer := "there is no such transfer"
	if len(read) > 1 && len(read[1].Item) > 0 {
		// The transfer was being written while the pages were read.
		if slices.Contains(decodePosted(read[1].Item).Postings, e.Posting) {
			return nil
		}

		transfer = "it is not one of the transfer's"
	}

	account := "there is no such account"
	if a := decodeAccount(read[0].Item); a != nil {
		account = fmt.Sprintf("the account's last entry is %d", a.Entries)
	}

	return v.found(kindForeign, key, e.TransferID, "entry %d is %d: %s; %s", e.Sequence, e.Amount, transfer, account)
}
