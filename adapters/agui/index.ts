// The built-in run API: AG-UI's run request, from this machine or with a token, answered in the same request once the run has ended.

import {
  type Adapter,
  type ChannelDefinition,
  type ChannelDeps,
  defineAdapter,
  probeOwnAddress,
} from '../../src/contract/index.ts'
import { GatewayError } from '../../src/lib/index.ts'
import { aguiFromEnvironment, aguiSettingsSchema } from './config.ts'
import { deliverAgui } from './deliver.ts'
import { streamRunOfRequest } from './live/stream.ts'
import { normalizeAgui, rebuildStoredRunPayload } from './normalize.ts'
import { renderAgui, renderRunAnswer } from './render.ts'
import { aguiSentences } from './sentences.ts'
import { screenAguiHeaders, type VerifyDeps, verifyAgui } from './verify.ts'
import { type AguiCall, type AguiPayload, describedRun } from './wire.ts'

const runPath = '/api/v1/agent/run'

export const aguiChannel: ChannelDefinition = {
  channel: 'agui',
  sentences: aguiSentences,
  defaultConnectionId: 'demo',
  defaultAccess: { mode: 'public', allow: [] },
  takesGuests: true,
  settingsSchema: aguiSettingsSchema,
  variables: [],
  fromEnvironment: aguiFromEnvironment,
  create(settings, { runLog, callers, connection, publicUrl, isLocalOnly = false, tasks }) {
    const isKnown = aguiSettingsSchema.safeParse(settings).success
    if (!isKnown) throw new GatewayError('config_invalid', '[agui] takes no settings; remove them')
    if (runLog === undefined) throw new GatewayError('config_invalid', '[agui] needs the run log; pass deps.runLog')
    if (callers === undefined)
      throw new GatewayError('config_invalid', '[agui] needs the caller verifier; pass deps.callers')
    if (tasks === undefined) throw new GatewayError('config_invalid', '[agui] needs the task service; pass deps.tasks')
    const url = publicUrl === undefined ? undefined : `${publicUrl}${runPath}`
    return createAgui(runLog, { callers, tasks, agent: connection.agent, url }, { url, isLocalOnly })
  },
}

function createAgui(
  runLog: NonNullable<ChannelDeps['runLog']>,
  deps: VerifyDeps,
  address: Parameters<typeof probeOwnAddress>[1],
): Adapter {
  return defineAdapter<AguiPayload, AguiCall>({
    channel: 'agui',
    capabilities: {
      // One reply is one event of the run log; there is no platform limit to split for.
      maxTextLength: Number.MAX_SAFE_INTEGER,
      idempotentSend: 'client-id',
      // One statement under a key; repeating it is harmless.
      callTimeoutMs: 2000,
      horizonMs: 24 * 60 * 60 * 1000,
      limits: {},
      receivedVia: 'agui',
      authMethods: ['agui-session', 'agui-guest', 'bearer-token', 'bearer-jwt', 'bearer-oauth'],
      mentionRelay: { kind: 'none' },
      notifiesByName: false,
      takesFileUrls: 'own',
      appends: true,
    },
    // Clients of a later revision of the run API use the other path.
    endpoints: [
      { path: runPath, answer: 'watch', describe: [describedRun] },
      { path: `${runPath}s`, answer: 'watch', describe: [{ ...describedRun, id: 'runAgentByOtherName' }] },
    ],
    screenHeaders: (head) => screenAguiHeaders(deps, head),
    verify: (rawRequest) => verifyAgui(deps, rawRequest),
    payloadOf: rebuildStoredRunPayload,
    normalize: normalizeAgui,
    render: renderAgui,
    deliver: (call, attempt) => deliverAgui(runLog, call, attempt),
    acknowledge: renderRunAnswer,
    follow: (request) => streamRunOfRequest(deps.tasks, request),
    probe: (request) => probeOwnAddress(request, address),
    isLocalOnly: address.isLocalOnly,
  })
}
