// The channel: what it can do, and an adapter made of its parts.
import {
  type ConnectionConfig,
  type ConnectionOptions,
  connectionConfig,
  defineAdapter,
  defineChannel,
  parseSettings,
  type TransportAnswer,
} from 'parley-gateway'
import { readEnvironment, settingsSchema, variableNames } from './config.ts'
import { deliverMessage, probeApplication } from './deliver.ts'
import { normalizeInteraction } from './normalize.ts'
import { renderReply } from './render.ts'
import { createVerifier, jsonAnswer } from './verify.ts'
import { answerTypes, type Call, maxContent } from './wire.ts'

export const discordChannel = defineChannel({
  channel: 'discord',
  defaultConnectionId: 'default',
  defaultAccess: { mode: 'public', allow: [] },
  settingsSchema,
  variables: variableNames,
  fromEnvironment: readEnvironment,
  sentences: { 'discord.busy': 'Please try again in a moment.' },
  create(given, { fetch, now, say }) {
    const settings = parseSettings('discord', settingsSchema, given)
    const deps = { fetch, settings }
    return defineAdapter<Uint8Array, Call>({
      channel: 'discord',
      capabilities: {
        maxTextLength: maxContent,
        idempotentSend: 'none',
        callTimeoutMs: 10_000,
        // A token lives for a quarter of an hour.
        horizonMs: 15 * 60_000,
        limits: { connection: { count: 50, perMs: 1000 }, conversation: { count: 5, perMs: 2000 } },
        receivedVia: 'discord',
        authMethods: ['discord-ed25519'],
        mentionRelay: { kind: 'none' },
        notifiesByName: false,
        isInteractive: true,
      },
      verify: createVerifier(settings.publicKey, now),
      payloadOf: ({ bytes }) => bytes,
      normalize: (payload, request, connection) =>
        normalizeInteraction(settings.applicationId, payload, request, connection),
      render: renderReply,
      deliver: (call, attempt) => deliverMessage(deps, call, attempt),
      acknowledge: ([accepted]) => answerInteraction(accepted?.kind, say('discord.busy')),
      probe: (request) => probeApplication(deps, request),
    })
  },
})

/** Three seconds are all there is: "thinking" is shown until the reply comes. */
function answerInteraction(kind: string | undefined, busy: string): TransportAnswer {
  if (kind !== 'refused') return jsonAnswer({ type: answerTypes.thinking })
  return jsonAnswer({ type: answerTypes.message, data: { content: busy, flags: 64 } })
}

export type DiscordOptions = ConnectionOptions<typeof settingsSchema>

/** `connections: [discord({ … })]`, where the settings are not in the environment. */
export function discord(options: DiscordOptions): ConnectionConfig {
  return connectionConfig('discord', options)
}
