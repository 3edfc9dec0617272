// The log of a run as AG-UI events in an order its clients accept: whatever was opened is closed before anything ends the run,
// nothing comes after its end, and a new try replaces what an earlier one showed.

import {
  isKnownPart,
  type NormalizedResponse,
  type Part,
  type TaskEvent,
  type TaskState,
} from '../../../src/contract/index.ts'
import { isPlainObject, type Json, type JsonObject } from '../../../src/lib/index.ts'
import { safeMarkdown } from '../../../src/markdown/index.ts'
import { callerToolName, listInterrupts, responseToText, stringFieldOrEmpty } from '../render.ts'
import { sayAgui } from '../sentences.ts'
import type { Interrupt } from '../wire.ts'

export type RunFacts = {
  readonly threadId: string
  readonly runId: string
  readonly parentRunId?: string
  /** Absent: a client from before versions. */
  readonly protocolVersion?: string
  /** What the client itself sent: it is shown again when the words of a broken try are taken back. */
  readonly messages: readonly JsonObject[]
  /** The state as it sent it. */
  readonly state?: Json | undefined
}

type RunProgress = Readonly<RunFacts> & {
  /** Words of the message that is open. */
  words: string
  /** Words of this try, whatever is open. */
  said: string
  openId: string | undefined
  count: number
  isOver: boolean
  /** Words about a decision, kept back: what comes of it is said in their place. */
  decided: string
  /** Tool calls that the client knows: told, or in its own messages. */
  readonly calls: Set<string>
  /** Tool calls whose result it has. */
  readonly results: Set<string>
  /** The calls and results of this try, as messages. */
  readonly kept: JsonObject[]
  /** Its state was changed by this try. */
  isStateTold: boolean
}

export type RunEventWriter = {
  readonly begin: () => readonly AguiEvent[]
  readonly tell: (event: TaskEvent) => readonly AguiEvent[]
  readonly isOver: () => boolean
}

export function createRunEventTranslator(run: RunFacts): RunEventWriter {
  const told: RunProgress = {
    ...run,
    words: '',
    said: '',
    openId: undefined,
    count: 0,
    isOver: false,
    ...listClientsToolCalls(run),
    decided: '',
    kept: [],
    isStateTold: false,
  }
  return {
    begin: () => [runStartedEvent(run)],
    tell: (event) => (told.isOver ? [] : toAguiEvents(told, event)),
    isOver: () => told.isOver,
  }
}

/** A client that comes back with a result or a decision has seen its call: to be told of it again would double it. */
function listClientsToolCalls({ messages }: RunFacts): Pick<RunProgress, 'calls' | 'results'> {
  const calls = new Set<string>()
  const results = new Set<string>()
  for (const message of messages) {
    const made = Array.isArray(message['toolCalls']) ? message['toolCalls'] : []
    for (const call of made) if (isPlainObject(call)) calls.add(stringFieldOrEmpty(call, 'id'))
    const { toolCallId } = message
    if (message['role'] === 'tool' && typeof toolCallId === 'string') {
      calls.add(toolCallId)
      results.add(toolCallId)
    }
  }
  return { calls, results }
}

function runStartedEvent({ threadId, runId, protocolVersion, parentRunId }: RunFacts): AguiEvent {
  return {
    type: 'RUN_STARTED',
    threadId,
    runId,
    ...(protocolVersion === undefined ? {} : { protocolVersion: '1.0' }),
    ...(parentRunId === undefined ? {} : { parentRunId }),
  }
}

function toAguiEvents(told: RunProgress, event: TaskEvent): readonly AguiEvent[] {
  switch (event.kind) {
    case 'words':
      return textDeltaEvents(told, event.delta)
    case 'reset':
      return retryEvents(told)
    case 'answer':
      return answerEvents(told, event.said)
    case 'activity':
      return activityEvents(told, event.type, event.metadata)
    case 'state':
      return taskStateEvents(told, event.state, event.said)
  }
}

function textDeltaEvents(told: RunProgress, delta: string): readonly AguiEvent[] {
  const opening = openTextMessage(told)
  told.words += delta
  told.said += delta
  return [...opening, { type: 'TEXT_MESSAGE_CONTENT', messageId: told.openId ?? '', delta }]
}

function openTextMessage(told: RunProgress): readonly AguiEvent[] {
  if (told.openId !== undefined) return []
  told.count += 1
  told.openId = `${told.runId}-${told.count}`
  told.words = ''
  return [{ type: 'TEXT_MESSAGE_START', messageId: told.openId, role: 'assistant' }]
}

function closeTextMessage(told: RunProgress): readonly AguiEvent[] {
  const { openId } = told
  told.openId = undefined
  return openId === undefined ? [] : [{ type: 'TEXT_MESSAGE_END', messageId: openId }]
}

/** Only a snapshot takes words back: the client's own messages and what tools did, without the words that were begun. */
function retractTextEvents(told: RunProgress): readonly AguiEvent[] {
  const closing = closeTextMessage(told)
  const wasShown = told.said !== ''
  told.said = ''
  return wasShown ? [...closing, { type: 'MESSAGES_SNAPSHOT', messages: [...told.messages, ...told.kept] }] : closing
}

/** The new try tells its calls itself, under the same ids. */
function retryEvents(told: RunProgress): readonly AguiEvent[] {
  if (told.said !== '') {
    for (const { toolCalls, toolCallId } of told.kept) {
      if (toolCalls === undefined) told.results.delete(String(toolCallId))
      else told.calls.delete(String((toolCalls as JsonObject[])[0]?.['id']))
    }
    told.kept.length = 0
  }
  return [...retractTextEvents(told), ...restoreStateEvents(told)]
}

/** The same for state: it is again what the client sent, and the new try tells what becomes of it. */
function restoreStateEvents(told: RunProgress): readonly AguiEvent[] {
  if (!told.isStateTold) return []
  told.isStateTold = false
  return [{ type: 'STATE_SNAPSHOT', snapshot: told.state ?? {} }]
}

function answerEvents(told: RunProgress, said: NormalizedResponse): readonly AguiEvent[] {
  // Calls alone say nothing: they are shown as calls.
  const text = said.parts.every(({ kind }) => kind === 'tool_call') ? '' : responseToText(said)
  if (said.control?.action_id !== undefined) {
    told.decided = text
    return []
  }
  const calls = said.parts.flatMap((part) => toolCallPartEvents(told, part))
  const files = said.parts.flatMap((part, index) => artifactEvents(told, part, index))
  if (told.said === '' || text === '')
    return [...closeTextMessage(told), ...calls, ...textMessageEvents(told, text), ...files]
  // What grew is what was meant, and leads nowhere else: it is only closed.
  const isMeant =
    keepLettersAndDigits(told.said) === keepLettersAndDigits(text) ||
    keepLettersAndDigits(text).endsWith(keepLettersAndDigits(told.words))
  if (isMeant && safeMarkdown(told.said) === told.said) return [...closeTextMessage(told), ...calls, ...files]
  // The snapshot that takes the words back holds the calls already.
  return [...retractTextEvents(told), ...textMessageEvents(told, text), ...files]
}

function keepLettersAndDigits(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '')
}

function textMessageEvents(told: RunProgress, text: string): readonly AguiEvent[] {
  return text === '' ? [] : [...textDeltaEvents(told, text), ...closeTextMessage(told)]
}

function artifactEvents(told: RunProgress, part: Part, index: number): readonly AguiEvent[] {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return []
  const { name, mime, attachment } = part
  const content = {
    ...(name === undefined ? {} : { name }),
    ...(mime === undefined ? {} : { mime }),
    ...(attachment === undefined ? {} : { attachment: { ...attachment } }),
  }
  const messageId = `${told.runId}-file-${index}`
  return [{ type: 'ACTIVITY_SNAPSHOT', messageId, activityType: 'gw.artifact', content }]
}

/** A call that the agent shows, the same one again when its result is there. */
function toolCallPartEvents(told: RunProgress, part: Part): readonly AguiEvent[] {
  if (!isKnownPart(part) || part.kind !== 'tool_call') return []
  const { id, name, args, result, error } = part
  const metadata = { tool_call_id: id, tool_name: name, parameters: (args ?? {}) as Json }
  const call = toolCallEvents(told, id, metadata)
  if (result === undefined && error === undefined) return call
  const outcome = error === undefined ? { result: result as Json } : { error: error.message, success: false }
  return [...call, ...toolResultEvents(told, id, { ...metadata, ...outcome })]
}

function activityEvents(told: RunProgress, type: string, metadata: JsonObject): readonly AguiEvent[] {
  const changed = stateEvent(type, metadata)
  if (changed !== undefined) {
    told.isStateTold = true
    return [changed]
  }
  if (type === 'client_tools') return [{ type: 'CUSTOM', name: 'gw.client_tools', value: metadata }]
  const toolCallId = stringFieldOrEmpty(metadata, 'tool_call_id')
  if (type === 'tool_call' && toolCallId !== '')
    return [...closeTextMessage(told), ...toolCallEvents(told, toolCallId, metadata)]
  // Words on the way that are no part of the answer.
  if (type === 'notice') return [{ type: 'CUSTOM', name: 'gw.notice', value: metadata }]
  if (type === 'tool_result' && toolCallId !== '')
    return [...closeTextMessage(told), ...toolResultEvents(told, toolCallId, metadata)]
  return []
}

function toolCallEvents(
  { runId, calls, kept }: RunProgress,
  toolCallId: string,
  metadata: JsonObject,
): readonly AguiEvent[] {
  if (calls.has(toolCallId)) return []
  calls.add(toolCallId)
  const delta = JSON.stringify(metadata['parameters'] ?? {})
  // A tool of the client's own is called what the client calls it.
  const name = stringFieldOrEmpty(metadata, 'declared_name') || stringFieldOrEmpty(metadata, 'tool_name')
  const call = { id: toolCallId, type: 'function', function: { name, arguments: delta } }
  kept.push({ id: `${runId}-call-${toolCallId}`, role: 'assistant', toolCalls: [call] })
  return [
    { type: 'TOOL_CALL_START', toolCallId, toolCallName: name },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta },
    { type: 'TOOL_CALL_END', toolCallId },
  ]
}

function stateEvent(type: string, { snapshot, delta }: JsonObject): AguiEvent | undefined {
  if (type === 'state_snapshot' && snapshot !== undefined) return { type: 'STATE_SNAPSHOT', snapshot }
  return type === 'state_delta' && delta !== undefined ? { type: 'STATE_DELTA', delta } : undefined
}

/** What it gave, or for a sensitive one whether it worked. A client is not told what its own tool gave. */
function toolResultEvents(told: RunProgress, toolCallId: string, metadata: JsonObject): readonly AguiEvent[] {
  if (told.results.has(toolCallId) || metadata['declared_name'] !== undefined) return []
  told.results.add(toolCallId)
  const { result, error, success } = metadata
  const given = error === undefined ? (result ?? { success: success !== false }) : { error }
  const message = { role: 'tool', toolCallId, content: JSON.stringify(given) } as const
  const messageId = `${told.runId}-result-${toolCallId}`
  told.kept.push({ id: messageId, ...message })
  return [{ type: 'TOOL_CALL_RESULT', messageId, ...message }]
}

function taskStateEvents(told: RunProgress, state: TaskState, said: NormalizedResponse | null): readonly AguiEvent[] {
  if (state === 'working' || state === 'submitted') return []
  told.isOver = true
  const closing = [
    ...closeTextMessage(told),
    ...(told.count === 0 && state === 'completed' ? textMessageEvents(told, told.decided) : []),
  ]
  switch (state) {
    case 'completed':
      return [...closing, runFinishedEvent(told, { type: 'success' })]
    case 'input_required':
      return [...closing, ...inputRequestEvents(told, said)]
    case 'cancelled':
      return [...closing, ...runCancelledEvents(told)]
    case 'failed':
      return [...closing, runErrorEvent(said, 'run_failed')]
    case 'rejected':
      return [...closing, runErrorEvent(said, 'run_refused')]
    case 'auth_required':
      return [...closing, runErrorEvent(said, 'not_let_in')]
  }
}

function runFinishedEvent(
  told: RunProgress,
  outcome: Extract<AguiEvent, { type: 'RUN_FINISHED' }>['outcome'],
): AguiEvent {
  const { threadId, runId, protocolVersion } = told
  const isSaid = outcome !== undefined && (protocolVersion !== undefined || outcome.type === 'interrupt')
  return { type: 'RUN_FINISHED', threadId, runId, ...(isSaid ? { outcome } : {}) }
}

function runCancelledEvents(told: RunProgress): readonly AguiEvent[] {
  if (told.protocolVersion !== undefined) return [runFinishedEvent(told, { type: 'cancelled' })]
  return [{ type: 'RUN_ERROR', message: sayAgui('agui.run_cancelled'), code: 'cancelled' }]
}

function runErrorEvent(said: NormalizedResponse | null, code: 'run_failed' | 'run_refused' | 'not_let_in'): AguiEvent {
  const words = said === null ? '' : responseToText(said)
  return { type: 'RUN_ERROR', message: words === '' ? sayAgui(`agui.${code}`) : words, code: said?.error?.code ?? code }
}

/** A question of the agent is a message; what stands in the way of a run is an interrupt, and what a client runs is its call. */
function inputRequestEvents(told: RunProgress, said: NormalizedResponse | null): readonly AguiEvent[] {
  const policies = (said?.parts ?? []).flatMap((part) =>
    isKnownPart(part) && part.kind === 'policy' ? [part.policy as JsonObject] : [],
  )
  const pending = policies.filter((policy) => policy['kind'] === 'runtime_tool_pending')
  const interrupts = said === null ? [] : listInterrupts(said)
  const text = said === null ? '' : responseToText(said)
  const isMessage = interrupts.length + pending.length === 0 || said?.asks !== undefined
  const shown = told.said === '' && isMessage ? textMessageEvents(told, text) : []
  if (interrupts.length > 0) {
    const snapshot: AguiEvent = { type: 'STATE_SNAPSHOT', snapshot: said?.client?.state ?? told.state ?? {} }
    return [...shown, snapshot, runFinishedEvent(told, { type: 'interrupt', interrupts })]
  }
  const ids = pending.map((policy) => stringFieldOrEmpty(policy, 'tool_call_id')).filter((id) => id !== '')
  const calls = pending.flatMap((policy) => clientToolCallEvents(told, policy))
  return [
    ...shown,
    ...calls,
    runFinishedEvent(told, { type: 'success', ...(ids.length === 0 ? {} : { pendingToolCallIds: ids }) }),
  ]
}

/** The client knows its tools by the names it gave them. */
function clientToolCallEvents(told: RunProgress, policy: JsonObject): readonly AguiEvent[] {
  const toolCallId = stringFieldOrEmpty(policy, 'tool_call_id')
  return toolCallId === '' ? [] : toolCallEvents(told, toolCallId, { ...policy, declared_name: callerToolName(policy) })
}

// Events of AG-UI 1.0, as far as this gateway sends them. Fields that say nothing are left out, never null.

type Outcome =
  | { readonly type: 'success'; readonly pendingToolCallIds?: readonly string[] }
  | { readonly type: 'interrupt'; readonly interrupts: readonly Interrupt[] }
  | { readonly type: 'cancelled' }

type AguiEvent =
  | {
      readonly type: 'RUN_STARTED'
      readonly threadId: string
      readonly runId: string
      readonly protocolVersion?: string
      readonly parentRunId?: string
    }
  | {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly outcome?: Outcome
      readonly result?: Json
    }
  | { readonly type: 'RUN_ERROR'; readonly message: string; readonly code: string }
  | { readonly type: 'TEXT_MESSAGE_START'; readonly messageId: string; readonly role: 'assistant' }
  | { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
  | { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string }
  | { readonly type: 'TOOL_CALL_START'; readonly toolCallId: string; readonly toolCallName: string }
  | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
  | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
  | {
      readonly type: 'TOOL_CALL_RESULT'
      readonly messageId: string
      readonly toolCallId: string
      readonly content: string
      readonly role: 'tool'
    }
  | { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: Json }
  | { readonly type: 'STATE_DELTA'; readonly delta: Json }
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly JsonObject[] }
  | {
      readonly type: 'ACTIVITY_SNAPSHOT'
      readonly messageId: string
      readonly activityType: string
      readonly content: JsonObject
    }
  | { readonly type: 'CUSTOM'; readonly name: string; readonly value: Json }

/** One event as one frame. The number is ours: a client that comes back with it goes on behind it. */
export function sseFrame(event: AguiEvent, cursor: string | undefined): string {
  const id = cursor === undefined ? '' : `id: ${cursor}\n`
  return `${id}data: ${JSON.stringify(event)}\n\n`
}
