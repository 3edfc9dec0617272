// The built-in local API: seed 002's run request from this machine, answered in the same request once the run has ended.
import {
  type Adapter,
  type ChannelDefinition,
  defineAdapter,
  GatewayError,
  type RunLog,
} from '../../src/contract/index.ts'
import { aguiFromEnvironment, aguiSettingsSchema } from './config.ts'
import { deliverAgui } from './deliver.ts'
import { normalizeAgui } from './normalize.ts'
import { renderAgui, renderAnswer } from './render.ts'
import { verifyAgui } from './verify.ts'
import type { AguiCall } from './wire.ts'

export const aguiChannel: ChannelDefinition = {
  channel: 'agui',
  defaultConnectionId: 'demo',
  defaultAccess: { mode: 'public', allow: [] },
  settingsSchema: aguiSettingsSchema,
  fromEnvironment: aguiFromEnvironment,
  create(settings, { runLog }) {
    const isKnown = aguiSettingsSchema.safeParse(settings).success
    if (!isKnown) throw new GatewayError('config_invalid', '[agui] takes no settings; remove them')
    if (runLog === undefined) throw new GatewayError('config_invalid', '[agui] needs the run log; pass deps.runLog')
    return createAgui(runLog)
  },
}

function createAgui(runLog: RunLog): Adapter {
  return defineAdapter<Uint8Array, AguiCall>({
    channel: 'agui',
    capabilities: {
      // One reply is one event of the run log; there is no platform limit to split for.
      maxTextLength: Number.MAX_SAFE_INTEGER,
      idempotentSend: 'client-id',
      callTimeoutMs: 5000,
      horizonMs: 24 * 60 * 60 * 1000,
      limits: {},
      receivedVia: 'agui',
      authMethods: ['agui-session'],
      mentionRelay: { kind: 'none' },
      verbs: ['acknowledge'],
    },
    endpoints: [{ path: '/api/v1/agent/run', answer: 'watch' }],
    verify: async (arrival) => verifyAgui(arrival),
    payloadOf: (arrival) => arrival.bytes,
    normalize: normalizeAgui,
    render: renderAgui,
    deliver: (call, attempt) => deliverAgui(runLog, call, attempt),
    acknowledge: renderAnswer,
  })
}
