// Normalizes one signed payload. Pure: values and facts in, values out.
import {
  type ChannelContext,
  type Connection,
  type InboundEvent,
  type RawRequest,
  UnparsableEventError,
} from '../../../src/contract/index.ts'
import { misfit, readWire } from '../../../src/lib/index.ts'
import {
  envelopeRule,
  homeOpenedSchema,
  installationEvents,
  interactionSchema,
  messageRule,
  noiseEvents,
  slashSchema,
  stoppedSchema,
  threadOpenedSchema,
} from '../wire.ts'
import { type AppFacts, type EventContext, resolveInstallation } from './context.ts'
import {
  ignoredEvent,
  normalizeButtonClick,
  normalizeHomeOpened,
  normalizeSlashCommand,
  normalizeStopButton,
  normalizeThreadOpened,
  resolveInteractionInstallation,
} from './interactions.ts'
import { normalizeMessageEvent } from './message.ts'

type Fields = Readonly<Record<string, unknown>>
type Incoming = {
  readonly app: AppFacts
  readonly arrival: RawRequest
  readonly connection: Connection
  readonly isBeyondHops?: boolean
  readonly response?: string | undefined
  /** What the thread was opened about, where the message itself does not say it. */
  readonly viewed?: ChannelContext['context']
}

/** Passwords for a while, and an old shared one: what is kept does without them. */
const secretFields: ReadonlySet<string> = new Set(['token', 'response_url', 'response_urls', 'trigger_id'])
const orderTypes: ReadonlySet<unknown> = new Set([
  'block_actions',
  'block_suggestion',
  'view_submission',
  'view_closed',
  'shortcut',
  'message_action',
  'interactive_message',
  'dialog_submission',
  'workflow_step_edit',
])

export function normalizeSlack(incoming: Incoming, value: Fields): InboundEvent {
  if (typeof value['command'] === 'string') return normalizeSlashPayload(incoming, value)
  if (orderTypes.has(value['type'])) return normalizeInteraction(incoming, value)
  const raw = withoutSlackSecrets(value)
  const envelope = readWire(envelopeRule, value)
  if (envelope === misfit) throw new UnparsableEventError('invalid_envelope')
  const deliveryId = envelope.event_id ?? `${envelope.type}:${incoming.arrival.receivedAt}`
  if (envelope.type === 'app_rate_limited')
    return { kind: 'ignored', reason: 'app_rate_limited', isNoise: false, deliveryId, raw }
  if (envelope.type !== 'event_callback')
    return { kind: 'ignored', reason: 'unsupported_type', isNoise: false, deliveryId, raw }
  const eventContext: EventContext = {
    ...incoming,
    place: resolveInstallation(incoming.app, envelope),
    deliveryId,
    raw,
  }
  const inner = typeof envelope.event === 'object' && envelope.event !== null ? envelope.event : {}
  const type = 'type' in inner && typeof inner.type === 'string' ? inner.type : ''
  if (type === 'message' || type === 'app_mention') {
    const message = readWire(messageRule, inner)
    if (message === misfit) throw new UnparsableEventError('invalid_event')
    return normalizeMessageEvent(eventContext, message)
  }
  if (type === 'app_home_opened') return normalizeHomeOpened(eventContext, parseEventAs(homeOpenedSchema, inner))
  if (type === 'app_context_changed') return ignoredEvent(eventContext, 'context_changed', eventUser(inner))
  if (type.startsWith('assistant_thread_'))
    return normalizeThreadOpened(eventContext, parseEventAs(threadOpenedSchema, inner))
  if (type === 'agent_session_stopped') return normalizeStopButton(eventContext, parseEventAs(stoppedSchema, inner))
  if (installationEvents.has(type)) return ignoredEvent(eventContext, type)
  const reason = type === '' ? 'no_event' : 'unsupported_event'
  return { ...ignoredEvent(eventContext, reason, eventUser(inner)), isNoise: noiseEvents.has(type) } as InboundEvent
}

function parseEventAs<T>(schema: { safeParse(value: unknown): { success: boolean; data?: T } }, value: unknown): T {
  const { data } = schema.safeParse(value)
  if (data === undefined) throw new UnparsableEventError('invalid_event')
  return data
}

/** Whose reaction, visit or membership it is. */
function eventUser(inner: object): string | undefined {
  const user = 'user' in inner ? inner.user : undefined
  return typeof user === 'string' && /^[UW][A-Z0-9]{1,31}$/.test(user) ? user : undefined
}

function normalizeInteraction(incoming: Incoming, value: Fields): InboundEvent {
  const parsed = interactionSchema.safeParse(value)
  if (!parsed.success) throw new UnparsableEventError('invalid_interaction')
  const { data } = parsed
  const enterprise = data.enterprise?.id ?? data.team?.enterprise_id
  const place = resolveInteractionInstallation(incoming.app, {
    isOrg: data.is_enterprise_install === true,
    team: data.team?.id ?? data.user?.team_id,
    enterprise,
    appId: data.api_app_id,
  })
  const eventContext = {
    ...incoming,
    place,
    deliveryId: interactionDeliveryId(value, incoming),
    raw: withoutSlackSecrets(value),
  }
  return data.type === 'block_actions'
    ? normalizeButtonClick(eventContext, data)
    : ignoredEvent(eventContext, `unsupported_${data.type}`, data.user?.id)
}

function normalizeSlashPayload(incoming: Incoming, value: Fields): InboundEvent {
  const parsed = slashSchema.safeParse(value)
  if (!parsed.success) throw new UnparsableEventError('invalid_command')
  const { data } = parsed
  const place = resolveInteractionInstallation(incoming.app, {
    isOrg: data.is_enterprise_install === 'true',
    team: data.team_id,
    enterprise: data.enterprise_id,
    appId: data.api_app_id,
  })
  return normalizeSlashCommand(
    { ...incoming, place, deliveryId: interactionDeliveryId(value, incoming), raw: withoutSlackSecrets(value) },
    data,
  )
}

/** Slack repeats no click and no command; people do. */
function interactionDeliveryId(value: Fields, { arrival }: Incoming): string {
  const trigger = value['trigger_id']
  return typeof trigger === 'string' && trigger !== '' ? trigger.slice(0, 128) : arrival.receivedAt
}

function withoutSlackSecrets(value: Fields): Fields {
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(value)) if (!secretFields.has(name)) kept[name] = value[name]
  return kept
}
