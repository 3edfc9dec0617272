// Servers and actors that the operator blocks, by the settings or at run time: checked at the inbox and before each delivery. What is known
// of it is half a minute old at most, so that asking costs nothing.
import type { Records } from '../../../src/contract/index.ts'
import { blockFamilies, versionKey } from '../wire/block-records.ts'
import { type PeerList, peerList } from './peer-list.ts'

export interface Blocks {
  /** By the address of an actor or of an inbox. */
  turnsAway(iri: string): Promise<boolean>
}

export type BlocksDeps = {
  readonly records: Pick<Records, 'get' | 'list'>
  readonly now: () => number
  /** Those of the settings. */
  readonly listed: readonly string[]
}

const freshMs = 30_000
const pageSize = 1000
/** Kept while the gateway runs, beside those of the settings. */
export const maxBlocks = 100_000

type Known = { readonly list: PeerList; readonly version: string }

export function createBlocks(deps: BlocksDeps): Blocks {
  let known: Known | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<Known> | undefined
  const currentBlocks = async (): Promise<Known> => {
    if (known !== undefined && deps.now() - readAt < freshMs) return known
    const before = known
    reading ??= loadBlocks(deps, before).finally(() => {
      reading = undefined
    })
    try {
      known = await reading
      readAt = deps.now()
      return known
    } catch (error) {
      // An actor that was blocked half a minute ago is still blocked.
      if (before === undefined) throw error
      return before
    }
  }
  return { turnsAway: async (iri) => (await currentBlocks()).list.has(iri) }
}

/** The version first: what changes while the list is read makes it another one. */
async function loadBlocks({ records, listed }: BlocksDeps, before: Known | undefined): Promise<Known> {
  const version = String((await records.get(blockFamilies.version, versionKey))?.['version'] ?? '')
  if (before?.version === version) return before
  const entries: string[] = []
  for (let after: string | undefined; entries.length < maxBlocks; ) {
    const page = await records.list(blockFamilies.peer, { limit: pageSize, ...(after === undefined ? {} : { after }) })
    entries.push(...page.map(({ key }) => key))
    after = page.at(-1)?.key
    if (page.length < pageSize) break
  }
  return { list: peerList([...listed, ...entries]), version }
}
