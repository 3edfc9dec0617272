// Servers and accounts that the operator blocks while the gateway runs: listed, added, let in again, and exported as a list.
import * as z from 'zod'
import { GatewayError, type JsonObject, type Operations, type RecordWrite } from '../../../src/contract/index.ts'
import { peerSchema } from '../config.ts'
import { blockFamilies } from '../wire/block-records.ts'
import { addBlocks, type BlockDeps, blockChange } from './add-blocks.ts'
import { pageShape, parseOperationInput, shortText } from './asked.ts'
import { cleanComment, listHeader, writeBlockList } from './block-csv.ts'
import { importBlocks } from './block-import.ts'

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
      const blocks = found.map(({ key, value, at }) => ({ peer: key, ...parseBlock(value), since: at }))
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
      return addBlocks(deps, [{ peer, severity: 'suspend', comment: cleanComment(comment) }], at)
    },
    async 'blocks.remove'(input, { at }) {
      const { peer } = parseOperationInput(peerShape, input, who)
      if ((await records.get(blockFamilies.peer, peer)) === undefined) throw notListed(listed, peer)
      const effects: readonly RecordWrite[] = [{ kind: 'remove', family: blockFamilies.peer, key: peer }]
      return { value: { peer }, change: await blockChange('peer_unblocked', [peer], effects, at) }
    },
    'blocks.import': (input, { at }) => importBlocks(deps, input, at),
    async 'blocks.export'(input) {
      const { after } = parseOperationInput(exportShape, input, 'give after as the piece before ended, or nothing')
      const page = { limit: exportedAtOnce, ...(after === undefined ? {} : { after }) }
      const found = await records.list(blockFamilies.peer, page)
      // The list is one of hosts: blocked accounts are not shared.
      const hosts = found.filter(({ key }) => !key.includes('/'))
      const rows = hosts.map(({ key, value }) => ({ host: key, ...parseBlock(value) }))
      const next = found.length < exportedAtOnce ? null : (found.at(-1)?.key ?? null)
      return { value: { csv: `${after === undefined ? listHeader : ''}${writeBlockList(rows)}`, next } }
    },
  }
}

function parseBlock({ severity, comment }: JsonObject): { readonly severity: string; readonly comment: string } {
  return { severity: typeof severity === 'string' ? severity : 'suspend', comment: String(comment ?? '') }
}

function notListed(listed: readonly string[], peer: string): GatewayError {
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
