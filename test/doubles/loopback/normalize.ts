// Hop 3: a loopback event to one message. Pure.
import {
  type Connection,
  formatAddress,
  type InboundEvent,
  mintEvidence,
  type NormalizedMessage,
  type Part,
  type RawRequest,
  type Sender,
  textPart,
  UnparsableEventError,
  unverifiedSender,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/lib/index.ts'
import { eventSchema } from './wire.ts'

export const ownSender = 'parley'

type Event = ReturnType<typeof eventSchema.parse>

export function normalizeLoopback(
  channel: string,
  payload: Uint8Array,
  rawRequest: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const json = parseBoundedJson(payload)
  if (!json.ok) throw new UnparsableEventError(json.reason)
  const parsed = eventSchema.safeParse(json.value)
  if (!parsed.success) throw new UnparsableEventError('invalid_event')
  const event = parsed.data
  const deliveryId = event.deliveryId ?? event.id
  const ignored = (reason: string, isNoise: boolean): readonly InboundEvent[] => [
    { kind: 'ignored', reason, isNoise, deliveryId, raw: json.value },
  ]
  if (event.from === ownSender) return ignored('own_message', false)
  if (event.text === undefined || (event.from === undefined && event.evidence === undefined))
    return ignored('nothing_said', event.id.startsWith('ping'))
  return [
    arrived({
      channel,
      rawRequest,
      connection,
      event,
      deliveryId,
      from: event.from,
      text: event.text,
      raw: json.value,
    }),
  ]
}

type Scene = {
  readonly channel: string
  readonly rawRequest: RawRequest
  readonly connection: Connection
  readonly event: Event
  readonly deliveryId: string
  /** Undefined: relayed by another gateway, which says who it is. */
  readonly from: string | undefined
  readonly text: string
  readonly raw: unknown
}

function arrived(scene: Scene): InboundEvent {
  const { event, connection } = scene
  const mustReplyIndividually = event.mustReplyIndividually ?? (event.command === undefined ? undefined : 'command')
  return {
    kind: 'message',
    message: messageOf(scene),
    agent: connection.agent,
    semanticId: `${event.conversation}:${event.target ?? event.id}`,
    version: event.version,
    isSenderChosenId: event.senderChosenId,
    deliveryId: scene.deliveryId,
    ...(scene.from === undefined ? {} : { subject: `loopback:${scene.from}` }),
    ...(event.evidence === undefined ? {} : { forwarded: event.evidence }),
    thread: {
      candidates: event.claims ?? [event.conversation],
      platformVerified: event.claims === undefined,
      newThreadKey: event.conversation,
      ...(event.replyToken === undefined ? {} : { replyToken: event.replyToken }),
    },
    replyTo: { conversation: event.conversation },
    ...(mustReplyIndividually === undefined ? {} : { mustReplyIndividually }),
    ...(event.exclusive === undefined ? {} : { isExclusive: event.exclusive }),
    ...(event.sentAt === undefined ? {} : { platformAt: event.sentAt }),
  }
}

function messageOf(scene: Scene): NormalizedMessage {
  const { channel, rawRequest, connection, event, from, text, raw } = scene
  const recipient = formatAddress({ local: connection.agent, domain: connection.domain })
  return {
    id: event.id,
    thread_id: event.claims?.[0] ?? event.conversation,
    sender: senderOf(scene, recipient),
    recipient,
    parts: [...(text === '' && event.files.length > 0 ? [] : [textPart(text)]), ...event.files.map(filePart)],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: channel,
    received_at: rawRequest.receivedAt,
    raw,
    channel: {
      connector_id: connection.id,
      external_provider: 'loopback',
      external_conversation_id: event.mainLine ?? event.conversation,
      ...(event.mainLine === undefined ? {} : { main_line: event.mainLine }),
      external_message_id: event.id,
      sender_id: from ?? null,
      room_kind: event.room,
      from_self: false,
      addressed: event.addressed,
      visibility: 'private',
      mentions: [],
      event: event.event,
      ...(event.target === undefined ? {} : { target_id: event.target }),
      ...(event.command === undefined ? {} : { command: event.command }),
    },
  }
}

function filePart({ id, mime, name }: Event['files'][number]): Part {
  const facts = { ...(mime === undefined ? {} : { mime }), ...(name === undefined ? {} : { name }) }
  return { kind: 'file', bytes_ref: { kind: 'channel', ref: { id } }, ...facts }
}

function senderOf({ rawRequest, connection, event, from }: Scene, recipient: string): Sender {
  const shown = {
    ...(event.name === undefined ? {} : { display_name: event.name }),
    ...(event.profile === undefined ? {} : { profile: event.profile }),
    auth_method: 'loopback-hmac',
  }
  if (from === undefined) return { ...unverifiedSender(connection.domain), ...shown }
  const evidence = mintEvidence({
    subject: `loopback:${from}`,
    issuer: connection.domain,
    method: 'urn:gw:auth:loopback:v0.1',
    assurance: 'platform',
    recipient,
    issuedAt: rawRequest.receivedAt,
  })
  const address = formatAddress({ local: from, domain: `loopback.${connection.domain}` })
  return verifiedSender([evidence], { ...shown, address })
}
