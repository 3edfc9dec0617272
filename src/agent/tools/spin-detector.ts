// A model that makes the same call again and again (loop 3.13). Told apart from the duplicate correction: that one answers a
// call, this one ends the run.
import type { Fields } from '../../contract/index.ts'
import type { CallSignature } from './call-signature.ts'

export type SpinDetector = {
  readonly record: (signature: CallSignature) => void
  /** Asked after a batch; answers once. */
  readonly check: () => Fields | undefined
}

const defaultThreshold = 3

export function createSpinDetector(options: { readonly threshold?: number } = {}): SpinDetector {
  const threshold = Math.max(2, Math.trunc(options.threshold ?? defaultThreshold))
  let last: CallSignature | undefined
  let count = 0
  let hasFired = false
  return {
    record(signature) {
      count = signature.key === last?.key ? count + 1 : 1
      last = signature
    },
    check() {
      if (last === undefined || count < threshold || hasFired) return undefined
      hasFired = true
      return { ...last.payload, repeat_count: count, threshold }
    },
  }
}
