// Installs under way: each begun in one browser, ended once, within ten minutes. Kept in memory, so an install that is cut by
// a restart, or ends on another process than it began on, is refused and begun again.
import { equalInConstantTime } from '../../../src/verification/index.ts'

export type InstallStates = {
  readonly begin: () => { readonly state: string; readonly browser: string }
  /** True once, for the browser that began it and in time. */
  readonly end: (state: string, browser: string) => boolean
}

export const stateLifeMs = 10 * 60_000
const maxStates = 1_000

export function createInstallStates(now: () => number): InstallStates {
  const begun = new Map<string, { readonly browser: string; readonly until: number }>()
  return {
    begin() {
      const [state, browser] = [random(), random()]
      for (const [old, { until }] of begun) if (until <= now() || begun.size >= maxStates) begun.delete(old)
      begun.set(state, { browser, until: now() + stateLifeMs })
      return { state, browser }
    },
    end(state, browser) {
      const found = begun.get(state)
      begun.delete(state)
      return found !== undefined && now() < found.until && equalInConstantTime(browser, found.browser)
    },
  }
}

/** 128 bits, as text that addresses and cookies carry unchanged. */
function random(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
