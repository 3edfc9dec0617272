// The loopback channel: an adapter of the same shape as the real ones, in one variant per class of idempotent sending.

import { type ChannelDefinition, defineAdapter } from '../../../src/contract/index.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { loopbackFromEnvironment, loopbackSettingsSchema } from './config.ts'
import { deliverLoopback, openLoopbackFile, reconcileLoopback, type SendClass } from './deliver.ts'
import { loopbackLive, showTyping } from './live.ts'
import { normalizeLoopback } from './normalize.ts'
import { renderLoopback } from './render.ts'
import { verifyLoopback } from './verify.ts'
import type { LoopbackCall } from './wire.ts'

export { signLoopback } from './verify.ts'
export type { LoopbackEvent } from './wire.ts'

export const loopbackClientId = loopbackChannel('client-id')
export const loopbackLookup = loopbackChannel('lookup')
export const loopbackEdit = loopbackChannel('edit')
export const loopbackNone = loopbackChannel('none')

function loopbackChannel(sendClass: SendClass): ChannelDefinition {
  const channel = `loopback-${sendClass}`
  return {
    channel,
    defaultConnectionId: channel,
    defaultAccess: { mode: 'public', allow: [] },
    settingsSchema: loopbackSettingsSchema,
    variables: [],
    fromEnvironment: loopbackFromEnvironment,
    create(given, { fetch, now, hmac, files }) {
      const parsed = loopbackSettingsSchema.safeParse(given)
      if (!parsed.success) {
        const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`)
        throw new GatewayError('config_invalid', `[${channel}] ${problems.join('; ')}`)
      }
      const settings = parsed.data
      const deps = { fetch, settings, sendClass, files }
      return defineAdapter<Uint8Array, LoopbackCall>({
        channel,
        capabilities: {
          maxTextLength: settings.maxTextLength,
          idempotentSend: sendClass,
          callTimeoutMs: settings.callTimeoutMs,
          horizonMs: settings.horizonMs,
          limits: settings.limits,
          receivedVia: channel,
          authMethods: ['loopback-hmac'],
          mentionRelay: { kind: 'none' },
          isInteractive: true,
        },
        verify: (rawRequest) => verifyLoopback(hmac, settings.secret, now, rawRequest),
        payloadOf: (rawRequest) => rawRequest.bytes,
        normalize: (payload, rawRequest, connection) => normalizeLoopback(channel, payload, rawRequest, connection),
        render: (reply, to) => renderLoopback(settings.maxTextLength, reply, to),
        deliver: (call, attempt) => deliverLoopback(deps, call, attempt),
        withLine: (call, words) => ({ ...call, text: `${call.text}\n\n${words}` }),
        openFile: openLoopbackFile(deps),
        ...(settings.liveEveryMs === undefined ? {} : { live: loopbackLive(deps, settings.liveEveryMs) }),
        presence: settings.typing ? { shows: [], show: (to) => showTyping(deps, to) } : undefined,
        ...(sendClass === 'lookup' ? { reconcile: (_call, attempt) => reconcileLoopback(deps, attempt) } : {}),
      })
    },
  }
}
