// Dependencies of the HTTP app, filled in by the Node or Worker entry point.

import type { Context } from 'hono'
import type { AgentFacts } from '../agents/agent-settings.ts'
import type { ApiLimits } from '../config/limits.ts'
import type { Config } from '../config.ts'
import type { RequestSource } from '../contract/inbound-event.ts'
import type { Meter } from '../contract/metrics.ts'
import type { Db } from '../db/client.ts'
import type { EraseStore } from '../db/erase-person.ts'
import type { HealthSample } from '../db/health.ts'
import type { TokenStore } from '../db/tokens.ts'
import type { AssembledFiles } from '../gateway/attachments.ts'
import type { Gateway } from '../gateway.ts'
import type { TokenIssuers } from '../identity/issuers/token-issuers.ts'
import type { Rejections } from '../identity/rejected-requests.ts'
import type { Log } from '../lib/log.ts'
import type { Secret } from '../lib/secret.ts'
import type { Readiness } from '../observability/readiness.ts'
import type { SessionTakeover } from '../turns/operator-takeover.ts'
import type { ReplayReport, ReplayRequest } from '../turns/replay.ts'
import type { ApiCallers } from './api-callers.ts'
import type { Finding } from './audit-config/finding.ts'
import type { ExplainResult } from './explain/explain.ts'
import type { SecretService } from './own-secrets.ts'

export type AppDeps = {
  readonly gateway: Gateway
  readonly agents: readonly AgentFacts[]
  readonly db: Db
  /** How often callers of the API may ask. Without it: as often as they like. */
  readonly limits?: ApiLimits
  readonly takeover: SessionTakeover
  /** What became of whatever goes by this id, on any connection or on the given one. */
  readonly explain: (id: string, connection?: string) => Promise<ExplainResult>
  readonly tokens: TokenStore
  readonly forget: EraseStore
  /** Weak settings of this gateway; absent where the process does not see its surroundings. */
  readonly findWeakSettings?: () => Promise<readonly Finding[]>
  /** What this process rejected lately. */
  readonly rejections: Rejections
  readonly meter: Pick<Meter, 'callerRefused'>
  readonly newTrace: () => string
  readonly replay: (id: string, wanted: ReplayRequest) => Promise<ReplayReport>
  readonly wake: () => void
  readonly files: AssembledFiles
  /** The keys that this gateway makes for itself; absent where it cannot change them. */
  readonly secrets?: SecretService
  /** Who calls a route of the API that takes no message. */
  readonly callers: ApiCallers
  /** Who issues tokens for callers here, besides us. Absent: no other issuer. */
  readonly tokenIssuers?: TokenIssuers
  readonly publicUrl?: string | undefined
  /** The first token; those made later are rows. */
  readonly adminToken: Secret
  readonly readReadiness: () => Promise<Readiness>
  readonly metrics: {
    readonly access: Config['metrics']
    readonly readHealthSamples: () => Promise<readonly HealthSample[]>
    /** What this process counted, in the same text format; absent where a process says nothing about the whole. */
    readonly readProcess?: () => Promise<string>
  }
  /** What the edge knows and a Request does not say: where it came from. */
  readonly sourceOf: (context: Context) => RequestSource
  /** Whether the operator's routes may be asked from there. Without it: from the local user only. */
  readonly mayOperate?: (context: Context) => boolean
  /** Where the edge can read them cheaper than from the Request. */
  readonly headersOf?: (context: Context) => Readonly<Record<string, string>>
  /** The address as it was received, where the edge knows it: nothing resolved, nothing decoded. */
  readonly rawUrlOf?: (context: Context) => string
  /** Where the edge counts the bodies it holds for strangers: this one counts no more. */
  readonly bodyTaken?: (context: Context) => void
  /** Where a request's means end with its answer: keeps them for a stream, until it is closed. */
  readonly keepOpen?: (until: Promise<void>) => void
  /** Web pages that may call the API, by origin. Without it: none but this machine's own. */
  readonly corsOrigins?: readonly string[]
  readonly now: () => number
  readonly maxBodyBytes: number
  readonly watchMs: number
  readonly log: Log
  /** Called after a success was decided and before it is sent; crash tests crash here. */
  readonly failpoint?: (name: string) => void | Promise<void>
}
