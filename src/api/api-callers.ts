// Callers of API routes that take no message, judged as if they had sent one, so that what is theirs here is theirs there. The
// adapter behind the run route verifies, the gateway's own policy admits; nothing is stored.

import type { Agent } from '../agents/define-agent.ts'
import type { InboundMessage, RawRequest, RejectReason } from '../contract/index.ts'
import { readCallerAccess } from '../db/caller-access.ts'
import type { Db } from '../db/client.ts'
import type { WaitingMessage } from '../db/turn-rows.ts'
import type { AccessPolicy } from '../identity/access-policy.ts'
import type { PrincipalResolver } from '../identity/principals.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { admitMessage } from '../turns/admit.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'

const runPath = '/api/v1/agent/run'

export type ApiCaller = {
  readonly at: GatewayConnection
  /** What they proved, and whom that makes them: an operator may have linked the two. */
  readonly subject: string
  readonly principal: string
}

export type CallerIdentification =
  | { readonly kind: 'admitted'; readonly caller: ApiCaller }
  | {
      readonly kind: 'rejected'
      readonly reason: RejectReason
      readonly challenge?: string
      readonly connection: string
    }
  /** Verified, and not let in by the operator. */
  | { readonly kind: 'refused' }
  /** No connection answers the API here. */
  | { readonly kind: 'absent' }

export type CallerRequest = Pick<RawRequest, 'headers' | 'receivedAt' | 'from'>

/** What a caller says through another route than the run route, read as if it had come there. Nothing is stored. */
export type CallerMessageResult =
  | { readonly kind: 'read'; readonly at: GatewayConnection; readonly arrived: InboundMessage }
  | { readonly kind: 'unreadable'; readonly reason: string; readonly remedy: string | undefined }
  | Extract<CallerIdentification, { kind: 'rejected' | 'absent' }>

export interface ApiCallers {
  /** Rejected by its headers alone, before anything of a body is read. */
  screen(request: CallerRequest): Extract<CallerIdentification, { kind: 'rejected' }> | undefined
  identify(request: CallerRequest): Promise<CallerIdentification>
  introduce(request: CallerRequest, body: JsonObject): Promise<CallerMessageResult>
}

type Deps = {
  readonly connections: readonly GatewayConnection[]
  readonly agents: ReadonlyMap<string, Agent>
  readonly db: Db
  readonly access: AccessPolicy
  readonly principals: PrincipalResolver
  readonly host: () => Promise<string>
} & {
  readonly db: Db
}

/** What a caller would have to send to be answered. Only the adapter that judges its headers reads it. */
const emptyRunRequest = new TextEncoder().encode(
  JSON.stringify({ threadId: 'none', runId: 'none', messages: [{ id: 'none', role: 'user', content: 'none' }] }),
)

export function createCallerIdentification(deps: Deps): ApiCallers {
  const at = deps.connections.find(({ adapter }) => adapter.endpoints.some(({ path }) => path === runPath))
  return {
    screen(request) {
      const headers = { ...request.headers, 'content-type': 'application/json' }
      const screened = at?.adapter.screenHeaders?.({ ...request, headers })
      return screened === undefined || at === undefined ? undefined : { ...screened, connection: at.key }
    },
    async identify(request) {
      if (at === undefined) return { kind: 'absent' }
      const read = await readCallerMessage(at, request, {
        headers: keepAuthorizationHeader(request.headers),
        bytes: emptyRunRequest,
      })
      if (read.kind === 'rejected' || read.kind === 'absent') return read
      if (read.kind === 'unreadable' || read.arrived.subject === undefined)
        return { kind: 'rejected', reason: 'malformed_request', connection: at.key }
      return admitApiCaller(deps, at, read.arrived, read.arrived.subject)
    },
    async introduce(request, body) {
      if (at === undefined) return { kind: 'absent' }
      // Here the chain of agents counts: this is a visit.
      const headers = { ...request.headers, 'content-type': 'application/json' }
      return readCallerMessage(at, request, { headers, bytes: new TextEncoder().encode(JSON.stringify(body)) })
    },
  }
}

async function readCallerMessage(
  at: GatewayConnection,
  request: CallerRequest,
  said: Pick<RawRequest, 'headers' | 'bytes'>,
): Promise<CallerMessageResult> {
  const rejectRequest = (reason: RejectReason): CallerMessageResult => ({
    kind: 'rejected',
    reason,
    connection: at.key,
  })
  // Guests speak on the run route and nowhere else: what is listed, kept or read back belongs to a caller who can be known again.
  if (request.from === 'guest' && request.headers['authorization'] === undefined)
    return rejectRequest('missing_credential')
  const reception = await at.adapter.receive({ ...request, ...said }, at.connection)
  if (reception.kind === 'rejected') return { ...reception, connection: at.key }
  if (reception.kind === 'unreadable') return { kind: 'unreadable', reason: reception.reason, remedy: reception.remedy }
  const [arrived] = reception.kind === 'read' ? reception.events : []
  return arrived?.kind === 'message' ? { kind: 'read', at, arrived } : rejectRequest('malformed_request')
}

async function admitApiCaller(
  deps: Deps,
  at: GatewayConnection,
  { message, agent }: InboundMessage,
  subject: string,
): Promise<CallerIdentification> {
  const access = await readCallerAccess(deps.db, message.sender, at.key)
  const { raw: _raw, ...stored } = message
  const row: WaitingMessage = {
    id: '',
    agent,
    subject,
    mustReplyIndividually: null,
    event: 'new',
    editOf: null,
    messageId: message.id,
    message: stored,
    replyTo: {},
    bytes: 0,
    attempts: 0,
    runsAlone: false,
    joinedAtPoll: null,
    parentTurn: null,
    continuesTurn: false,
    traceId: '',
    taskId: null,
    tombstone: null,
    original: null,
    access,
  }
  const admission = await admitMessage(deps, at, row, agent)
  if (admission.kind !== 'admitted') return { kind: 'refused' }
  return { kind: 'admitted', caller: { at, subject, principal: admission.principal } }
}

/** Not the chain of agents: it counts a visit, and asking for a file is none. */
function keepAuthorizationHeader({
  authorization,
}: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) }
}
