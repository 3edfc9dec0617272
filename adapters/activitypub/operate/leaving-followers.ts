// Followers, and those who asked to follow, from servers that are blocked.
import type { Records, RecordWrite } from '../../../src/contract/index.ts'
import type { PeerList } from '../manners/peer-list.ts'
import { ownFamilies } from '../wire/own-records.ts'
import { peerFamilies } from '../wire/peer-records.ts'

const pageSize = 1000
const maxPages = 100
/** Of one commit; followers that are left go when the operator asks again. */
const atMost = 1000

export type Leaving = { readonly effects: readonly RecordWrite[]; readonly count: number; readonly isComplete: boolean }

export async function listBlockedFollowers(records: Pick<Records, 'list'>, turnedAway: PeerList): Promise<Leaving> {
  const effects: RecordWrite[] = []
  let count = 0
  for (const family of [ownFamilies.follower, peerFamilies.request]) {
    let after: string | undefined
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await records.list(family, { limit: pageSize, ...(after === undefined ? {} : { after }) })
      for (const { key, value } of page) {
        if (!isFrom(turnedAway, value['actor'], value['inbox'])) continue
        if (count >= atMost) return { effects, count, isComplete: false }
        count += 1
        effects.push({ kind: 'remove', family, key })
        const { follow } = value
        if (typeof follow === 'string') effects.push({ kind: 'remove', family: peerFamilies.follow, key: follow })
      }
      after = page.at(-1)?.key
      if (page.length < pageSize) break
    }
  }
  return { effects, count, isComplete: true }
}

function isFrom(turnedAway: PeerList, ...addresses: readonly unknown[]): boolean {
  return addresses.some((each) => typeof each === 'string' && turnedAway.has(each))
}
