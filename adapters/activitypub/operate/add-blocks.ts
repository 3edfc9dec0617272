// Blocks hosts and actors from now on: the records of it, and the followers that it removes.
import { GatewayError, type OperationResult, type RecordWrite } from '../../../src/contract/index.ts'
import { sha256Hex } from '../../../src/lib/index.ts'
import type { DocumentDeps } from '../documents/settings.ts'
import { maxBlocks } from '../manners/blocks.ts'
import { peerList } from '../manners/peer-list.ts'
import { blockFamilies, versionKey } from '../wire/block-records.ts'
import { listBlockedFollowers } from './leaving-followers.ts'

export type BlockDeps = Pick<DocumentDeps, 'records' | 'places'> & {
  /** Those of the settings, which only the settings change. */
  readonly listed: readonly string[]
}

/** One that is to be blocked. */
export type NewBlock = { readonly peer: string; readonly severity: string; readonly comment: string }

/** They are let in no more, nothing goes to them, and who followed from there follows no longer. */
export async function addBlocks(deps: BlockDeps, blocks: readonly NewBlock[], at: string): Promise<OperationResult> {
  const { records, places } = deps
  const peers = blocks.map(({ peer }) => peer)
  const own = peerList(peers)
  if (own.has(places.instance) || own.has(`https://${places.handleHost}/`))
    throw new GatewayError('bad_request', 'that would turn away this server itself; leave it out')
  const known = await Promise.all(
    peers.map(async (peer) => (await records.get(blockFamilies.peer, peer)) !== undefined),
  )
  const added = blocks.filter((_, index) => known[index] === false)
  if ((await records.count(blockFamilies.peer)) + added.length > maxBlocks)
    throw new GatewayError('bad_request', `there would be more than ${maxBlocks} of them; remove some first`)
  const { effects: leaving, count, isComplete } = await listBlockedFollowers(records, own)
  const value = { added: added.length, already: blocks.length - added.length, followers: count, isComplete }
  if (added.length === 0 && leaving.length === 0) return { value }
  const effects: readonly RecordWrite[] = [
    ...added.map(
      ({ peer, severity, comment }): RecordWrite => ({
        kind: 'put',
        family: blockFamilies.peer,
        key: peer,
        value: { severity, comment },
      }),
    ),
    ...leaving,
  ]
  return { value, change: await blockChange('peer_blocked', peers, effects, at) }
}

/** Every replica reads the list again once it has another version. */
export async function blockChange(
  reason: string,
  peers: readonly string[],
  effects: readonly RecordWrite[],
  at: string,
): Promise<NonNullable<OperationResult['change']>> {
  // What is listed is looked up first, so that asking again does nothing twice; the name only tells changes apart.
  const version = `${at} ${(await sha256Hex(JSON.stringify([reason, peers]))).slice(0, 32)}`
  const read: RecordWrite = { kind: 'put', family: blockFamilies.version, key: versionKey, value: { version } }
  return { reason, deliveryId: `blocks ${version}`, effects: [...effects, read] }
}
