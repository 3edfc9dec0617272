// Delivers one call. A post carries our client id as metadata, so that it can be found again.
import type { Attempt, ChannelDeps, DeliveryResult } from '../../../src/contract/index.ts'
import type { SlackSettings } from '../config.ts'
import { uploadFile } from '../files.ts'
import { finishSlackLiveMessage, startLiveMessage } from '../live.ts'
import type { SlackCall } from '../wire.ts'
import { createResponseUrlSender, type SendToResponseUrl } from './response-url.ts'
import type { LiveState, OutboundDeps } from './web-api.ts'
import { classifySlackError, isErrorOfClass, type Send, sendWithPlainFallback, toSendOutcome } from './web-api.ts'

/** All members of the workspace can read it: an id of ours and nothing else. */
const metadataType = 'parley_message'

export function deliverSlack(
  settings: SlackSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'files'>,
  ports: OutboundDeps,
): (call: SlackCall, attempt: Attempt) => Promise<DeliveryResult> {
  return async (call, attempt) => {
    if (attempt.signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
    if (callContainsCredential(settings, call)) return { kind: 'refused', reason: 'text_contains_credential' }
    const held = await ports.tokenOf(call.account)
    if (held.kind !== 'token') return { kind: held.kind === 'gone' ? 'refused' : 'retry', reason: held.reason }
    // A token that Slack does not take is reported, and where there is a newer one the call is made with that: nothing was done yet.
    const callWithTokenRetry: Send = async (method, args) => {
      const answer = await ports.call(held.token, method, args, attempt.signal)
      if (answer.kind !== 'error' || !isErrorOfClass(answer, 'token')) return answer
      const newer = await ports.tokenFailed(call.account, held.token, answer.error)
      return newer === undefined ? answer : ports.call(newer, method, args, attempt.signal)
    }
    if (call.method === 'upload') return uploadFile({ settings, deps, send: callWithTokenRetry }, call, attempt.signal)
    const sendDeps = { send: callWithTokenRetry, live: ports.live }
    if (call.response === undefined || call.method === 'chat.startStream')
      return sendMessageCall(call, attempt, sendDeps)
    const respond = createResponseUrlSender(deps, ports.live.ttlStore, settings.callTimeoutMs)
    const sendDirectly = (message: MessageCall) => sendMessageCall(message, attempt, sendDeps)
    return deliverDirectlyOrByResponseUrl(call, call.response, respond, sendDirectly)
  }
}

/** By the `response_url` first, or where the call cannot work; what has run out leaves the other way. */
async function deliverDirectlyOrByResponseUrl(
  call: Exclude<MessageCall, { method: 'chat.startStream' }>,
  response: NonNullable<MessageCall['response']>,
  respond: SendToResponseUrl,
  direct: (message: MessageCall) => Promise<DeliveryResult>,
): Promise<DeliveryResult> {
  const answerByResponseUrl = async (): Promise<DeliveryResult | undefined> => {
    const isReplacing = call.method === 'chat.update'
    const shown = await respond(response.key, call.payload, { isReplacing })
    if (shown === 'shown') return { kind: 'delivered' }
    // Replacing twice shows once; anything else might show twice.
    return shown === 'gone' ? undefined : { kind: isReplacing ? 'retry' : 'unknown', reason: 'response_lost' }
  }
  if (response.first === true) return (await answerByResponseUrl()) ?? direct(call)
  const outcome = await direct(withoutFallbackUser(call))
  const isHopeless =
    outcome.kind === 'refused' && ['absent', 'edited', 'place'].includes(classifySlackError(outcome.reason))
  if (!isHopeless) return outcome
  // In the end a direct message, where there is a person to write to.
  return (await answerByResponseUrl()) ?? (call.method === 'chat.postMessage' ? direct(call) : outcome)
}

function withoutFallbackUser(call: MessageCall): MessageCall {
  if (call.method !== 'chat.postMessage' && call.method !== 'chat.postEphemeral') return call
  const { fallbackUser: _user, ...bare } = call
  return bare
}

type SendDeps = { readonly send: Send; readonly live: LiveState }
type MessageCall = Exclude<SlackCall, { method: 'upload' }>

async function sendMessageCall(call: MessageCall, attempt: Attempt, { send, live }: SendDeps): Promise<DeliveryResult> {
  const isEdit = call.method === 'chat.update' || (call.method === 'chat.postMessage' && call.live === true)
  if (attempt.mustEdit === true && !isEdit) return { kind: 'refused', reason: 'cannot_be_edited' }
  switch (call.method) {
    case 'chat.postMessage': {
      const { liveReference } = attempt
      const finished =
        call.live === true && liveReference !== undefined
          ? await finishSlackLiveMessage(send, call, liveReference, live)
          : undefined
      if (finished === undefined && attempt.mustEdit === true) return { kind: 'refused', reason: 'cannot_be_edited' }
      return finished ?? postMessage(call, attempt, send)
    }
    case 'chat.startStream':
      return startLiveMessage({ send, live, post: (message) => postMessage(message, attempt, send) }, call)
    case 'chat.update':
      return toSendOutcome(await sendWithPlainFallback(send, call.method, call.payload), true, call.payload.ts)
    case 'chat.postEphemeral': {
      const answer = await sendWithPlainFallback(send, call.method, call.payload)
      const { user, ...payload } = call.payload
      const isHopeless = isErrorOfClass(answer, 'absent', 'place') && call.fallbackUser !== undefined
      // What one person was shown has no name by which it could be edited.
      if (!isHopeless) return answer.kind === 'ok' ? { kind: 'delivered' } : toSendOutcome(answer, false)
      return postMessage({ ...call, method: 'chat.postMessage', payload: { ...payload, channel: user } }, attempt, send)
    }
    default:
      return call satisfies never
  }
}

async function postMessage(
  { payload, fallbackUser }: Extract<SlackCall, { method: 'chat.postMessage' }>,
  attempt: Attempt,
  send: Send,
): Promise<DeliveryResult> {
  const metadata = { event_type: metadataType, event_payload: { client_id: attempt.clientId } }
  const extras = { unfurl_links: false, unfurl_media: false, metadata }
  const answer = await sendWithPlainFallback(send, 'chat.postMessage', { ...payload, ...extras })
  if (!isErrorOfClass(answer, 'absent') || fallbackUser === undefined) return toSendOutcome(answer, false)
  // A command was given where the bot is not: its sender is answered alone.
  const { thread_ts: _thread, ...direct } = { ...payload, ...extras, channel: fallbackUser }
  return toSendOutcome(await sendWithPlainFallback(send, 'chat.postMessage', direct), false)
}

function callContainsCredential({ botToken, appToken, signingSecret }: SlackSettings, call: SlackCall): boolean {
  const said = JSON.stringify(call)
  for (const secret of [botToken, appToken, ...signingSecret])
    if (secret !== undefined && said.includes(secret.reveal())) return true
  return false
}
