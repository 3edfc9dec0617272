// Installs under way: each begun in one browser, ended once, within ten minutes. They are rows, so that an install may begin on one
// replica and end on another; what is stored of a state is its hash, from which no state can be made.
import type { TtlStore } from '../../../src/contract/index.ts'
import { equalInConstantTime, sha256Hex } from '../../../src/lib/index.ts'

export type InstallStates = {
  /** Undefined: too many have begun and not ended. */
  readonly begin: () => Promise<{ readonly state: string; readonly browser: string } | undefined>
  /** True once, for the browser that began it and in time. */
  readonly end: (state: string, browser: string) => Promise<boolean>
}

export const stateLifeMs = 10 * 60_000
/** Any visitor may begin one, so there is an end to how many rows that makes. */
const maxStates = 10_000
const family = 'install'

export function createInstallStates(notes: TtlStore): InstallStates {
  return {
    async begin() {
      const [state, browser] = [randomHex128(), randomHex128()]
      const value = { browser: await sha256Hex(browser) }
      const note = { family, key: await sha256Hex(state), value, lifeMs: stateLifeMs, atMost: maxStates, isOnce: true }
      return (await notes.keep(note)) ? { state, browser } : undefined
    },
    async end(state, browser) {
      const begun = await notes.take(family, await sha256Hex(state))
      return begun !== undefined && equalInConstantTime(await sha256Hex(browser), String(begun['browser']))
    },
  }
}

/** 128 bits, as text that addresses and cookies carry unchanged. */
function randomHex128(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
