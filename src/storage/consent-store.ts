// Consent on SQL.
import { type ConsentOperation, consentOperations } from '../identity/consent/consent.ts'
import type { ConsentStore } from '../identity/consent/consent-store.ts'
import type { Database } from './database.ts'
import { agreedIn, givenConsents, recordDecision, recordWord } from './statements/consents.ts'
import { storableJson } from './storable-json.ts'

export function createConsentStore(database: Database, tenant: string): ConsentStore {
  return {
    async given(principal) {
      const rows = await database.query<{ operation: string; isAllowed: boolean }>(givenConsents, [tenant, principal])
      return Object.fromEntries(
        rows
          .filter((row) => isConsentOperation(row.operation))
          .map(({ operation, isAllowed }) => [operation, isAllowed]),
      )
    },
    async recordWord({ id, operation, isAllowed, principal, connection, agent }) {
      await database.query(recordWord, [tenant, id, operation, isAllowed, principal, connection, agent])
    },
    async isAgreedIn(sessionId, operation) {
      const params = [tenant, sessionId, operation]
      const [row] = await database.query<{ people: number; agreed: number }>(agreedIn, params)
      return row !== undefined && row.people > 0 && row.agreed === row.people
    },
    async recordDecision({ id, sessionId, decision, action, actor }) {
      const { operation, allowed, reason, audit_metadata } = decision
      const audit = storableJson(audit_metadata)
      await database.query(recordDecision, [tenant, id, sessionId, operation, allowed, reason, audit, action, actor])
    },
  }
}

function isConsentOperation(operation: string): operation is ConsentOperation {
  return consentOperations.some((known) => known === operation)
}
