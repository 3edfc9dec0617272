// Hop 8: delivers one call. A post carries our client id as metadata, so that it can be found again.
import type { Attempt, ChannelDeps, DeliveryOutcome, JsonObject, Secret } from '../../../src/contract/index.ts'
import type { SlackSettings } from '../config.ts'
import { uploadFile } from '../files/upload.ts'
import { finishLive, startLive } from '../live.ts'
import type { SlackCall } from '../wire/call.ts'
import { classOf } from './error-table.ts'
import { isError } from './outcome-of.ts'
import type { LiveState, SlackPorts } from './ports.ts'
import { createRespond, type Respond } from './respond.ts'
import { type Send, settled, withPlainWords } from './send-message.ts'

/** All members of the workspace can read it: an id of ours and nothing else. */
const metadataType = 'parley_message'

function metadataOf(clientId: string): JsonObject {
  return { event_type: metadataType, event_payload: { client_id: clientId } }
}

export function deliverSlack(
  settings: SlackSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'files'>,
  ports: SlackPorts,
): (call: SlackCall, attempt: Attempt) => Promise<DeliveryOutcome> {
  return async (call, attempt) => {
    if (attempt.signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
    if (saysCredential(settings, call)) return { kind: 'refused', reason: 'text_contains_credential' }
    const held = await ports.tokenOf(call.account)
    if (held.kind !== 'token') return { kind: held.kind === 'gone' ? 'refused' : 'retry', reason: held.reason }
    const send = sendWith(ports, call.account, held.token, attempt.signal)
    if (call.method === 'upload') return uploadFile({ settings, deps, send }, call, attempt.signal)
    const respond = createRespond(deps, ports.live.notes, settings.callTimeoutMs)
    const direct = (message: Message) => sendCall(message, attempt, { send, live: ports.live })
    return withResponse(call, respond, direct)
  }
}

/** A token that Slack does not take is reported, and where there is a newer one the call is made with that: nothing was done yet. */
function sendWith(ports: SlackPorts, account: string, token: Secret, signal: AbortSignal): Send {
  return async (method, args) => {
    const answer = await ports.call(token, method, args, signal)
    if (answer.kind !== 'error' || !isError(answer, 'token')) return answer
    const newer = await ports.tokenFailed(account, token, answer.error)
    return newer === undefined ? answer : ports.call(newer, method, args, signal)
  }
}

/** By the `response_url` first, or where the call cannot work; what has run out leaves the other way. */
async function withResponse(
  call: Message,
  respond: Respond,
  direct: (message: Message) => Promise<DeliveryOutcome>,
): Promise<DeliveryOutcome> {
  const { response } = call
  if (response === undefined || call.method === 'chat.startStream') return direct(call)
  const answer = async (): Promise<DeliveryOutcome | undefined> => {
    const isReplacing = call.method === 'chat.update'
    const shown = await respond(response.key, call.payload, { isReplacing })
    if (shown === 'shown') return { kind: 'delivered' }
    // Replacing twice shows once; anything else might show twice.
    return shown === 'gone' ? undefined : { kind: isReplacing ? 'retry' : 'unknown', reason: 'response_lost' }
  }
  if (response.first === true) return (await answer()) ?? direct(call)
  const outcome = await direct(withoutFallback(call))
  const isHopeless = outcome.kind === 'refused' && ['absent', 'edited', 'place'].includes(classOf(outcome.reason))
  if (!isHopeless) return outcome
  // In the end a direct message, where there is a person to write to.
  return (await answer()) ?? (call.method === 'chat.postMessage' ? direct(call) : outcome)
}

function withoutFallback(call: Message): Message {
  if (call.method !== 'chat.postMessage' && call.method !== 'chat.postEphemeral') return call
  const { fallbackUser: _user, ...bare } = call
  return bare
}

type Means = { readonly send: Send; readonly live: LiveState }
type Message = Exclude<SlackCall, { method: 'upload' }>

async function sendCall(call: Message, attempt: Attempt, { send, live }: Means): Promise<DeliveryOutcome> {
  const isEdit = call.method === 'chat.update' || (call.method === 'chat.postMessage' && call.live === true)
  if (attempt.mustEdit === true && !isEdit) return { kind: 'refused', reason: 'cannot_be_edited' }
  switch (call.method) {
    case 'chat.postMessage': {
      const { liveReference } = attempt
      const finished =
        call.live === true && liveReference !== undefined
          ? await finishLive(send, call, liveReference, live)
          : undefined
      if (finished === undefined && attempt.mustEdit === true) return { kind: 'refused', reason: 'cannot_be_edited' }
      return finished ?? post(call, attempt, send)
    }
    case 'chat.startStream':
      return startLive({ send, live, post: (message) => post(message, attempt, send) }, call)
    case 'chat.update':
      return settled(await withPlainWords(send, call.method, call.payload), true, call.payload.ts)
    case 'chat.postEphemeral': {
      const answer = await withPlainWords(send, call.method, call.payload)
      const { user, ...payload } = call.payload
      const isHopeless = isError(answer, 'absent', 'place') && call.fallbackUser !== undefined
      // What one person was shown has no name by which it could be edited.
      if (!isHopeless) return answer.kind === 'ok' ? { kind: 'delivered' } : settled(answer, false)
      return post({ ...call, method: 'chat.postMessage', payload: { ...payload, channel: user } }, attempt, send)
    }
    default:
      return call satisfies never
  }
}

async function post(
  { payload, fallbackUser }: Extract<SlackCall, { method: 'chat.postMessage' }>,
  attempt: Attempt,
  send: Send,
): Promise<DeliveryOutcome> {
  const extras = { unfurl_links: false, unfurl_media: false, metadata: metadataOf(attempt.clientId) }
  const answer = await withPlainWords(send, 'chat.postMessage', { ...payload, ...extras })
  if (!isError(answer, 'absent') || fallbackUser === undefined) return settled(answer, false)
  // A command was given where the bot is not: its sender is answered alone.
  const { thread_ts: _thread, ...direct } = { ...payload, ...extras, channel: fallbackUser }
  return settled(await withPlainWords(send, 'chat.postMessage', direct), false)
}

function saysCredential({ botToken, appToken, signingSecret }: SlackSettings, call: SlackCall): boolean {
  const said = JSON.stringify(call)
  return [botToken, appToken, ...signingSecret].some((each) => each !== undefined && said.includes(each.reveal()))
}
