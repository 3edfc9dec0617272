// The tool calls of one model turn, one after the other: each is announced before it runs and recorded after it, whatever becomes
// of it.

import type { Envelope } from '../../contract/gateway-events.ts'
import { isGatewayError } from '../../lib/errors.ts'
import { toJson } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { textEnvelope, toolCallEnvelope, toolResultEnvelope } from '../messages.ts'
import { redactParameters } from '../tools/redact.ts'
import type { CallEnd, ReadyCall, RequestedCall, ToolDeclaration, ToolResult, ToolRunner } from '../tools/tool.ts'
import { declaredNameField, readDeclaredName } from '../tools/tool-names.ts'
import { markRunCancelled, stopIfCancelled } from './interrupts.ts'
import type { LoopOptions } from './options.ts'
import {
  callIdAndParametersKey,
  isPaused,
  type RunState,
  recordLoopEvent,
  spendAndStopIfExceeded,
  stopRun,
} from './run-state.ts'
import { createToolAudit } from './tool-records.ts'

type Batch = {
  readonly state: RunState
  readonly options: LoopOptions
  readonly toolRunner: ToolRunner
  readonly context: Fields
  /** Notes to the model, put behind all results: providers want those in one piece. */
  readonly notes: Envelope[]
  readonly results: Fields[]
  isCompleteByPolicy: boolean
}

export async function runToolBatch(
  state: RunState,
  options: LoopOptions,
  toolRunner: ToolRunner,
  calls: readonly unknown[],
  context: Fields,
): Promise<void> {
  const batch: Batch = { state, options, toolRunner, context, notes: [], results: [], isCompleteByPolicy: false }
  const asked = calls.map(readRequestedCall)
  state.waiting = []
  for (const [index, call] of asked.entries()) {
    if (call === undefined) continue
    if (await stopIfCancelled(state, options)) break
    const id = call.id ?? `tool-call-${state.turn}-${index + 1}`
    const goesOn = await runBatchCall(batch, call, id)
    if (goesOn) continue
    // It and what the pause left behind are asked for again when the run goes on, under the ids they have now.
    if (isPaused(state))
      state.waiting = asked.slice(index).flatMap((rest, offset) => toWaitingCall(rest, state.turn, index + 1 + offset))
    break
  }
  state.messages.push(...batch.notes)
  if (batch.isCompleteByPolicy) state.isComplete = true
}

/** False: the batch ends here. */
async function runBatchCall(batch: Batch, call: RequestedCall, id: string): Promise<boolean> {
  const { state, options, toolRunner, context } = batch
  const ready = await toolRunner.ready(call, id, context)
  await options.spinGuard?.record(ready.tool_name, ready.prepared?.parameters ?? call.parameters)
  recordCallStart(state, ready)
  const end = await ignoreRunCancelled(
    toolRunner.run(ready, {
      turn: state.turn,
      context,
      messages: state.messages,
      signal: options.signal ?? new AbortController().signal,
      results: state.executions.map((entry) => entry.result),
      batchResults: batch.results,
    }),
  )
  if (end === undefined) {
    recordSkippedCall(state, ready)
    markRunCancelled(state, options)
    return false
  }
  switch (end.kind) {
    case 'pending':
      return pauseForClient(state, ready, end)
    case 'approval':
      return pauseForApproval(state, ready, end)
    case 'result':
      return recordCallEnd(batch, ready, end)
  }
}

/** Undefined: the run was stopped before this call began. */
async function ignoreRunCancelled(call: Promise<CallEnd>): Promise<CallEnd | undefined> {
  try {
    return await call
  } catch (error) {
    if (isGatewayError(error, 'run_cancelled')) return undefined
    throw error
  }
}

/** It was announced, so it is paired; it never ran, so it counts for nothing. */
function recordSkippedCall(state: RunState, ready: ReadyCall): void {
  const error = 'Not run: the run was stopped before this call.'
  const result = { success: false, error, tool_name: ready.tool_name }
  state.messages.push(toolResultEnvelope(error, ready.tool_name, result, { tool_call_id: ready.id }))
}

/** A call that was announced before the run paused has its transcript line already; its events belong to each run. */
function recordCallStart(state: RunState, ready: ReadyCall): void {
  const { tool_name, id, redacted, parameters_sha256 } = ready
  state.rawParameters.set(callIdAndParametersKey({ tool_call_id: id, parameters_sha256 }), ready.asked.parameters)
  const facts = { parameters: redacted, parameters_sha256, parameters_redacted: true }
  const own = declaredNameField(ready.declaration)
  state.emit('tool_call', { turn: state.turn, tool_name, tool_call_id: id, ...own, ...facts })
  state.toolEvents.push({
    type: 'tool_call',
    tool_name,
    tool_call_id: id,
    turn_count: state.turn,
    status: 'called',
    metadata: facts,
  })
  const isAnnounced = state.announced === id
  state.announced = undefined
  if (isAnnounced) {
    // The line of a resumed call is made anew, without a hash of what its bindings made of it.
    state.rawParameters.set(callIdAndParametersKey({ tool_call_id: id }), ready.asked.parameters)
    return
  }
  const alias = ready.asked.name === tool_name ? {} : { provider_tool_name: ready.asked.name }
  const metadata = { tool_call_id: id, parameters_sha256, parameters_redacted: true, ...alias, ...own }
  state.messages.push(toolCallEnvelope('', { tool: tool_name, parameters: redacted, turn: state.turn }, metadata))
}

function pauseForClient(state: RunState, ready: ReadyCall, { request }: CallEnd & { kind: 'pending' }): false {
  const facts = { turn: state.turn, tool_name: ready.tool_name, tool_call_id: ready.id }
  const requestId = request['request_id']
  state.emit('runtime_tool_pending', { ...facts, request_id: requestId })
  state.toolEvents.push({
    type: 'runtime_tool_pending',
    tool_name: ready.tool_name,
    tool_call_id: ready.id,
    turn_count: state.turn,
    status: 'runtime_tool_pending',
    metadata: { request_id: requestId },
  })
  stopRun(state, { status: 'runtime_tool_pending', fields: { runtime_tool_pending: request } })
  return false
}

function pauseForApproval(state: RunState, ready: ReadyCall, end: CallEnd & { kind: 'approval' }): false {
  const envelope = { ...end.envelope, metadata: { ...end.envelope.metadata, tool_call_id: ready.id } }
  state.messages.push(envelope)
  const facts = { turn: state.turn, tool_name: ready.tool_name, tool_call_id: ready.id, action_id: end.actionId }
  state.emit('approval_required', facts)
  stopRun(state, { status: 'approval_required', fields: { approval_required: envelope } })
  return false
}

async function recordCallEnd(batch: Batch, ready: ReadyCall, end: CallEnd & { kind: 'result' }): Promise<boolean> {
  const { state } = batch
  const { result } = end
  const at = { turn: state.turn, tool_name: ready.tool_name, tool_call_id: ready.id }
  if (end.truncated !== undefined) {
    state.records.push({ type: 'tool_result_truncated', metadata: { ...end.truncated, ...at } })
    state.emit('tool_result_truncated', { ...end.truncated, ...at, original_result: end.full })
  }
  state.emit('tool_result', { ...at, success: result.success, ...resultForEvent(result, ready.declaration) })
  state.toolEvents.push({
    type: 'tool_result',
    tool_name: ready.tool_name,
    tool_call_id: ready.id,
    turn_count: state.turn,
    status: result.success ? 'success' : 'error',
    metadata: { rejected: end.isRejected },
  })
  await recordCallResult(batch, ready, end)
  await noteRepeatedFailureForModel(batch, ready, result)
  if (spendAndStopIfExceeded(state, 'tool_calls') || spendAndStopIfExceeded(state, `tool_calls_${ready.tool_name}`))
    return false
  if (end.isComplete) {
    state.isComplete = true
    return false
  }
  await askCompletionPolicy(batch, ready, result)
  return true
}

async function recordCallResult({ state, results }: Batch, ready: ReadyCall, end: CallEnd & { kind: 'result' }) {
  const { result } = end
  results.push(result)
  state.executions.push({
    tool_name: ready.tool_name,
    tool_call_id: ready.id,
    result,
    parameters: ready.redacted,
    parameters_sha256: ready.parameters_sha256,
    parameters_redacted: true,
    turn_count: state.turn,
    ...(result.runtime === undefined ? {} : { runtime: result.runtime }),
    ...(end.diagnostics === undefined ? {} : { diagnostics: end.diagnostics }),
  })
  if (end.diagnostics !== undefined) {
    const facts = { tool_name: ready.tool_name, tool_call_id: ready.id, turn: state.turn }
    recordLoopEvent(state, 'tool_result_diagnostics', { ...facts, ...end.diagnostics })
  }
  state.audits.push(
    await createToolAudit({
      turn: state.turn,
      toolName: ready.tool_name,
      toolCallId: ready.id,
      source: ready.declaration?.source,
      parametersSha256: ready.parameters_sha256,
      result: end.full ?? result,
    }),
  )
  const content = result.success ? JSON.stringify(result.result ?? null) : (result.error ?? 'Tool execution failed.')
  state.messages.push(toolResultEnvelope(content, ready.tool_name, { ...result }, { tool_call_id: ready.id }))
}

async function noteRepeatedFailureForModel(
  { state, options, notes }: Batch,
  ready: ReadyCall,
  result: Fields,
): Promise<void> {
  if (result['success'] === true) return options.failureGuard?.succeeded()
  const facts = await options.failureGuard?.failed(ready.tool_name, ready.asked.parameters, result)
  if (facts === undefined) return
  const message = String(facts['message'] ?? '')
  notes.push(textEnvelope('user', message, { type: 'identical_failure_nudge', hidden: true }))
  state.emit('identical_failure_nudged', { ...facts, turn: state.turn })
}

async function askCompletionPolicy(batch: Batch, ready: ReadyCall, result: Fields): Promise<void> {
  const { state, options, context } = batch
  const decision = await options.completionPolicy?.(ready.tool_name, ready.declaration, result, context, state.turn)
  if (decision === undefined) return
  const facts = { tool_name: ready.tool_name, turn: state.turn, message: decision.message, context: decision.context }
  if (decision.complete) {
    if (!batch.isCompleteByPolicy) recordLoopEvent(state, 'completion_policy_stop', facts)
    batch.isCompleteByPolicy = true
  } else if (!batch.isCompleteByPolicy && decision.message.trim() !== '') {
    const metadata = { type: 'completion_policy_continue', completion_policy_context: decision.context, hidden: true }
    batch.notes.push(textEnvelope('user', decision.message, metadata))
    recordLoopEvent(state, 'completion_policy_continue', facts)
  }
}

function readRequestedCall(entry: unknown): RequestedCall | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const given = entry as Fields
  const name = given['name'] ?? given['tool_name']
  if (typeof name !== 'string' || name.trim() === '') return undefined
  const id = given['id'] ?? given['tool_call_id']
  const { parameters } = given
  const isMap = typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters)
  return {
    name,
    parameters: isMap ? (parameters as Fields) : {},
    ...(typeof id === 'string' && id.trim() !== '' ? { id: id.trim() } : {}),
    ...(typeof given['metadata'] === 'object' && given['metadata'] !== null
      ? { metadata: given['metadata'] as Fields }
      : {}),
  }
}

function toWaitingCall(call: RequestedCall | undefined, turn: number, position: number): RunState['waiting'] {
  if (call === undefined) return []
  return [{ name: call.name, parameters: call.parameters, id: call.id ?? `tool-call-${turn}-${position}` }]
}

// What a client that watches a run is shown of a tool's result.

/**
 * The result as the model has it, already cut to size, without values whose keys look like secrets. Nothing of a tool that is
 * marked sensitive, and nothing of one that the caller ran itself: it knows.
 */
function resultForEvent(result: ToolResult, declaration: ToolDeclaration | undefined): Fields {
  const own = readDeclaredName(declaration)
  if (own !== undefined) return { declared_name: own }
  if (declaration?.['sensitive_result'] === true) return {}
  if (!result.success) return { error: result.error ?? 'Tool execution failed.' }
  // A list or a text is judged under a key that is none of its own.
  return { result: redactParameters({ value: toJson(result.result) ?? null })['value'] }
}
