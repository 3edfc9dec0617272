// Stores one inbound event: everything that came in it is committed together.
import {
  type AcceptResult,
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type InboundOutcome,
  type JsonObject,
  type NormalizedMessage,
  textOf,
  validateMessage,
} from '../contract/index.ts'
import type { InboxDraft } from '../db/inbox.ts'
import { areStorable, changesAnything } from '../db/records.ts'
import { controlNames } from '../turns/chat-commands.ts'
import type { GatewayConnection, GatewayDeps } from '../turns/deps.ts'
import {
  type AcceptContext,
  acceptDrafts,
  createRejectedEventDraft,
  messageDraft,
  refusedDraft,
  sanitizeMessage,
} from './accept.ts'
import { parseChatCommand } from './chat-command.ts'
import { withForwarded } from './forwarded-evidence.ts'
import { acceptContext, createAcceptReporter, type RequestTrace } from './request-context.ts'
import { routeToAgent } from './route-to-agent.ts'
import type { JudgedMessage } from './sender-limits.ts'

/** What came in one inbound event is stored in one commit, all of it or nothing. */
export async function storeEvents(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrivals: readonly InboundEvent[],
  entry: RequestTrace,
): Promise<readonly AcceptResult[]> {
  const context = acceptContext(at, entry)
  const prepared: Prepared[] = []
  for (const arrived of arrivals) {
    // What needs no waiting is not waited for: each wait is a round through the runtime's queue.
    if (arrived.kind === 'ignored') prepared.push(await prepareIgnoredEvent(deps, at, arrived, context))
    else
      prepared.push(
        prepareMessage(
          deps,
          at,
          arrived.forwarded === undefined ? arrived : await withForwarded(deps, arrived),
          context,
        ),
      )
  }
  const kept = prepared.filter((each) => each.draft !== undefined)
  const acceptances = await acceptDrafts(
    deps,
    kept.flatMap(({ draft }) => draft ?? []),
  )
  const tell = createAcceptReporter(deps, context, entry)
  for (const each of prepared) if (each.draft === undefined) each.onStored(undefined)
  return kept.map(({ outcome, reason, onStored }, index) => {
    const acceptance = acceptances[index] ?? { kind: 'duplicate', inboxId: '' }
    onStored(acceptance)
    return tell(
      outcome ?? acceptance.kind,
      outcome === undefined && 'reason' in acceptance ? acceptance.reason : reason,
      acceptance,
    )
  })
}

/** One of the things that came together, on its way into the commit. */
type Prepared = {
  /** Undefined: noise, which leaves no row. */
  readonly draft: InboxDraft | undefined
  /** What it is counted as where it is new; undefined: as what it was accepted. */
  readonly outcome: InboundOutcome | undefined
  readonly reason: string
  readonly onStored: (acceptance: AcceptResult | undefined) => void
}

async function prepareIgnoredEvent(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrived: IgnoredEvent,
  context: AcceptContext,
): Promise<Prepared> {
  const { reason, reach, bounce, subject = null } = arrived
  const isNoise = arrived.isNoise && bounce === undefined && !changesAnything(arrived)
  // Before it is acknowledged; said again it changes nothing.
  if (reach !== undefined) await at.notePlace(reach, subject)
  const told = { outcome: 'ignored', reason } as const
  if (!areStorable(arrived)) return prepareUnstorableEvent(deps, arrived, context)
  if (!isNoise) {
    const remains = { ...arrived, state: 'ignored', content: '', subject } as const
    return {
      ...told,
      draft: createRejectedEventDraft(deps, remains, context),
      onStored: (stored) => showNew(deps, at, arrived, stored),
    }
  }
  const onIgnoredStored = (): void => {
    deps.meter.arrived(at.key, 'ignored', reason)
    showOpened(deps, at, arrived.opened)
  }
  return { ...told, draft: undefined, onStored: onIgnoredStored }
}

/** Half of what it asks for is not done: it is kept as dead, for a release that can. */
function prepareUnstorableEvent(
  deps: GatewayDeps,
  { raw, deliveryId, subject, once = [] }: IgnoredEvent,
  context: AcceptContext,
): Prepared {
  const reason = 'effect_invalid'
  const remains = { raw, deliveryId, subject: subject ?? null, reason, state: 'dead', content: '', once } as const
  return { draft: createRejectedEventDraft(deps, remains, context), outcome: 'unreadable', reason, onStored: () => {} }
}

function showNew(
  deps: GatewayDeps,
  at: GatewayConnection,
  { opened, sends = [], isForOperator = false, reason }: IgnoredEvent,
  stored: AcceptResult | undefined,
): void {
  if (stored?.kind !== 'accepted') return
  if (isForOperator) deps.log.warn('admin_action_required', { connection: at.key, inbox: stored.inboxId, reason })
  if (sends.length > 0) deps.bells.sends.ring()
  showOpened(deps, at, opened)
}

function prepareMessage(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrived: JudgedMessage,
  context: AcceptContext,
): Prepared {
  const checked = checkEvent(deps, arrived)
  if (checked.kind === 'message' && arrived.refusal !== undefined) {
    const { refusal } = arrived
    return {
      draft: refusedDraft(deps, checked.arrived, context, refusal),
      outcome: 'refused',
      reason: refusal,
      onStored() {},
    }
  }
  if (checked.kind === 'message') {
    const draft = messageDraft(deps, checked.arrived, context, routeToAgent(deps, at, checked.arrived))
    const onMessageStored = (acceptance: AcceptResult | undefined): void => {
      // A command is not to wait for a slot, even where every turn is taken.
      if (acceptance?.kind === 'accepted') deps.bells.turns.ring(isChatCommand(checked.arrived.message))
    }
    return { draft, outcome: undefined, reason: '', onStored: onMessageStored }
  }
  const { state, reason, path } = checked
  if (path !== undefined)
    deps.log.warn('message_invalid', { connection: at.key, trace: context.traceId, code: reason, path })
  const { semanticId: deliveryId, subject = null, once = [] } = arrived
  // The chain it named stands beside its original, which read again would be the beginning of one.
  const raw = arrived.message.channel?.caller === undefined ? arrived.message.raw : null
  const remains = { state, reason, deliveryId, raw, content: '', subject, once }
  const outcome = state === 'dead' ? 'unreadable' : 'ignored'
  return { draft: createRejectedEventDraft(deps, remains, context), outcome, reason, onStored: () => {} }
}

/** Not awaited: the request is answered meanwhile. */
function showOpened(
  deps: Pick<GatewayDeps, 'signs' | 'agents'>,
  at: GatewayConnection,
  to: JsonObject | undefined,
): void {
  const starters = deps.agents.get(at.connection.agent)?.starters ?? []
  if (to !== undefined) void deps.signs.show(at.adapter, to, 'opened', { starters })
}

function isChatCommand(message: NormalizedMessage): boolean {
  return parseChatCommand(message, controlNames) !== undefined
}

// What an adapter returned is checked before it is stored.

export type CheckedEvent =
  | { readonly kind: 'message'; readonly arrived: InboundMessage }
  /** `path`: where it is invalid. */
  | {
      readonly kind: 'rejected_event'
      readonly state: 'dead' | 'ignored'
      readonly reason: string
      readonly path?: string
    }

/** What an adapter made of an inbound event, as the gateway takes it: valid, cleaned, and saying something. */
export function checkEvent(deps: Pick<GatewayDeps, 'validation'>, arrived: InboundMessage): CheckedEvent {
  const checked = validateMessage(arrived.message, deps.validation)
  if (!checked.ok) {
    return { kind: 'rejected_event', state: 'dead', reason: checked.code, path: checked.path }
  }
  if (!areStorable(arrived)) return { kind: 'rejected_event', state: 'dead', reason: 'effect_invalid' }
  if (saysNothing(checked.message)) return { kind: 'rejected_event', state: 'ignored', reason: 'empty_message' }
  return { kind: 'message', arrived: { ...arrived, message: sanitizeMessage(checked.message) } }
}

/** Blank text and nothing else. A file without words is a message; so is the withdrawal of one. */
function saysNothing({ parts, channel }: NormalizedMessage): boolean {
  return channel?.event !== 'delete' && parts.every((part) => part.kind === 'text') && textOf(parts).trim() === ''
}
