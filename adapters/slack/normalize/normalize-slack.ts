// Hop 3: normalizes one signed payload. Pure: values and facts in, values out.
import {
  type Arrived,
  type ChannelContext,
  type Connection,
  type RawArrival,
  UnreadableArrival,
} from '../../../src/contract/index.ts'
import { misfit } from '../../../src/verification/index.ts'
import {
  installationEvents,
  noiseEvents,
  readEnvelope,
  readMessage,
  type SlackEvent,
  stoppedSchema,
} from '../wire/event.ts'
import { interactionSchema, slashSchema } from '../wire/order.ts'
import { homeOpenedSchema, threadOpenedSchema } from '../wire/view.ts'
import { fromHomeOpened, fromThreadOpened } from './from-agent-view.ts'
import { fromClick, fromSlash, fromStop, nothing, placeOfOrder } from './from-command.ts'
import { fromMessage } from './from-message.ts'
import { type AppFacts, placeOfEvent, type Scene } from './scene.ts'

type Fields = Readonly<Record<string, unknown>>
type Incoming = {
  readonly app: AppFacts
  readonly arrival: RawArrival
  readonly connection: Connection
  readonly isBeyondHops?: boolean
  readonly response?: string | undefined
  /** What the thread was opened about, where the message itself does not say it. */
  readonly viewed?: ChannelContext['context']
}

/** Passwords for a while, and an old shared one: what is kept does without them. */
const secretFields: ReadonlySet<string> = new Set(['token', 'response_url', 'response_urls', 'trigger_id'])
const orderTypes: ReadonlySet<unknown> = new Set([
  ...['block_actions', 'block_suggestion', 'view_submission', 'view_closed', 'shortcut', 'message_action'],
  ...['interactive_message', 'dialog_submission', 'workflow_step_edit'],
])

export function normalizeSlack(incoming: Incoming, value: Fields): readonly Arrived[] {
  if (typeof value['command'] === 'string') return [slash(incoming, value)]
  if (orderTypes.has(value['type'])) return [interaction(incoming, value)]
  return [event(incoming, value)]
}

function event(incoming: Incoming, value: Fields): Arrived {
  const raw = withoutSecrets(value)
  const envelope = readEnvelope(value)
  if (envelope === misfit) throw new UnreadableArrival('invalid_envelope')
  const deliveryId = envelope.event_id ?? `${envelope.type}:${incoming.arrival.receivedAt}`
  if (envelope.type === 'app_rate_limited')
    return { kind: 'ignored', reason: 'app_rate_limited', isNoise: false, deliveryId, raw }
  if (envelope.type !== 'event_callback')
    return { kind: 'ignored', reason: 'unsupported_type', isNoise: false, deliveryId, raw }
  const scene: Scene = { ...incoming, place: placeOfEvent(incoming.app, envelope), deliveryId, raw }
  const inner = typeof envelope.event === 'object' && envelope.event !== null ? envelope.event : {}
  const type = 'type' in inner && typeof inner.type === 'string' ? inner.type : ''
  if (type === 'message' || type === 'app_mention') return fromMessage(scene, messageIn(inner))
  if (type === 'app_home_opened') return fromHomeOpened(scene, checked(homeOpenedSchema, inner))
  if (type === 'app_context_changed') return nothing(scene, 'context_changed', userIn(inner))
  if (type.startsWith('assistant_thread_')) return fromThreadOpened(scene, checked(threadOpenedSchema, inner))
  if (type === 'agent_session_stopped') return fromStop(scene, checked(stoppedSchema, inner))
  if (installationEvents.has(type)) return nothing(scene, type)
  const reason = type === '' ? 'no_event' : 'unsupported_event'
  return { ...nothing(scene, reason, userIn(inner)), isNoise: noiseEvents.has(type) } as Arrived
}

function messageIn(inner: object): SlackEvent {
  const message = readMessage(inner)
  if (message === misfit) throw new UnreadableArrival('invalid_event')
  return message
}

function checked<T>(schema: { safeParse(value: unknown): { success: boolean; data?: T } }, value: unknown): T {
  const { data } = schema.safeParse(value)
  if (data === undefined) throw new UnreadableArrival('invalid_event')
  return data
}

/** Whose reaction, visit or membership it is. */
function userIn(inner: object): string | undefined {
  const user = 'user' in inner ? inner.user : undefined
  return typeof user === 'string' && /^[UW][A-Z0-9]{1,31}$/.test(user) ? user : undefined
}

function interaction(incoming: Incoming, value: Fields): Arrived {
  const parsed = interactionSchema.safeParse(value)
  if (!parsed.success) throw new UnreadableArrival('invalid_interaction')
  const { data } = parsed
  const enterprise = data.enterprise?.id ?? data.team?.enterprise_id
  const place = placeOfOrder(incoming.app, {
    isOrg: data.is_enterprise_install === true,
    team: data.team?.id ?? data.user?.team_id,
    enterprise,
    appId: data.api_app_id,
  })
  const scene = { ...incoming, place, deliveryId: deliveryOf(value, incoming), raw: withoutSecrets(value) }
  return data.type === 'block_actions'
    ? fromClick(scene, data)
    : nothing(scene, `unsupported_${data.type}`, data.user?.id)
}

function slash(incoming: Incoming, value: Fields): Arrived {
  const parsed = slashSchema.safeParse(value)
  if (!parsed.success) throw new UnreadableArrival('invalid_command')
  const { data } = parsed
  const place = placeOfOrder(incoming.app, {
    isOrg: data.is_enterprise_install === 'true',
    team: data.team_id,
    enterprise: data.enterprise_id,
    appId: data.api_app_id,
  })
  return fromSlash({ ...incoming, place, deliveryId: deliveryOf(value, incoming), raw: withoutSecrets(value) }, data)
}

/** Slack repeats no click and no command; people do. */
function deliveryOf(value: Fields, { arrival }: Incoming): string {
  const trigger = value['trigger_id']
  return typeof trigger === 'string' && trigger !== '' ? trigger.slice(0, 128) : arrival.receivedAt
}

function withoutSecrets(value: Fields): Fields {
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(value)) if (!secretFields.has(name)) kept[name] = value[name]
  return kept
}
