// A configured connection: its adapter bound to its settings, and who may speak on it.

import type { StrangerLimits } from '../contract/access.ts'
import type { ConnectionConfig, RawBlobs } from '../contract/channel.ts'
import type { RoomStatusChange } from '../contract/inbound-event.ts'
import type { AccessRule, Adapter, Connection, TaskService } from '../contract/index.ts'
import type { ReplyPolicy } from '../identity/reply-policy.ts'

export type GatewayConnection = {
  /** What rows call it, `channel/id`: every channel may have a connection called `default`. */
  readonly key: string
  readonly connection: Connection
  /** All agents answer here; `connection.agent` where no agent is addressed. */
  readonly isShared: boolean
  readonly adapter: Adapter
  /** what its platform says about rooms that take nothing from us any more. */
  readonly noteRoomStatus: (change: RoomStatusChange, subject: string | null) => Promise<void>
  /** Where inbound events are kept as they came; absent where nothing holds bytes. */
  readonly rawBlobs?: RawBlobs
  /** What its callers asked for and come back to. */
  readonly tasks: TaskService
  readonly access: AccessRule
  readonly strangers: StrangerLimits
  /** Into how many messages a reply is split at most; without it: as the channel has it. */
  readonly replyParts?: number
  readonly mentionHumans: NonNullable<ConnectionConfig['mentionHumans']>
  readonly replyPolicy: ReplyPolicy
  /** The operator's legal basis for keeping transcripts, if there is one. */
  readonly transcriptBasis?: string
}
