// A table as preformatted text with its links listed below it, for places that hold no table.
import type { Block, Inline, Table } from '../tree.ts'
import { alignedTable } from './aligned-table.ts'
import { linksInTable } from './links-in.ts'

export function tableAsCode(table: Table): readonly Block[] {
  const code: Block = { type: 'code', value: alignedTable(table) }
  const links = linksInTable(table)
  if (links.length === 0) return [code]
  const lines = links.flatMap((link, index): readonly Inline[] => (index === 0 ? [link] : [{ type: 'break' }, link]))
  return [code, { type: 'paragraph', children: lines }]
}
