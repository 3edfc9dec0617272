// Creates all stores, on one database and for one tenant.

import { createAuditStore } from '../db/audit.ts'
import type { Database } from '../db/client.ts'
import { createConsentStore } from '../db/consents.ts'
import { createDueStore } from '../db/due.ts'
import { createGrantStore } from '../db/grants.ts'
import { createJournalStore } from '../db/journal.ts'
import { createPeople } from '../db/known-people.ts'
import { createLiveStore } from '../db/live.ts'
import { createOutboxStore } from '../db/outbox.ts'
import { createPairingStore, type PeopleOptions } from '../db/pairings.ts'
import { createPendingActionStore } from '../db/pending-actions.ts'
import { createPrincipalStore } from '../db/principals.ts'
import { createReceiptStore } from '../db/receipts.ts'
import { createReplyLimitStore } from '../db/reply-limits.ts'
import { createRunStore } from '../db/runs.ts'
import { createSuspectStore } from '../db/suspects.ts'
import { createToolRequestStore } from '../db/tool-requests.ts'
import { createSignalStore, createTranscriptStore } from '../db/transcripts.ts'
import type { LeaseOptions } from '../db/turns.ts'
import type { GatewayDeps } from '../turns/deps.ts'

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
