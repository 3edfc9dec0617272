// The last word before a tool runs. The mediator must say plainly that the call may proceed: an exception, a
// silence or an unknown word is a no.
import type { Envelope, Fields } from '../../contract/index.ts'
import { fieldsOf, isFields, trimmed } from '../fields.ts'
import { withDeadline } from './deadline.ts'
import { pauseOf, runtimeToolPending } from './pause.ts'
import type { PreparedCall, RequestedCall, ToolDeclaration, ToolResult } from './tool.ts'
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
export async function mediate(
  mediators: readonly PreToolMediator[],
  context: MediatorContext,
  bounds: MediationBounds,
): Promise<Mediation> {
  for (const mediator of mediators) {
    const mediation = await ask(mediator, context, bounds)
    if (mediation.action !== 'proceed') return mediation
  }
  return { action: 'proceed' }
}

async function ask(mediator: PreToolMediator, context: MediatorContext, bounds: MediationBounds): Promise<Mediation> {
  const tool = context.tool_declaration ?? { name: context.tool_name }
  try {
    const end = await withDeadline(() => mediator(context), bounds)
    if (end.kind === 'done') return read(tool, end.value)
    bounds.onException?.(new Error(`The mediator did not answer within ${bounds.timeoutMs} ms.`))
    return refuse(tool, 'pre_tool_mediation_failed')
  } catch (error) {
    if (bounds.signal.aborted) throw error
    bounds.onException?.(error)
    return refuse(tool, 'pre_tool_mediation_failed')
  }
}

type Named = Parameters<typeof failedResult>[0]

function read(tool: Named, decision: unknown): Mediation {
  const given = fieldsOf(decision)
  const complete = given['complete'] === true
  switch (given['action']) {
    case 'proceed':
      return { action: 'proceed' }
    case 'reject':
      return { action: 'reject', result: rejection(tool, given), complete }
    case 'replace_result':
      return isFields(given['result'])
        ? { action: 'replace_result', result: normalizeToolResult(tool, given['result']), complete }
        : refuse(tool, 'pre_tool_mediation_invalid')
    case 'pending':
      return { action: 'pending', result: pending(tool, given), complete: false }
    default:
      return refuse(tool, 'pre_tool_mediation_invalid')
  }
}

/** A rejection is a failure, also when the result that came with it says otherwise. */
function rejection(tool: Named, given: Fields): ToolResult {
  const metadata = fieldsOf(given['metadata'])
  const error = trimmed(given['error']) ?? 'The call was refused. Do not repeat it.'
  const whole = isFields(given['result']) ? given['result'] : { error, metadata, runtime: given['runtime'] }
  const { result: _, ...failure } = normalizeToolResult(tool, { ...whole, success: false })
  return { ...failure, metadata: { error_type: 'pre_tool_mediation_rejected', ...failure.metadata } }
}

function pending(tool: Named, given: Fields): ToolResult {
  const request = given['runtime_tool_request'] ?? given['request'] ?? fieldsOf(given['result'])['runtime_tool_request']
  const result = normalizeToolResult(
    tool,
    pauseOf(given['result']) ? given['result'] : runtimeToolPending(fieldsOf(request)),
  )
  const runtime = { ...result.runtime, ...fieldsOf(given['runtime']) }
  return {
    ...result,
    metadata: { ...fieldsOf(given['metadata']), ...result.metadata },
    ...(Object.keys(runtime).length === 0 ? {} : { runtime }),
  }
}

function refuse(tool: Named, errorType: string): Mediation {
  const error = `${tool.name} was not run because it could not be checked. Do not call it again.`
  return { action: 'reject', result: failedResult(tool, errorType, error), complete: false }
}
