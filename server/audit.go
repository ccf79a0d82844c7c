package server

import "ratchet/audit"

func (b *Backend) assembleAudit() (err error) {
	b.Audit, err = audit.New(audit.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Audit, Retention: b.Config.AuditRetention})
	return err
}
