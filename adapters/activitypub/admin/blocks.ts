// Blocks of servers and accounts while the gateway runs: listed, added, removed, imported and exported.
import * as z from 'zod'
import type { OperationResult, Operations, Records, RecordWrite } from '../../../src/contract/index.ts'
import { GatewayError, type JsonObject, sha256Hex } from '../../../src/lib/index.ts'
import { peerSchema } from '../config.ts'
import type { DocumentDeps } from '../documents/document-deps.ts'
import { createPeerList, maxBlocks, type PeerList } from '../moderation.ts'
import { blockFamilies, ownFamilies, peerFamilies, versionKey } from '../wire/records.ts'
import {
  type BlockRow,
  cleanComment,
  listHeader,
  maxListChars,
  readBlockList,
  writeBlockList,
} from './block-list-csv.ts'
import { pageShape, parseOperationInput, shortText } from './operation-input.ts'

const peerShape = z.object({ peer: peerSchema })
const addShape = peerShape.extend({ comment: z.string().max(500).default('') })
const pageOf = pageShape.omit({ agent: true })
const exportShape = z.object({ after: shortText.exactOptional() })
const exportedAtOnce = 1000
const who = 'give peer as a host such as bad.example, or the address of an actor'

export function blockOperations(deps: BlockDeps): Operations {
  const { records, listed } = deps
  return {
    async 'blocks.list'(input) {
      const { limit, ...page } = parseOperationInput(pageOf, input, 'give limit from 1 to 100, after as a list ended')
      const found = await records.list(blockFamilies.peer, { ...page, limit })
      const blocks = found.map(({ key, value, at }) => ({ peer: key, ...parseBlockRecord(value), since: at }))
      const next = found.length < limit ? null : (found.at(-1)?.key ?? null)
      return { value: { blocks, settings: page.after === undefined ? [...listed] : [], next } }
    },
    async 'blocks.add'(input, { at }) {
      const { peer, comment } = parseOperationInput(addShape, input, `${who}, and a comment of 500 characters at most`)
      if (isProfilePage(peer))
        throw new GatewayError(
          'bad_request',
          'that is the address of a page, and posts are not signed with it; give that of the actor, which parley explain shows, or the host',
        )
      return planBlockAdditions(deps, [{ peer, severity: 'suspend', comment: cleanComment(comment) }], at)
    },
    async 'blocks.remove'(input, { at }) {
      const { peer } = parseOperationInput(peerShape, input, who)
      if ((await records.get(blockFamilies.peer, peer)) === undefined) throw notBlockedError(listed, peer)
      const effects: readonly RecordWrite[] = [{ kind: 'remove', family: blockFamilies.peer, key: peer }]
      return { value: { peer }, change: await createBlockChange('peer_unblocked', [peer], effects, at) }
    },
    'blocks.import': (input, { at }) => planBlockImport(deps, input, at),
    async 'blocks.export'(input) {
      const { after } = parseOperationInput(exportShape, input, 'give after as the piece before ended, or nothing')
      const page = { limit: exportedAtOnce, ...(after === undefined ? {} : { after }) }
      const found = await records.list(blockFamilies.peer, page)
      // The list is one of hosts: blocked accounts are not shared.
      const hosts = found.filter(({ key }) => !key.includes('/'))
      const rows = hosts.map(({ key, value }) => ({ host: key, ...parseBlockRecord(value) }))
      const next = found.length < exportedAtOnce ? null : (found.at(-1)?.key ?? null)
      return { value: { csv: `${after === undefined ? listHeader : ''}${writeBlockList(rows)}`, next } }
    },
  }
}

function parseBlockRecord({ severity, comment }: JsonObject): { readonly severity: string; readonly comment: string } {
  return { severity: typeof severity === 'string' ? severity : 'suspend', comment: String(comment ?? '') }
}

function notBlockedError(listed: readonly string[], peer: string): GatewayError {
  return listed.includes(peer)
    ? new GatewayError(
        'bad_request',
        'the settings block it; take it out of ACTIVITYPUB_BLOCK, or of block, and start again',
      )
    : new GatewayError('not_found', 'that is not blocked; list your blocks with parley activitypub blocks list')
}

function isProfilePage(peer: string): boolean {
  return URL.canParse(peer) && new URL(peer).pathname.startsWith('/@')
}

// A block removes the followers it is about.

export type BlockDeps = Pick<DocumentDeps, 'records' | 'places'> & {
  /** Those of the settings, which only the settings change. */
  readonly listed: readonly string[]
}

/** One that is to be blocked. */
export type NewBlock = { readonly peer: string; readonly severity: string; readonly comment: string }

/** They are let in no more, nothing goes to them, and who followed from there follows no longer. */
async function planBlockAdditions(deps: BlockDeps, blocks: readonly NewBlock[], at: string): Promise<OperationResult> {
  const { records, places } = deps
  const peers = blocks.map(({ peer }) => peer)
  const own = createPeerList(peers)
  if (own.has(places.instance) || own.has(`https://${places.handleHost}/`))
    throw new GatewayError('bad_request', 'that would turn away this server itself; leave it out')
  const known = await Promise.all(
    peers.map(async (peer) => (await records.get(blockFamilies.peer, peer)) !== undefined),
  )
  const added = blocks.filter((_, index) => known[index] === false)
  if ((await records.count(blockFamilies.peer)) + added.length > maxBlocks)
    throw new GatewayError('bad_request', `there would be more than ${maxBlocks} of them; remove some first`)
  const { effects: leaving, count, isComplete } = await planBlockedFollowerRemovals(records, own)
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
  return { value, change: await createBlockChange('peer_blocked', peers, effects, at) }
}

/** Every replica reads the list again once it has another version. */
async function createBlockChange(
  reason: string,
  peers: readonly string[],
  effects: readonly RecordWrite[],
  at: string,
): Promise<NonNullable<OperationResult['change']>> {
  // What is listed is looked up first, so that asking again does nothing twice; the name only tells changes apart.
  const version = `${at} ${(await sha256Hex(JSON.stringify([reason, peers]))).slice(0, 32)}`
  const read: RecordWrite = { kind: 'put', family: blockFamilies.version, key: versionKey, value: { version } }
  return { reason, deliveryId: `blocks ${version}`, recordWrites: [...effects, read] }
}

const pageSize = 1000
const maxPages = 100
/** Of one commit; followers that are left go when the operator asks again. */
const atMost = 1000

export type Leaving = { readonly effects: readonly RecordWrite[]; readonly count: number; readonly isComplete: boolean }

async function planBlockedFollowerRemovals(records: Pick<Records, 'list'>, turnedAway: PeerList): Promise<Leaving> {
  const effects: RecordWrite[] = []
  let count = 0
  for (const family of [ownFamilies.follower, peerFamilies.request]) {
    let after: string | undefined
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await records.list(family, { limit: pageSize, ...(after === undefined ? {} : { after }) })
      for (const { key, value } of page) {
        if (!isAnyBlocked(turnedAway, value['actor'], value['inbox'])) continue
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

function isAnyBlocked(turnedAway: PeerList, ...addresses: readonly unknown[]): boolean {
  return addresses.some((each) => typeof each === 'string' && turnedAway.has(each))
}

// An import shows first what it would change; what is taken is blocked like any other.

const importShape = z.object({
  csv: z.string().min(1).max(maxListChars),
  /** Those that others only hide, too. */
  all: z.boolean().default(false),
  dryRun: z.boolean().default(false),
})
/** All of one request is one commit. */
export const maxRowsAtOnce = 2000
const shownRows = 100

async function planBlockImport(deps: BlockDeps, input: JsonObject, at: string): Promise<OperationResult> {
  const remedy = 'give csv as Mastodon writes it, all and dryRun as true or false'
  const { csv, all, dryRun } = parseOperationInput(importShape, input, remedy)
  const { rows, refused } = readBlockList(csv)
  if (rows.length > maxRowsAtOnce)
    throw new GatewayError('bad_request', `send ${maxRowsAtOnce} rows at once at most, each time with the first line`)
  const taken = new Map(rows.filter((row) => shouldImportRow(row, all)).map((row) => [row.host, row]))
  const left = rows.filter((row) => !shouldImportRow(row, all))
  const blocks = [...taken.values()].map(({ host: peer, severity, comment }) => ({ peer, severity, comment }))
  const { value, change } = await planBlockAdditions(deps, blocks, at)
  const told = {
    ...value,
    notTaken: left.length,
    refused: refused.length,
    isDryRun: dryRun,
    notTakenRows: left.slice(0, shownRows).map(({ line, host, severity }) => ({ line, host, severity })),
    refusedRows: refused.slice(0, shownRows).map(({ line, why }) => ({ line, why })),
  }
  return dryRun || change === undefined ? { value: told } : { value: told, change }
}

/** Mastodon's words: `suspend` turns a server away, `silence` hides its people from others, `noop` does neither. */
export function shouldImportRow({ severity }: BlockRow, all: boolean): boolean {
  return all || severity === 'suspend'
}
