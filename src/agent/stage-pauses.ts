// How the calls of a model come to wait: for a person's consent, or for the client that runs the tool.
import type { Fields, JsonObject } from '../contract/index.ts'
import type { Pauses } from './approvals/pauses.ts'
import { toApprovalEnvelope } from './approvals/pending-action.ts'
import type { ApprovalTerms } from './approvals/terms.ts'
import type { AgentContext } from './context.ts'
import { asFields, toJson, toStorableJson, trimmedText } from './fields.ts'
import { declaredAs } from './tools/client-names.ts'
import type { Runnable, ToolRunnerDeps } from './tools/create-desk.ts'
import type { Tool } from './tools/define-tool.ts'
import { secretParameters, storedResult } from './tools/stored-result.ts'

type Staging = Required<Pick<ToolRunnerDeps, 'stageApproval' | 'stagePending'>>

/** `resume` says, once the run has ended, where it goes on. */
export function stagePauses(
  tools: readonly Tool[],
  { pause, report }: { readonly pause: Pauses } & Pick<AgentContext, 'report'>,
  resume: (call: Runnable) => () => JsonObject,
): Staging {
  const termsOf = new Map(tools.map((tool) => [tool.declaration.name, tool.approval]))
  return {
    async stageApproval(call, details) {
      const terms = termsOf.get(call.tool_name) ?? {}
      const preview = approvalPreview(call, details)
      const { action, question } = await pause.approval({
        summary: approvalSummary(call, terms, details, report),
        apply_input: toStorableJson(call.prepared.parameters),
        preview,
        ...(terms.expiresInMs === undefined ? {} : { expiresInMs: terms.expiresInMs }),
        ...(terms.by === undefined ? {} : { by: terms.by }),
        tool: { name: call.tool_name, callId: call.id },
        resume: resume(call),
      })
      const envelope = toApprovalEnvelope(action, { instruction: question, shownInput: toStorableJson(call.redacted) })
      return { envelope, actionId: action.action_id }
    },
    async stagePending(call, request) {
      return pause.toolRequest({
        tool: { name: call.tool_name, callId: call.id, ...declaredAs(call.declaration) },
        // Parameters are JSON: they came from a model or a binding.
        parameters: toStorableJson(call.prepared.parameters) as JsonObject,
        shown: toStorableJson(call.redacted) as JsonObject,
        request: (toJson(request) ?? {}) as JsonObject,
        resume: resume(call),
      })
    },
  }
}

/** The parameters without their secrets, and what a tool that asks by itself has to say about it. */
function approvalPreview(call: Runnable, details: Fields) {
  const asked = asFields(asFields(details['result'])['preview'])
  const told = { success: true, tool_name: call.tool_name, metadata: {}, result: asked }
  const clean = storedResult(told, call.prepared.parameters, call.declaration).result
  return toStorableJson({ ...call.redacted, ...asFields(clean) })
}

function approvalSummary(
  call: Runnable,
  { summary }: ApprovalTerms,
  details: Fields,
  report: AgentContext['report'],
): string {
  const own = trimmedText(asFields(details['result'])['summary']) ?? customSummary(call, summary, report)
  if (own === undefined) return `run ${call.tool_name}`
  const told = { success: true, tool_name: call.tool_name, metadata: {}, result: own }
  return String(storedResult(told, call.prepared.parameters, call.declaration).result)
    .slice(0, 500)
    .toWellFormed()
}

/** Words that fail must not decide whether a person is asked. */
function customSummary(
  { tool_name: name, prepared, declaration }: Runnable,
  summary: ApprovalTerms['summary'],
  report: AgentContext['report'],
): string | undefined {
  try {
    return trimmedText(summary?.(prepared.parameters))
  } catch (error) {
    report(error, { source: 'approval_summary', name, hide: secretParameters(prepared.parameters, declaration) })
    return undefined
  }
}
