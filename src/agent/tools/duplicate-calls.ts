// A call that was made before in this run is answered with a reminder instead of being made again. Asking again
// makes sense only when something may have changed since; `duplicate_policy: repeatable` says that it always does.
//
//   the call before            this tool is idempotent                              it is not
//   succeeded                  corrected, unless a call with effects ran since      corrected
//   failed                     made                                                 made
//   ended as unknown           made                                                 corrected: it may have happened
import type { CallSignature } from './call-signature.ts'
import type { ToolDeclaration, ToolResult } from './tool.ts'
import { failedResult } from './tool-result.ts'

export type DuplicateCalls = {
  /** The answer to give in place of the call; undefined: make it. */
  readonly check: (signature: CallSignature, declaration: ToolDeclaration) => ToolResult | undefined
  readonly record: (signature: CallSignature, declaration: ToolDeclaration, id: string, result: ToolResult) => void
}

type Earlier = { readonly id: string; readonly isUnknown: boolean; readonly effects: number }

export function createDuplicateCalls(): DuplicateCalls {
  const made = new Map<string, Earlier>()
  let effects = 0
  return {
    check(signature, declaration) {
      const earlier = made.get(signature.key)
      if (earlier === undefined || isRepeatable(declaration)) return undefined
      const isStale = declaration.idempotent === true && (earlier.isUnknown || earlier.effects !== effects)
      return isStale ? undefined : duplicateReminder(declaration, earlier)
    },
    record(signature, declaration, id, result) {
      const isUnknown = result.metadata['outcome'] === 'unknown'
      if (!result.success && !isUnknown) return
      if (declaration.idempotent !== true) effects += 1
      made.set(signature.key, { id, isUnknown, effects })
    },
  }
}

export function isRepeatable(declaration: Pick<ToolDeclaration, 'runtime'>): boolean {
  return declaration.runtime?.['duplicate_policy'] === 'repeatable'
}

function duplicateReminder(declaration: ToolDeclaration, { id, isUnknown }: Earlier): ToolResult {
  const before = isUnknown
    ? 'and may have taken effect. Do not repeat it; tell the person and ask them to check.'
    : 'and succeeded. Its result stands; change the arguments or go on.'
  const error = `${declaration.name} was already called with the same arguments (${id}) ${before}`
  return failedResult(declaration, 'duplicate_tool_call', error, { duplicate_of: id })
}
