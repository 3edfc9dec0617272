// As many blocks as one message takes, the last of them perhaps in part: between blocks first, then between items, rows and
// lines, then between sentences.
import { tableAsList } from '../table/table-as-list.ts'
import type { Block, Blockquote, List, Table } from '../tree.ts'
import { type Load, mostThat } from './fit.ts'
import { splitCode } from './split-code.ts'
import { splitInline } from './split-inline.ts'

/** `head` is never empty. */
export type Taken = { readonly head: readonly Block[]; readonly rest: readonly Block[] }

export type Room = {
  /** What these blocks would take of the message together with what is in it already. */
  readonly load: Load
  /** What they would take of a message of their own. */
  readonly alone: Load
  /** No text longer than this can fit. */
  readonly maxLength: number
  /** How many blocks, items or rows went into the message before. */
  readonly guess: number
  /** The message is empty: waiting for another one gains nothing. */
  readonly isEmpty: boolean
}

const fill = 0.92
// Above this a message is full enough to begin a new one rather than tear a block.
const wellFilled = 0.7

export function takeBlocks(blocks: readonly Block[], room: Room): Taken | undefined {
  if (room.load(blocks) <= 1) return blocks.length === 0 ? undefined : { head: blocks, rest: [] }
  const count = countThatFits(blocks, room)
  const lead = blocks.slice(0, count)
  const next = blocks[count]
  if (next === undefined) return { head: lead, rest: [] }
  const isFirst = lead.every(isHeading)
  if (room.alone([next]) > 1 ? isFirst || room.load(lead) < wellFilled : isFirst && room.isEmpty) {
    const torn = tear(next, { ...withLead(room, lead), isEmpty: room.isEmpty && count === 0 })
    if (torn !== undefined) return { head: [...lead, ...torn.head], rest: [...torn.rest, ...blocks.slice(count + 1)] }
  }
  // A heading waits for what it stands above, unless nothing could ever join it.
  const kept = isFirst && room.isEmpty ? count : lead.findLastIndex((block) => !isHeading(block)) + 1
  return kept === 0 ? undefined : { head: blocks.slice(0, kept), rest: blocks.slice(kept) }
}

function countThatFits(blocks: readonly Block[], room: Room): number {
  const count = mostThat(blocks.length, room.guess, (some) => room.load(blocks.slice(0, some)) <= fill)
  // One block that fills a message nearly whole is still whole.
  return count === 0 && room.load(blocks.slice(0, 1)) <= 1 ? 1 : count
}

function isHeading(block: Block): boolean {
  return block.type === 'heading'
}

function withLead(room: Room, lead: readonly Block[]): Room {
  return { ...room, load: (blocks) => room.load([...lead, ...blocks]) }
}

function tear(block: Block, room: Room): Taken | undefined {
  switch (block.type) {
    case 'paragraph':
    case 'heading': {
      const split = splitInline(block.children, {
        fits: (children) => room.load([{ ...block, children }]) <= 1,
        maxLength: room.maxLength,
        isForced: room.isEmpty,
      })
      if (split === undefined) return undefined
      const rest = split.rest.length === 0 ? [] : [{ ...block, children: split.rest }]
      return { head: [{ ...block, children: split.head }], rest }
    }
    case 'code': {
      const fits = (code: Block) => room.load([code]) <= 1
      const parts = splitCode(block, { fits, maxLength: room.maxLength, isForced: room.isEmpty })
      return parts === undefined ? undefined : { head: [parts[0]], rest: [parts[1]] }
    }
    case 'blockquote':
      return tearQuote(block, room)
    case 'list':
      return tearList(block, room)
    case 'table':
      return tearTable(block, room)
    case 'thematicBreak':
      return undefined
    default:
      return block satisfies never
  }
}

function tearQuote(quote: Blockquote, room: Room): Taken | undefined {
  const wrap = (children: readonly Block[]): readonly Block[] => [{ ...quote, children }]
  const taken = takeBlocks(quote.children, roomInside(room, wrap, wrap))
  return taken === undefined
    ? undefined
    : { head: wrap(taken.head), rest: taken.rest.length === 0 ? [] : wrap(taken.rest) }
}

function tearList(list: List, room: Room): Taken | undefined {
  const some = (from: number, to?: number): List => ({
    ...list,
    start: list.start + from,
    children: list.children.slice(from, to),
  })
  const count = mostThat(list.children.length, room.guess, (items) => room.load([some(0, items)]) <= 1)
  const next = list.children[count]
  if (next !== undefined && room.alone([some(count, count + 1)]) > 1) {
    const wrap = (children: readonly Block[]): readonly Block[] => {
      return [{ ...list, children: [...list.children.slice(0, count), { ...next, children }] }]
    }
    const alone = (children: readonly Block[]): readonly Block[] => [{ ...list, children: [{ ...next, children }] }]
    const taken = takeBlocks(next.children, { ...roomInside(room, wrap, alone), isEmpty: room.isEmpty && count === 0 })
    // What is left of an item has been numbered already: it goes on without a number.
    const later = some(count + 1)
    if (taken !== undefined) {
      return { head: wrap(taken.head), rest: [...taken.rest, ...(later.children.length === 0 ? [] : [later])] }
    }
  }
  return count === 0 ? undefined : { head: [some(0, count)], rest: next === undefined ? [] : [some(count)] }
}

function tearTable(table: Table, room: Room): Taken | undefined {
  const [header, ...rows] = table.children
  if (header === undefined) return undefined
  const some = (from: number, to?: number): Table => ({ ...table, children: [header, ...rows.slice(from, to)] })
  const count = rows.length === 0 ? 0 : mostThat(rows.length, room.guess, (few) => room.load([some(0, few)]) <= 1)
  if (count > 0) return { head: [some(0, count)], rest: count === rows.length ? [] : [some(count)] }
  // Not even one row fits a message of its own.
  return room.alone([some(0, 1)]) > 1 ? tear(tableAsList(table), room) : undefined
}

type Wrap = (children: readonly Block[]) => readonly Block[]

function roomInside(room: Room, wrap: Wrap, wrapAlone: Wrap): Room {
  return { ...room, load: (blocks) => room.load(wrap(blocks)), alone: (blocks) => room.alone(wrapAlone(blocks)) }
}
