// The same call failing in the same way (loop 3.13): the model is told, in a note that no person sees. Any success starts the
// count anew (trap 16). It never ends the run.
import type { Envelope, Fields } from '../../contract/index.ts'
import { fieldsOf } from '../fields.ts'
import { noteLine } from '../messages/note.ts'
import type { CallSignature } from './call-signature.ts'
import { sha256Hex } from './canonical-json.ts'
import type { ToolResult } from './tool.ts'

export type FailureNudge = { readonly note: Envelope; readonly event: Fields }

export type FailureTracker = {
  readonly record: (signature: CallSignature, result: ToolResult) => Promise<FailureNudge | undefined>
}

const defaultThreshold = 2

export function createFailureTracker(options: { readonly threshold?: number } = {}): FailureTracker {
  const threshold = Math.max(2, Math.trunc(options.threshold ?? defaultThreshold))
  let last = ''
  let count = 0
  return {
    async record(signature, result) {
      if (result.success) {
        last = ''
        count = 0
        return undefined
      }
      const errorCode = await errorCodeOf(result)
      const key = `${errorCode} ${signature.key}`
      count = key === last ? count + 1 : 1
      last = key
      if (count < threshold) return undefined
      const message = `${signature.payload.tool_name} failed ${count} times with the same arguments and the same error. Change the arguments, use another tool, or tell the person that it does not work.`
      const event = { ...signature.payload, error_code: errorCode, repeat_count: count, threshold, message }
      return { note: noteLine('identical_failure_nudge', message), event }
    },
  }
}

/** What a failure is called: its own code, else something made of its text. */
async function errorCodeOf(result: ToolResult): Promise<string> {
  const own = fieldsOf(result)
  const { metadata } = result
  const named = [own['error_code'], own['code'], metadata['error_type'], metadata['error_code'], metadata['code']]
  for (const name of named) {
    const code = typeof name === 'string' ? name.toLowerCase().replace(/[^a-z0-9_-]/g, '') : ''
    if (code !== '') return code
  }
  return `error_${(await sha256Hex(result.error ?? '')).slice(0, 12)}`
}
