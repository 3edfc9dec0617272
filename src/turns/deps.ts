// The dependencies of accepting, running and delivering: stores, clocks, channels, agents. The Node and Worker entry points fill
// this in once.

import type { Agent } from '../agents/define-agent.ts'
import type { ToolServers } from '../agents/mcp/tool-servers.ts'
import type { StrangerLimits } from '../contract/access.ts'
import type { MentionHumans } from '../contract/channel.ts'
import type { RoomStatusChange } from '../contract/inbound-event.ts'
import type {
  AccessRule,
  Adapter,
  Connection,
  Log,
  Observer,
  RawBlobs,
  SafeFetch,
  TaskService,
} from '../contract/index.ts'
import type { Meter } from '../contract/metrics.ts'
import type { ValidationScope } from '../contract/validate-message.ts'
import type { Db } from '../db/client.ts'
import type { JournalStore } from '../db/journal.ts'
import type { TranscriptStore } from '../db/transcripts.ts'
import type { AttachmentService } from '../files/attachment.ts'
import type { AccessPolicy } from '../identity/access-policy.ts'
import type { Attestor } from '../identity/attestor.ts'
import type { ConsentPolicy } from '../identity/consent.ts'
import type { ReplyPolicy } from '../identity/reply-policy.ts'
import type { PrincipalResolver } from '../identity/resolve-principal.ts'
import type { AttestationVerifier, TrustedIssuers } from '../identity/trust.ts'
import type { Committer } from '../inbound/group-commit.ts'
import type { IdSource } from '../lib/ids.ts'
import type { PresenceService } from '../outbound/presence.ts'
import type { SettlePolicy } from '../outbound/settle.ts'
import type { TaskWatchers } from '../tasks/task-service.ts'
import type { Isolation } from './isolation.ts'
import type { LeaseKeeper } from './leases.ts'
import type { MergeLimits } from './plan-turn.ts'
import type { ResultKeeper } from './result-keeper.ts'
import type { RunWatch } from './run-watch.ts'
import type { CapabilityCheck } from './tool-capability.ts'
import type { Wakeup } from './worker-loop.ts'

/** A configured connection: its adapter bound to its settings, and who may speak on it. */
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
  readonly mentionHumans: MentionHumans
  readonly replyPolicy: ReplyPolicy
  /** The operator's legal basis for keeping transcripts, if there is one. */
  readonly transcriptBasis?: string
}

export type TurnPolicy = {
  readonly leaseMs: number
  /** Turns that run at once in this process. */
  readonly slots: number
  /** How many of the slots each agent leaves to other agents, and each connection to other connections. */
  readonly reservedSlots: number
  readonly sendSlots: number
  readonly pollMs: number
  readonly merge: MergeLimits
  /** A turn that takes longer is over if it may have acted; else it is tried once more, for a quarter of this. */
  readonly deadlineMs: number
  /** How long a server may be silent in the middle of a step's `fetch`. */
  readonly fetchTimeoutMs: number
  /** Exceptions before a turn is dead. */
  readonly maxFailures: number
  /** Processes that died on it before a turn is dead: killed, crashed or out of memory; not stopped, and not frozen. */
  readonly maxCrashes: number
  readonly retryFirstMs: number
  /** Outages of what the agent depends on are retried by time, not by count. */
  readonly maxOutageMs: number
  /** After so long the sender is told that it is still tried, where the channel can show it; once in a turn. */
  readonly outageNoticeMs: number
  readonly rotateAfterIdleMs: number
  readonly rotateCommands: readonly string[]
  readonly historyHead: number
  readonly historyTail: number
  /** From the first words of a reply until it is shown while it grows; what is over by then is shown whole. */
  readonly liveAfterMs: number
  /** After how long people are shown that the agent is at work. */
  readonly typingAfterMs: number
}

export type GatewayDeps = {
  /** Whose gateway this is: it is given no other tenant's work and shows nothing of it. */
  readonly tenant: string
  readonly connections: readonly GatewayConnection[]
  readonly agents: ReadonlyMap<string, Agent>
  readonly committer: Committer
  /** The database for this tenant and this process, as the functions of `src/db` take it. */
  readonly db: Db
  readonly runWatch: RunWatch
  readonly journal: JournalStore
  readonly transcripts: TranscriptStore
  readonly attachments: AttachmentService
  readonly access: AccessPolicy
  /** What the disk has room for. Undefined: everything. Absent where nothing is kept on a disk of ours. */
  readonly room?: () => Promise<'low' | 'full' | undefined>
  readonly principals: PrincipalResolver
  readonly trustedIssuers: TrustedIssuers
  readonly attestations: AttestationVerifier
  readonly capabilities: CapabilityCheck
  /** Our own origin, as other gateways are told it. */
  readonly host: () => Promise<string>
  /** What marks the lines that tell a model of a session who speaks. */
  readonly speakerMarks: (sessionId: string) => Promise<string>
  /** Signs what we say about people to remote agents. */
  readonly attestor: Attestor
  readonly consent: ConsentPolicy
  readonly leases: LeaseKeeper
  /** Where results wait for a database that is away. */
  readonly results: ResultKeeper
  /** Where turns run on which a process died; without it here, one at a time, and nothing beside them. */
  readonly isolation?: Isolation
  readonly turnPolicy: TurnPolicy
  readonly settlePolicy: SettlePolicy
  readonly validation: Extract<ValidationScope, { from: 'adapter' }>
  /** The clients that watch a task in this process. */
  readonly watchers: TaskWatchers
  readonly wakeups: {
    readonly turns: Wakeup
    readonly sends: Wakeup
    readonly ends: Wakeup
    readonly timers: Wakeup
    /** Run events were stored. */
    readonly events: Wakeup
    /** Calls were settled: a live message may be there. */
    readonly live: Wakeup
  }
  /** fetch for effects: asks right before a request leaves whether it still may. */
  readonly fenceFetch: (mayLeave: (ageMs: number) => boolean, onSend?: () => void) => typeof fetch
  /** fetch for addresses from messages and peers. */
  readonly guardedFetch: SafeFetch
  readonly newId: IdSource
  readonly now: () => number
  readonly monotonicMs: () => number
  readonly random: () => number
  readonly fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly hash: (text: string) => Promise<string>
  readonly log: Log
  /** Values of secrets this process was given: no error that is kept shows them. */
  readonly secretValues?: readonly string[]
  readonly meter: Meter
  readonly notify: Observer
  readonly presence: PresenceService
  /** Absent where MCP servers cannot be reached. */
  readonly toolServers?: ToolServers
  readonly failpoint?: (name: string) => void | Promise<void>
}
