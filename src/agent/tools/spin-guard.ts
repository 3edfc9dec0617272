// A model that makes the same call again and again. Told apart from the duplicate correction: that one answers a
// call, this one ends the run.
import type { SpinGuard } from '../loop/options.ts'
import { type CallSignature, callSignature, type SignatureDeps } from './call-signature.ts'

const defaultSpinThreshold = 3

export function createSpinGuard(deps: SignatureDeps, options: { readonly threshold?: number } = {}): SpinGuard {
  const threshold = Math.max(2, Math.trunc(options.threshold ?? defaultSpinThreshold))
  let last: CallSignature | undefined
  let count = 0
  let hasFired = false
  return {
    async record(toolName, parameters) {
      const signature = await callSignature(deps, toolName, parameters)
      count = signature.key === last?.key ? count + 1 : 1
      last = signature
    },
    stalled() {
      if (last === undefined || count < threshold || hasFired) return undefined
      hasFired = true
      return { ...last.payload, repeat_count: count, threshold }
    },
  }
}
