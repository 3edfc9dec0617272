// The platform's own table, and tables that are longer than it may be.
import type { JsonObject } from '../../contract/index.ts'
import type { Block, Root, Table, TableCell } from '../tree.ts'
import { limits } from './limits.ts'
import type { BlocksOptions } from './options.ts'
import { richInline, textElement } from './rich-inline.ts'

export function isNativeTable(block: Block): block is Table {
  return block.type === 'table' && block.align.length <= limits.tableColumns && block.align.length > 0
}

export function tableBlock(table: Table, options: BlocksOptions): JsonObject {
  return {
    type: 'table',
    column_settings: table.align.map((align) => ({ align: align ?? 'left', is_wrapped: true })),
    rows: table.children.map((row) => row.children.map((cell) => cellBlock(cell, options))),
  }
}

/** Several tables with the same header where one would have too many rows. */
export function splitLongTables(root: Root): Root {
  const children = root.children.flatMap((block): readonly Block[] =>
    block.type === 'table' ? shortTables(block) : [block],
  )
  return { type: 'root', children }
}

function shortTables(table: Table): readonly Table[] {
  const [header, ...rows] = table.children
  if (header === undefined || table.children.length <= limits.tableRows) return [table]
  const room = limits.tableRows - 1
  return Array.from({ length: Math.ceil(rows.length / room) }, (_, index) => ({
    ...table,
    children: [header, ...rows.slice(index * room, (index + 1) * room)],
  }))
}

/** Always rich text: the platform refuses an empty cell and has failed on plain ones. */
function cellBlock(cell: TableCell, options: BlocksOptions): JsonObject {
  const words = richInline(cell.children, options)
  const elements = words.length === 0 ? [textElement(' ')] : words
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }
}
