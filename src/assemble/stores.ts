// The stores behind the gateway's ports, on one database and for one tenant.
import type { GatewayDeps } from '../gateway/deps.ts'
import { createAuditStore } from '../storage/audit-store.ts'
import { createConsentStore } from '../storage/consent-store.ts'
import type { Database } from '../storage/database.ts'
import { createDueStore } from '../storage/due-store.ts'
import { createGrantStore } from '../storage/grant-store.ts'
import { createJournalStore } from '../storage/journal-store.ts'
import { createLiveStore } from '../storage/live-store.ts'
import { createOutboxStore } from '../storage/outbox-store.ts'
import { createPairingStore, type PeopleOptions } from '../storage/pairing-store.ts'
import { createPendingActionStore } from '../storage/pending-action-store.ts'
import { createPeople } from '../storage/people-reader.ts'
import { createPrincipalStore } from '../storage/principal-store.ts'
import { createReceiptStore } from '../storage/receipt-store.ts'
import { createReplyLimitStore } from '../storage/reply-limit-store.ts'
import { createRunStore } from '../storage/run-store.ts'
import { createSuspectStore } from '../storage/suspect-store.ts'
import { createToolRequestStore } from '../storage/tool-request-store.ts'
import { createSignalStore, createTranscriptStore } from '../storage/transcript-store.ts'
import type { LeaseOptions } from '../storage/turn-store.ts'

type Stores =
  | ('receipts' | 'suspects' | 'runs' | 'signals' | 'journal' | 'transcripts' | 'outbox' | 'live')
  | ('pendingActions' | 'toolRequests' | 'people' | 'nextDueMs' | 'consents' | 'audit' | 'replyLimits')

export function createStores(
  database: Database,
  { newId, ...lease }: LeaseOptions & PeopleOptions,
): Pick<GatewayDeps, Stores> {
  const { tenant } = lease
  return {
    receipts: createReceiptStore(database, tenant),
    suspects: createSuspectStore(database, lease),
    runs: createRunStore(database, lease),
    signals: createSignalStore(database, tenant, lease.takeOver),
    journal: createJournalStore(database, lease),
    transcripts: createTranscriptStore(database, tenant),
    outbox: createOutboxStore(database, lease),
    live: createLiveStore(database, lease),
    audit: createAuditStore(database, tenant),
    pendingActions: createPendingActionStore(database),
    toolRequests: createToolRequestStore(database),
    consents: createConsentStore(database, tenant),
    replyLimits: createReplyLimitStore(database, tenant),
    people: {
      pairings: createPairingStore(database, { tenant, newId }),
      grants: createGrantStore(database, { tenant, newId }),
      principals: createPrincipalStore(database, tenant),
      isAdmitted: (connection, subject) => createPeople(database, { tenant, connection }).isAdmitted(subject),
    },
    ...createDueStore(database, tenant),
  }
}
