// Imports a list of servers from another operator: what it would change is shown first, and what is taken is blocked like any other.
import * as z from 'zod'
import { GatewayError, type JsonObject, type OperationResult } from '../../../src/contract/index.ts'
import { addBlocks, type BlockDeps } from './add-blocks.ts'
import { parseOperationInput } from './asked.ts'
import { type BlockRow, maxListChars, readBlockList } from './block-csv.ts'

const importShape = z.object({
  csv: z.string().min(1).max(maxListChars),
  /** Those that others only hide, too. */
  all: z.boolean().default(false),
  dryRun: z.boolean().default(false),
})
/** All of one request is one commit. */
export const maxRowsAtOnce = 2000
const shownRows = 100

export async function importBlocks(deps: BlockDeps, input: JsonObject, at: string): Promise<OperationResult> {
  const remedy = 'give csv as Mastodon writes it, all and dryRun as true or false'
  const { csv, all, dryRun } = parseOperationInput(importShape, input, remedy)
  const { rows, refused } = readBlockList(csv)
  if (rows.length > maxRowsAtOnce)
    throw new GatewayError('bad_request', `send ${maxRowsAtOnce} rows at once at most, each time with the first line`)
  const taken = new Map(rows.filter((row) => isImported(row, all)).map((row) => [row.host, row]))
  const left = rows.filter((row) => !isImported(row, all))
  const blocks = [...taken.values()].map(({ host: peer, severity, comment }) => ({ peer, severity, comment }))
  const { value, change } = await addBlocks(deps, blocks, at)
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
export function isImported({ severity }: BlockRow, all: boolean): boolean {
  return all || severity === 'suspend'
}
