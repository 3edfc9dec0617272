// What taking a turn works with: the stores, clocks, agents and ports of the process that runs it.

import type { Agent } from '../agents/define-agent.ts'
import type { ToolServers } from '../agents/mcp/tool-servers.ts'
import type { Observer } from '../contract/gateway-events.ts'
import type { Meter } from '../contract/metrics.ts'
import type { Db } from '../db/client.ts'
import type { JournalStore } from '../db/journal.ts'
import type { RunNews } from '../db/runs.ts'
import type { TranscriptStore } from '../db/transcripts.ts'
import type { AttachmentService } from '../files/attachment.ts'
import type { AccessPolicy } from '../identity/access-policy.ts'
import type { Attestor } from '../identity/attestor.ts'
import type { ConsentPolicy } from '../identity/consent.ts'
import type { CapabilityCheck, PrincipalResolver } from '../identity/principals.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import type { SafeFetch } from '../lib/safe-fetch-port.ts'
import type { PresenceService } from '../outbound/presence.ts'
import type { TaskWatchers } from '../tasks/task-service.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { LeaseKeeper } from './leases.ts'
import type { ResultKeeper } from './result-keeper.ts'
import type { TurnPolicy } from './turn-policy.ts'
import type { Wakeup } from './worker-loop.ts'

/** Wake what waits in this process. */
export type Wakeups = {
  readonly turns: Wakeup
  readonly sends: Wakeup
  readonly ends: Wakeup
  readonly timers: Wakeup
  /** Run events were stored. */
  readonly events: Wakeup
  /** Calls were settled: a live message may be there. */
  readonly live: Wakeup
}

export type FenceFetch = (mayLeave: (ageMs: number) => boolean, onSend?: () => void) => typeof fetch

/** Renders what is said and keeps its files. */
export type RenderServices = {
  readonly attachments: AttachmentService
  readonly newId: IdSource
  readonly now: () => number
  readonly hash: (text: string) => Promise<string>
  readonly log: Log
}

export type TurnServices = {
  /** Whose gateway this is: it is given no other tenant's work and shows nothing of it. */
  readonly tenant: string
  readonly connections: readonly GatewayConnection[]
  readonly agents: ReadonlyMap<string, Agent>
  /** The database for this tenant and this process, as the functions of `src/db` take it. */
  readonly db: Db
  /** Looks for stops of a run and for new messages. `onNews` is called every round; the answer ends the watching. */
  readonly watchRun: (turnId: string, onNews: (news: RunNews) => void) => () => void
  readonly journal: JournalStore
  readonly transcripts: TranscriptStore
  readonly attachments: AttachmentService
  readonly access: AccessPolicy
  readonly principals: PrincipalResolver
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
  readonly turnPolicy: TurnPolicy
  /** The clients that watch a task in this process. */
  readonly watchers: TaskWatchers
  readonly wakeups: Wakeups
  /** fetch for effects: asks right before a request leaves whether it still may. */
  readonly fenceFetch: FenceFetch
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
