// What receiving works with: who may speak, where events are stored, and who is told of them.

import type { Agent } from '../agents/define-agent.ts'
import type { Meter } from '../contract/metrics.ts'
import type { ValidationScope } from '../contract/validate-message.ts'
import type { Db } from '../db/client.ts'
import type { AttachmentService } from '../files/attachment.ts'
import type { AccessPolicy } from '../identity/access-policy.ts'
import type { AttestationVerifier, TrustedIssuers } from '../identity/trust.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import type { PresenceService } from '../outbound/presence.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { Wakeups } from '../turns/services.ts'
import type { Committer } from './group-commit.ts'

export type ReceiveServices = {
  readonly connections: readonly GatewayConnection[]
  readonly agents: ReadonlyMap<string, Agent>
  readonly committer: Committer
  /** The database for this tenant and this process, as the functions of `src/db` take it. */
  readonly db: Db
  readonly attachments: AttachmentService
  readonly access: AccessPolicy
  /** What the disk has room for. Undefined: everything. Absent where nothing is kept on a disk of ours. */
  readonly room?: () => Promise<'low' | 'full' | undefined>
  readonly trustedIssuers: TrustedIssuers
  readonly attestations: AttestationVerifier
  readonly validation: Extract<ValidationScope, { from: 'adapter' }>
  readonly wakeups: Wakeups
  readonly newId: IdSource
  readonly now: () => number
  readonly monotonicMs: () => number
  readonly log: Log
  readonly meter: Meter
  readonly presence: PresenceService
}
