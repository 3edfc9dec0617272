// Mediation, the last decision before a tool runs. The mediator must say plainly that the call may proceed: an exception, a
// silence or an unknown word is a no.
import type { Envelope } from '../../contract/gateway-events.ts'
import { asFields, isPlainObject, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { runWithDeadline } from './execute-call.ts'
import {
  type PreparedCall,
  type RequestedCall,
  readPause,
  runtimeToolPending,
  type ToolDeclaration,
  type ToolResult,
} from './tool.ts'
import { failedResult, normalizeToolResult } from './tool-result.ts'

export type MediatorContext = {
  readonly messages: readonly Envelope[]
  readonly raw_tool_call: RequestedCall
  /** Null: the call could not be prepared. */
  readonly prepared_tool_call: PreparedCall | null
  readonly tool_declaration: ToolDeclaration | null
  readonly tool_name: string
  /** As they would be executed, not redacted. */
  readonly parameters: Fields
  readonly tool_call_id: string
  readonly turn_context: Fields
  readonly turn: number
  readonly prior_tool_results: readonly unknown[]
  readonly prior_mediated_results: readonly unknown[]
}

export type MediatorDecision =
  | { readonly action: 'proceed' }
  | {
      readonly action: 'reject'
      readonly error?: string
      readonly metadata?: Fields
      readonly runtime?: Fields
      readonly result?: Fields
      readonly complete?: boolean
    }
  | { readonly action: 'replace_result'; readonly result: Fields; readonly complete?: boolean }
  | {
      readonly action: 'pending'
      readonly runtime_tool_request?: Fields
      readonly request?: Fields
      readonly error?: string
      readonly metadata?: Fields
      readonly runtime?: Fields
    }

export type PreToolMediator = (context: MediatorContext) => Promise<MediatorDecision> | MediatorDecision

/** `complete`: the run ends after this call. */
export type Mediation =
  | { readonly action: 'proceed' }
  | {
      readonly action: 'reject' | 'replace_result' | 'pending'
      readonly result: ToolResult
      readonly complete: boolean
    }

export type MediationBounds = {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly onException?: (error: unknown) => void
}

/** Mediators are asked in order; the first that does not let the call proceed decides. */
export async function mediateToolCall(
  mediators: readonly PreToolMediator[],
  context: MediatorContext,
  bounds: MediationBounds,
): Promise<Mediation> {
  for (const mediator of mediators) {
    const mediation = await askMediator(mediator, context, bounds)
    if (mediation.action !== 'proceed') return mediation
  }
  return { action: 'proceed' }
}

async function askMediator(
  mediator: PreToolMediator,
  context: MediatorContext,
  bounds: MediationBounds,
): Promise<Mediation> {
  const tool = context.tool_declaration ?? { name: context.tool_name }
  try {
    const end = await runWithDeadline(() => mediator(context), bounds)
    if (end.kind === 'done') return readMediatorDecision(tool, end.value)
    bounds.onException?.(new Error(`The mediator did not answer within ${bounds.timeoutMs} ms.`))
    return rejectUncheckedCall(tool, 'pre_tool_mediation_failed')
  } catch (error) {
    if (bounds.signal.aborted) throw error
    bounds.onException?.(error)
    return rejectUncheckedCall(tool, 'pre_tool_mediation_failed')
  }
}

type Named = Parameters<typeof failedResult>[0]

function readMediatorDecision(tool: Named, decision: unknown): Mediation {
  const given = asFields(decision)
  const complete = given['complete'] === true
  switch (given['action']) {
    case 'proceed':
      return { action: 'proceed' }
    case 'reject':
      return { action: 'reject', result: rejectionResult(tool, given), complete }
    case 'replace_result':
      return isPlainObject(given['result'])
        ? { action: 'replace_result', result: normalizeToolResult(tool, given['result']), complete }
        : rejectUncheckedCall(tool, 'pre_tool_mediation_invalid')
    case 'pending':
      return { action: 'pending', result: mediatorPendingResult(tool, given), complete: false }
    default:
      return rejectUncheckedCall(tool, 'pre_tool_mediation_invalid')
  }
}

/** A rejection is a failure, also when the result that came with it says otherwise. */
function rejectionResult(tool: Named, given: Fields): ToolResult {
  const metadata = asFields(given['metadata'])
  const error = trimmedText(given['error']) ?? 'The call was refused. Do not repeat it.'
  const whole = isPlainObject(given['result']) ? given['result'] : { error, metadata, runtime: given['runtime'] }
  const { result: _, ...failure } = normalizeToolResult(tool, { ...whole, success: false })
  return { ...failure, metadata: { error_type: 'pre_tool_mediation_rejected', ...failure.metadata } }
}

function mediatorPendingResult(tool: Named, given: Fields): ToolResult {
  const request = given['runtime_tool_request'] ?? given['request'] ?? asFields(given['result'])['runtime_tool_request']
  const result = normalizeToolResult(
    tool,
    readPause(given['result']) ? given['result'] : runtimeToolPending(asFields(request)),
  )
  const runtime = { ...result.runtime, ...asFields(given['runtime']) }
  return {
    ...result,
    metadata: { ...asFields(given['metadata']), ...result.metadata },
    ...(Object.keys(runtime).length === 0 ? {} : { runtime }),
  }
}

function rejectUncheckedCall(tool: Named, errorType: string): Mediation {
  const error = `${tool.name} was not run because it could not be checked. Do not call it again.`
  return { action: 'reject', result: failedResult(tool, errorType, error), complete: false }
}
