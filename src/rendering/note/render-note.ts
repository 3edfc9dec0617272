// The tree as posts of a thread, each as long as other servers accept, numbered where there is more than one.
import { chunkTree } from '../chunk/chunk-tree.ts'
import type { Fit } from '../chunk/fit.ts'
import { sumOfBlocks } from '../sum-of-blocks.ts'
import type { Block, Root } from '../tree.ts'
import { type HrefOf, noteHtml } from './note-html.ts'
import { noteLength } from './note-length.ts'
import { noteText } from './note-text.ts'
import { noteTree } from './note-tree.ts'

/** `blocks`: what it says, for other forms of the same words. */
export type Note = { readonly html: string; readonly plainLength: number; readonly blocks: readonly Block[] }
export type NoteOptions = { readonly limit?: number; readonly hrefOf?: HrefOf }

const defaultLimit = 500
// Some servers drop an activity above 60 KB, and the tags around the words count too.
const maxHtmlBytes = 48 * 1024

export function renderNote(root: Root, options: NoteOptions = {}): readonly Note[] {
  const { limit = defaultLimit, hrefOf = () => undefined } = options
  const posts = thread(noteTree(root), limit, createMeasures(hrefOf))
  return posts.map((blocks) => ({
    html: noteHtml(blocks, hrefOf),
    plainLength: noteLength(noteText(blocks)),
    blocks,
  }))
}

/** The numbers need room of their own, and how many digits they have is known only when the pieces are. */
function thread(root: Root, limit: number, measures: Measures): readonly (readonly Block[])[] {
  const { sizeOf, costOf } = measures
  if (sizeOf(root.children) <= limit + seam && costOf(root.children) <= maxHtmlBytes)
    return pieces(root, limit, measures)
  for (let digits = 1; ; digits += 1) {
    const room = Math.max(1, limit - longestNumber(digits))
    const parts = pieces(root, room, measures)
    if (parts.length === 1) return parts
    if (String(parts.length).length <= digits) {
      return parts.map((part, index) => appendNumber(part, `(${index + 1}/${parts.length})`))
    }
  }
}

function pieces(root: Root, limit: number, measures: Measures): readonly (readonly Block[])[] {
  return chunkTree(root, { limit: limit + seam, ...measures, maxCost: maxHtmlBytes })
    .map(({ children }) => children)
    .filter((blocks) => noteText(blocks).trim() !== '')
}

type Measures = Required<Pick<Fit, 'sizeOf' | 'costOf'>>

function createMeasures(hrefOf: HrefOf): Measures {
  return {
    sizeOf: sumOfBlocks((block) => noteLength(noteText([block])) + seam),
    costOf: sumOfBlocks((block) => htmlByteLength(noteHtml([block], hrefOf))),
  }
}

const onlyAscii = /^[\x00-\x7f]*$/

function htmlByteLength(html: string): number {
  return onlyAscii.test(html) ? html.length : new TextEncoder().encode(html).length
}

const seam = 2

function longestNumber(digits: number): number {
  return seam + '(/)'.length + 2 * digits
}

/** At the end of the last paragraph, or below whatever else stands last. */
function appendNumber(blocks: readonly Block[], number: string): readonly Block[] {
  const last = blocks.at(-1)
  if (last?.type !== 'paragraph') return [...blocks, { type: 'paragraph', children: [{ type: 'text', value: number }] }]
  return [...blocks.slice(0, -1), { ...last, children: [...last.children, { type: 'text', value: ` ${number}` }] }]
}
