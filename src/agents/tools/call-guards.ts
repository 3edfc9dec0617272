// Guards against repeated tool calls: duplicates, repeated failures, and a model that spins.
//
// A duplicate is answered with a reminder instead of being made again. Asking again
// makes sense only when something may have changed since; `duplicate_policy: repeatable` says that it always does.
//
// the call before            this tool is idempotent                              it is not
// succeeded                  corrected, unless a call with effects ran since      corrected
// failed                     made                                                 made
// ended as unknown           made                                                 corrected: it may have happened

import { asFields, sha256Hex, sha256OfJson, stableStringify } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { ToolCatalog } from './catalog.ts'
import { redactParameters } from './redact.ts'
import type { ToolDeclaration, ToolResult } from './tool.ts'
import { failedResult } from './tool-result.ts'

export type DuplicateCalls = {
  /** The answer to give in place of the call; undefined: make it. */
  readonly check: (signature: CallSignature, declaration: ToolDeclaration) => ToolResult | undefined
  readonly record: (signature: CallSignature, declaration: ToolDeclaration, id: string, result: ToolResult) => void
}

type Earlier = { readonly id: string; readonly isUnknown: boolean; readonly effects: number }

export function createDuplicateCallGuard(): DuplicateCalls {
  const made = new Map<string, Earlier>()
  let effects = 0
  return {
    check(signature, declaration) {
      const earlier = made.get(signature.key)
      if (earlier === undefined || isRepeatableTool(declaration)) return undefined
      const isStale = declaration.idempotent === true && (earlier.isUnknown || earlier.effects !== effects)
      return isStale ? undefined : duplicateReminderResult(declaration, earlier)
    },
    record(signature, declaration, id, result) {
      const isUnknown = result.metadata['outcome'] === 'unknown'
      if (!result.success && !isUnknown) return
      if (declaration.idempotent !== true) effects += 1
      made.set(signature.key, { id, isUnknown, effects })
    },
  }
}

export function isRepeatableTool(declaration: Pick<ToolDeclaration, 'runtime'>): boolean {
  return declaration.runtime?.['duplicate_policy'] === 'repeatable'
}

function duplicateReminderResult(declaration: ToolDeclaration, { id, isUnknown }: Earlier): ToolResult {
  const before = isUnknown
    ? 'and may have taken effect. Do not repeat it; tell the person and ask them to check.'
    : 'and succeeded. Its result stands; change the arguments or go on.'
  const error = `${declaration.name} was already called with the same arguments (${id}) ${before}`
  return failedResult(declaration, 'duplicate_tool_call', error, { duplicate_of: id })
}

// When two calls are the same call. `key` compares the raw parameters and stays in memory; the hashes are made of the redacted
// ones, because events carry them and a short secret can be guessed from its hash.

/** Declarations say which parameters are secret. */
type SignatureDeps = Pick<ToolCatalog, 'find'>

type CallSignature = {
  readonly key: string
  readonly payload: { readonly tool_name: string; readonly parameters_hash: string; readonly signature_hash: string }
}

export async function hashCallSignature(
  catalog: SignatureDeps,
  toolName: string,
  parameters: Fields,
): Promise<CallSignature> {
  const parametersHash = await sha256OfJson(redactParameters(parameters, catalog.find(toolName)))
  return {
    key: stableStringify([toolName, parameters]),
    payload: {
      tool_name: toolName,
      parameters_hash: parametersHash,
      signature_hash: await sha256OfJson([toolName, parametersHash]),
    },
  }
}

// Repeated failure: the model is told, in a note that no person sees. Any success starts the count anew. It never ends the run.

const defaultFailureThreshold = 2

export function createRepeatedFailureGuard(deps: SignatureDeps, options: { readonly threshold?: number } = {}) {
  const threshold = Math.max(2, Math.trunc(options.threshold ?? defaultFailureThreshold))
  let last = ''
  let count = 0
  return {
    succeeded() {
      last = ''
      count = 0
    },
    async failed(toolName: string, parameters: Fields, result: Fields): Promise<Fields | undefined> {
      const signature = await hashCallSignature(deps, toolName, parameters)
      const errorCode = await resultErrorCode(result)
      const key = `${errorCode} ${signature.key}`
      count = key === last ? count + 1 : 1
      last = key
      if (count < threshold) return undefined
      const message = `${toolName} failed ${count} times with the same arguments and the same error. Change the arguments, use another tool, or tell the person that it does not work.`
      return { ...signature.payload, error_code: errorCode, repeat_count: count, threshold, message }
    },
  }
}

/** What a failure is called: its own code, else something made of its text. */
async function resultErrorCode(result: Fields): Promise<string> {
  const metadata = asFields(result['metadata'])
  const named = [result['error_code'], result['code'], metadata['error_type'], metadata['error_code'], metadata['code']]
  for (const name of named) {
    const code = typeof name === 'string' ? name.toLowerCase().replace(/[^a-z0-9_-]/g, '') : ''
    if (code !== '') return code
  }
  return `error_${(await sha256Hex(String(result['error'] ?? ''))).slice(0, 12)}`
}

// A model that makes the same call again and again. The duplicate guard answers a call, this one ends the run.

const defaultSpinThreshold = 3

export function createRepeatedCallGuard(deps: SignatureDeps, options: { readonly threshold?: number } = {}) {
  const threshold = Math.max(2, Math.trunc(options.threshold ?? defaultSpinThreshold))
  let last: CallSignature | undefined
  let count = 0
  let hasFired = false
  return {
    async record(toolName: string, parameters: Fields): Promise<void> {
      const signature = await hashCallSignature(deps, toolName, parameters)
      count = signature.key === last?.key ? count + 1 : 1
      last = signature
    },
    /** The facts of a stall, once. */
    stalled(): Fields | undefined {
      if (last === undefined || count < threshold || hasFired) return undefined
      hasFired = true
      return { ...last.payload, repeat_count: count, threshold }
    },
  }
}
