// The same call failing in the same way: the model is told, in a note that no person sees. Any success starts the
// count anew. It never ends the run.
import type { Fields } from '../../contract/index.ts'
import { sha256Hex } from '../../lib/index.ts'
import { asFields } from '../fields.ts'
import type { FailureGuard } from '../loop/options.ts'
import { callSignature, type SignatureDeps } from './call-signature.ts'

const defaultFailureThreshold = 2

export function createFailureGuard(deps: SignatureDeps, options: { readonly threshold?: number } = {}): FailureGuard {
  const threshold = Math.max(2, Math.trunc(options.threshold ?? defaultFailureThreshold))
  let last = ''
  let count = 0
  return {
    succeeded() {
      last = ''
      count = 0
    },
    async failed(toolName, parameters, result) {
      const signature = await callSignature(deps, toolName, parameters)
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
