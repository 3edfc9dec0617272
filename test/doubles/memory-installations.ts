// The store of installations in memory, with what was done to it.
import type { Installation, Installations } from '../../src/contract/channel.ts'

export type MemoryInstallations = Installations & {
  readonly saved: readonly Installation[]
  readonly ended: readonly (readonly [account: string, status: string, reason: string])[]
}

export function memoryInstallations(...given: readonly Installation[]): MemoryInstallations {
  const rows = new Map(given.map((each) => [each.account, each]))
  const saved: Installation[] = []
  const ended: [string, string, string][] = []
  return {
    saved,
    ended,
    find: async (account) => rows.get(account),
    async save(installation) {
      saved.push(installation)
      rows.set(installation.account, installation)
    },
    async end(account, status, reason) {
      ended.push([account, status, reason])
      const found = rows.get(account)
      if (found !== undefined) rows.set(account, { ...found, credentials: {}, status })
    },
    list: async () => [...rows.values()],
  }
}
