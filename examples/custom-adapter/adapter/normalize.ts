// What a verified interaction says, as a message. Pure: no network, no clock, no environment.
import {
  type Connection,
  cleanName,
  formatAddress,
  type InboundEvent,
  mintEvidence,
  parseBoundedJson,
  type RawRequest,
  textPart,
  UnparsableEventError,
  verifiedSender,
} from 'parley-gateway'
import { type Interaction, interactionSchema, interactionTypes, maxContent } from './wire.ts'

export function normalizeInteraction(
  applicationId: string,
  payload: Uint8Array,
  request: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const json = parseBoundedJson(payload)
  if (!json.ok) throw new UnparsableEventError(json.reason)
  const parsed = interactionSchema.safeParse(json.value)
  if (!parsed.success) throw new UnparsableEventError('invalid_interaction')
  const interaction = parsed.data
  const user = interaction.member?.user ?? interaction.user
  const ignored = (reason: string): readonly InboundEvent[] => [
    { kind: 'ignored', reason, isNoise: false, deliveryId: interaction.id, raw: json.value },
  ]
  if (user?.id === applicationId) return ignored('own_message')
  const text = commandText(interaction)
  if (user === undefined || interaction.channel_id === undefined || text === undefined) return ignored('nothing_said')
  const room = interaction.guild_id === undefined ? 'dm' : 'channel'
  const recipient = formatAddress({ local: connection.agent, domain: connection.domain })
  const name = cleanName(interaction.member?.nick ?? user.global_name ?? user.username)
  const evidence = mintEvidence({
    // The number, never the name: a name can change hands.
    subject: `discord:${user.id}`,
    issuer: connection.domain,
    method: 'urn:gw:auth:discord-interaction:v1',
    assurance: 'platform',
    recipient,
    issuedAt: request.receivedAt,
  })
  return [
    {
      kind: 'message',
      agent: connection.agent,
      // The same for every delivery of this interaction.
      semanticId: interaction.id,
      version: '0',
      isSenderChosenId: false,
      deliveryId: interaction.id,
      subject: evidence.subject,
      thread: { candidates: [interaction.channel_id], platformVerified: true, newThreadKey: interaction.channel_id },
      replyTo: { channel_id: interaction.channel_id, reply_to_token: interaction.token },
      // Each interaction has a token of its own, and wants an answer under it.
      mustReplyIndividually: 'command',
      message: {
        id: interaction.id,
        thread_id: interaction.channel_id,
        sender: verifiedSender([evidence], {
          address: formatAddress({ local: user.id, domain: `discord.${connection.domain}` }),
          auth_method: 'discord-ed25519',
          ...(name === '' ? {} : { display_name: name }),
        }),
        recipient,
        parts: [textPart(text)],
        recipient_capabilities: {
          mention_relay: { kind: 'none' },
          rendering: { max_text_chars: maxContent, streaming: 'none', files: false, buttons: false },
        },
        received_via: 'discord',
        received_at: request.receivedAt,
        raw: json.value,
        channel: {
          connector_id: connection.id,
          external_provider: 'discord',
          external_conversation_id: interaction.channel_id,
          external_message_id: interaction.id,
          sender_id: user.id,
          room_kind: room,
          from_self: false,
          addressed: room === 'dm' ? 'dm' : 'mention',
          visibility: room === 'dm' ? 'direct' : 'private',
          mentions: [],
          event: 'new',
        },
      },
    },
  ]
}

/** `/ask text: …` says its text; `/stop` and its like are commands of the gateway, which reads them in the words. */
function commandText({ type, data }: Interaction): string | undefined {
  if (type !== interactionTypes.command || data === undefined) return undefined
  const words = (data.options ?? [])
    .map(({ value }) => String(value ?? ''))
    .join(' ')
    .trim()
  const text = data.name === 'ask' ? words : `/${data.name} ${words}`.trim()
  return text === '' ? undefined : text
}
